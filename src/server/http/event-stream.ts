import { type JobEvent, type Runtime, SkepError, sleepFor } from '../../index.ts'
import {
  shownJob,
  shownLine,
  shownProgress,
  type Viewer,
} from '../../operations/authorize/authorize-output.ts'
import type { Caller } from '../../operations/operation.ts'
import type { SharedBudget } from '../../operations/redaction/budget.ts'
import type { Redactor } from '../../operations/redaction/redact.ts'
import { toWire } from '../../operations/schema/serialize.ts'
import type { ServerEvent } from '../../operations/schema/wire-types.ts'
import { type Area, type DeskEnv, Listener, SpaceDesk } from './events.ts'

/** A line now and then, so that nobody in between takes the connection for dead. */
const HEARTBEAT_MS = 15_000
/** After so long it is asked again whether the caller may still listen. */
const CHECK_MS = 10_000
/** Streams that one caller may have. */
const MOST_OF_ONE = 200
/** The shortest time between two events of one listener. */
const APART_MS = 250

export interface EventsEnv extends DeskEnv {
  readonly redactor: Redactor
  readonly redactionBudget: SharedBudget
  readonly closing: AbortSignal
  /** Streams at once. */
  readonly most: number
}

/** Everybody who listens. */
export class Events {
  readonly #env: EventsEnv
  readonly #desks = new Map<string, SpaceDesk>()
  readonly #callers = new Map<string, number>()
  #streams = 0

  constructor(env: EventsEnv) {
    this.#env = env
  }

  get streams(): number {
    return this.#streams
  }

  touch(space: string, areas: readonly Area[]): void {
    this.#desks.get(space)?.touch(areas)
  }

  /** A stream of what changes in the space of the caller, or of one job. `isAllowed` is asked now and then. */
  open(
    caller: Caller,
    {
      job,
      signal,
      isAllowed,
    }: { readonly job: string | null; readonly signal: AbortSignal; isAllowed(): Promise<boolean> },
  ): Response {
    if (this.#streams >= this.#env.most) {
      throw new SkepError('TOO_MANY_REQUESTS', `There are ${this.#env.most} streams of events already.`, {
        facts: { retryAfterMs: 5_000 },
      })
    }
    const of = `${caller.space}\n${caller.name}`
    const own = this.#callers.get(of) ?? 0
    if (own >= MOST_OF_ONE) {
      throw new SkepError('TOO_MANY_REQUESTS', `${caller.name} has ${own} streams of events. Close some.`, {
        facts: { retryAfterMs: 5_000 },
      })
    }
    this.#streams++
    this.#callers.set(of, own + 1)
    const left = new AbortController()
    const release = follow(left, [signal, this.#env.closing])
    const end = left.signal
    const events = job === null ? this.#changes(caller, end) : this.#ofJob(caller, job, end)
    const body = streamOf(watched(events, this.#env.runtime, end, isAllowed), () => {
      left.abort()
      release()
      this.#streams--
      const rest = (this.#callers.get(of) ?? 1) - 1
      if (rest > 0) this.#callers.set(of, rest)
      else this.#callers.delete(of)
    })
    return new Response(body, {
      headers: {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      },
    })
  }

  async *#changes(caller: Caller, end: AbortSignal): AsyncGenerator<string> {
    const listener = new Listener(caller)
    const leave = this.#desk(caller.space).join(listener)
    const { runtime } = this.#env
    try {
      yield framed({ kind: 'tick', at: new Date(runtime.now()).toISOString() })
      while (!end.aborted) {
        const isNews = await news(listener, runtime, end)
        if (end.aborted) return
        if (!isNews) yield framed({ kind: 'tick', at: new Date(runtime.now()).toISOString() })
        const { changed, counts } = listener.take()
        if (counts !== null) yield framed({ kind: 'counts', queues: counts })
        if (changed.size > 0) yield framed({ kind: 'changed', what: [...changed] })
        await sleepFor(runtime, APART_MS, end)
      }
    } finally {
      leave()
    }
  }

  async *#ofJob(caller: Caller, id: string, end: AbortSignal): AsyncGenerator<string> {
    const { redactionBudget, redactor, runtime } = this.#env
    try {
      for await (const event of this.#env.skepFor(caller.space).jobs.watch(id, { signal: end })) {
        const limited = redactor.limited?.(() => runtime.mono(), redactionBudget) ?? redactor
        const viewer: Viewer = { caller, services: { redactor: limited } }
        const shown = shownEvent(viewer, event)
        if (shown !== null) yield framed({ kind: 'job', event: toWire(shown) })
      }
    } catch (error) {
      if (!end.aborted) throw error
    }
  }

  #desk(space: string): SpaceDesk {
    const known = this.#desks.get(space)
    if (known) return known
    for (const [name, desk] of this.#desks) if (desk.isIdle) this.#desks.delete(name)
    const desk = new SpaceDesk(space, this.#env)
    this.#desks.set(space, desk)
    return desk
  }
}

/** What the caller sees of what happens to a job: its lines only if it may see payloads. */
function shownEvent(viewer: Viewer, event: JobEvent): JobEvent | null {
  switch (event.kind) {
    case 'state':
      return { ...event, job: shownJob(viewer, event.job) }
    case 'progress':
      return { kind: 'progress', ...shownProgress(viewer, event) }
    case 'log':
      return viewer.caller.payloads ? shownLine(viewer, event) : null
  }
}

/** Waits for news; false if there was none for as long as a heartbeat. */
async function news(listener: Listener, runtime: Runtime, end: AbortSignal): Promise<boolean> {
  const woken = new AbortController()
  const release = follow(woken, [end])
  let isNews = false
  listener.onNews(() => {
    isNews = true
    woken.abort()
  })
  await sleepFor(runtime, HEARTBEAT_MS, woken.signal)
  listener.onNews(null)
  release()
  return isNews
}

/** The events, with a comment when there are none for long, until the caller may not listen any more. */
async function* watched(
  events: AsyncGenerator<string>,
  runtime: Runtime,
  end: AbortSignal,
  isAllowed: () => Promise<boolean>,
): AsyncGenerator<string> {
  let checkedAt = runtime.mono()
  let next = events.next()
  try {
    // A browser comes back by itself after so long.
    yield 'retry: 1000\n\n'
    while (!end.aborted) {
      const bell = new AbortController()
      const release = follow(bell, [end])
      const beat = sleepFor(runtime, HEARTBEAT_MS, bell.signal).then(() => null)
      const result = await Promise.race([next, beat])
      bell.abort()
      release()
      if (end.aborted) return
      if (runtime.mono() - checkedAt >= CHECK_MS) {
        checkedAt = runtime.mono()
        if (!(await isAllowed())) return
      }
      if (result === null) {
        yield ': still here\n\n'
        continue
      }
      if (result.done) return
      yield result.value
      next = events.next()
    }
  } finally {
    next.catch(() => {})
    void events.return(undefined).catch(() => {})
  }
}

/**
 * Aborts one with any of the others, until released. `AbortSignal.any` would do, but in Node 20 what nobody else holds may be
 * collected, and then never aborts.
 */
function follow(own: AbortController, others: readonly AbortSignal[]): () => void {
  const abort = (): void => own.abort()
  for (const other of others) {
    if (other.aborted) abort()
    other.addEventListener('abort', abort)
  }
  return () => {
    for (const other of others) other.removeEventListener('abort', abort)
  }
}

function framed(event: ServerEvent): string {
  return `event: ${event.kind}\ndata: ${JSON.stringify(event)}\n\n`
}

/** A body that is made only as fast as somebody reads it. */
function streamOf(texts: AsyncGenerator<string>, onEnd: () => void): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let isOver = false
  const over = (): void => {
    if (!isOver) onEnd()
    isOver = true
  }
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await texts.next()
          if (!done) return controller.enqueue(encoder.encode(value))
          over()
          controller.close()
        } catch (error) {
          over()
          controller.error(error)
        }
      },
      cancel() {
        over()
        void texts.return(undefined).catch(() => {})
      },
    },
    { highWaterMark: 0 },
  )
}

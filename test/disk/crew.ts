/** The load of all tests here: jobs that end in every way, callers that enqueue them and handlers that run them. */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  bury,
  discard,
  fixed,
  type Handler,
  type Queue,
  queue,
  retry,
  type Skep,
  SkepError,
} from '../../src/index.ts'
import type { Random } from '../../src/testing/random.ts'
import type { Pen } from './evidence.ts'

export interface Payload {
  /** Unique among all jobs of a test. */
  readonly key: string
  /** Makes it long. */
  readonly fill: string
}

// Being lost is no fault of a job's here, however often it happens.
const onLost = retry(Infinity, fixed(0))

/** Kept when done, with its key as the result. */
export const kept: Queue<Payload, string> = queue<Payload, string>('kept', { onLost })
/** Removed when done. */
export const dropped: Queue<Payload, string> = queue<Payload, string>('dropped', {
  onLost,
  onSuccess: discard(),
})
/** Enqueues two more, which exist if, and only if, it succeeds. */
export const parent: Queue<Payload, string> = queue<Payload, string>('parent', { onLost })
/** Fails the first time. */
export const flaky: Queue<Payload, string> = queue<Payload, string>('flaky', {
  onLost,
  onError: retry(100, fixed(0)),
})
/** Always ends among the dead. */
export const bad: Queue<Payload, string> = queue<Payload, string>('bad', { onLost })

export const queues: readonly Queue<Payload, string>[] = [kept, dropped, parent, flaky, bad]

/** The keys of a parent's two children. */
export const childrenOf = (key: string): readonly [kept: string, dropped: string] => [
  `${key}/kept`,
  `${key}/dropped`,
]

/** The payload of a job, from its key alone, so that it can be checked. `bytes` is about how long the longest are. */
export function payloadOf(key: string, bytes: number): Payload {
  let hash = 7
  for (const letter of key) hash = (Math.imul(hash, 31) + letter.charCodeAt(0)) >>> 0
  // Most are short, some fill pages.
  const length = Math.floor(bytes * ((hash % 1_000) / 1_000) ** 4)
  return { key, fill: key.repeat(Math.ceil(length / key.length)) }
}

export function handlers(pen: Pen, bytes: number): Handler[] {
  const started = ({ payload }: { readonly payload: Payload }): string => {
    pen.note('started', payload.key)
    return payload.key
  }
  return [
    kept.handle(started),
    dropped.handle(started),
    flaky.handle((job) => {
      if (job.counters.errors === 0) throw new Error('The first time it fails.')
      return started(job)
    }),
    bad.handle((job) => bury(`${started(job)} is bad.`)),
    parent.handle(async (job) => {
      const { key } = job.payload
      const [first, second] = childrenOf(started(job))
      for (const [child, into] of [
        [first, kept],
        [second, dropped],
      ] as const) {
        const id = crypto.randomUUID()
        pen.note('within', key, `${child}:${id}`)
        await job.enqueue(into, payloadOf(child, bytes), { id })
      }
      return key
    }),
  ]
}

/** Writes down what listeners hear. */
export function listen(skep: Skep, pen: Pen): void {
  const keyOf = ({ job }: { readonly job: { readonly payload: unknown } }): string =>
    (job.payload as Payload).key
  skep.on('finished', (event) => pen.note('finished', keyOf(event)))
  skep.on('dead', (event) => pen.note('dead', keyOf(event)))
}

export interface CallerOptions {
  readonly skep: Skep
  readonly pen: Pen
  readonly random: Random
  /** Stands before all its keys. */
  readonly name: string
  readonly bytes: number
  readonly isOver: () => boolean
}

/** Enqueues until it is over: alone and in batches, with ids of its own and without, some delayed, some cancelled. */
export async function call({ skep, pen, random, name, bytes, isOver }: CallerOptions): Promise<void> {
  for (let n = 0; !isOver(); n++) {
    const into = random.pick(queues)
    const keys = Array.from(
      { length: random.chance(0.3) ? random.int(2, 40) : 1 },
      (_, i) => `${name}.${n}.${i}`,
    )
    for (const key of keys) pen.note('invoked', key, into.name)
    const payloads = keys.map((key) => payloadOf(key, bytes))
    const toBeCancelled = random.chance(0.1)
    const delay = toBeCancelled ? '1h' : random.chance(0.1) ? random.int(1, 50) : 0
    try {
      const ids = random.chance(0.3) ? keys.map(() => crypto.randomUUID()) : null
      const jobs =
        payloads.length === 1
          ? [
              await skep.enqueue(into, payloads[0] as Payload, {
                delay,
                ...(ids ? { id: ids[0] as string } : {}),
              }),
            ]
          : await skep.enqueueMany(into, payloads, {
              delay,
              ...(ids ? { each: (_, i) => ({ id: ids[i] as string }) } : {}),
            })
      for (const [i, key] of keys.entries()) pen.note('enqueued', key, jobs[i]?.id)
      if (toBeCancelled) {
        const { changed } = await skep.jobs.cancel(jobs.map(({ id }) => id))
        if (changed === jobs.length) for (const key of keys) pen.note('cancelled', key)
      }
    } catch (error) {
      pen.note('refused', keys[0] as string, error instanceof SkepError ? error.code : String(error))
    }
    await sleep(random.int(0, 4))
  }
}

/** Waits until nothing waits and nothing runs; what is delayed is made due. Gives up after a while: the verdict tells. */
export async function drained(skep: Skep, mostMs: number): Promise<void> {
  const deadline = performance.now() + mostMs
  while (performance.now() < deadline) {
    const counts = await skep.queues.list()
    if (counts.every(({ ready, delayed, running }) => ready + delayed + running === 0)) return
    for (const { queue, delayed } of counts) {
      if (delayed > 0) await skep.jobs.promote({ queue, state: 'delayed' })
    }
    await sleep(20)
  }
}

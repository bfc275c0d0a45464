import { onTestFinished } from 'vitest'
import { createSkep, type Skep, type SkepOptions } from '../../../src/client/skep.ts'
import { JOB_STATES, type Job, type JobState } from '../../../src/core/jobs/job.ts'
import type { Logger } from '../../../src/runtime/logger.ts'
import type { Store } from '../../../src/store/store.ts'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import { LocalNotices, type NoticeTrouble, withNotices } from '../../../src/testing/local-notices.ts'
import { type VirtualRuntime, virtualRuntime } from '../../../src/testing/virtual-runtime.ts'
import type { WorkerEvents } from '../../../src/worker/events.ts'
import { FaultyStore } from './faulty-store.ts'
import { TestNotifier } from './test-notifier.ts'

export type { JobState }

/** One thing an event told. */
export type Told = {
  [Name in keyof WorkerEvents]: { readonly name: Name; readonly event: WorkerEvents[Name] }
}[keyof WorkerEvents]

const EVENTS: readonly (keyof WorkerEvents)[] = [
  'received',
  'finished',
  'error',
  'timeout',
  'lost',
  'dead',
  'snoozed',
  'cancelled',
]

export interface SceneOptions extends Partial<Omit<SkepOptions, 'store' | 'notifier' | 'runtime'>> {
  readonly seed?: number
  /** With notices, or with such as have this trouble. */
  readonly notices?: true | NoticeTrouble
  /** Around the memory store, inside the faults. */
  readonly wrap?: (store: Store) => Store
}

/** A process with its own store, bus and clock, in which nothing takes time unless a test moves it. */
export class Scene {
  readonly runtime: VirtualRuntime
  /** The store without faults, as an observer sees it. */
  readonly truth: Store
  readonly faults: FaultyStore
  readonly notifier: TestNotifier
  /** There only if asked for. */
  readonly notices: LocalNotices
  readonly skep: Skep
  readonly told: Told[] = []
  readonly log: { readonly level: keyof Logger; readonly message: string }[] = []
  readonly space: string
  readonly #options: SceneOptions
  readonly #skeps: Skep[] = []

  constructor(options: SceneOptions = {}) {
    const { seed = 1, wrap = (store) => store } = options
    this.#options = options
    this.space = options.space ?? 'default'
    this.runtime = virtualRuntime({ seed, ties: 'seeded' })
    this.truth = wrap(memoryStore({ runtime: this.runtime }))
    this.faults = new FaultyStore(this.truth, this.runtime)
    this.notifier = new TestNotifier(this.runtime)
    this.notices = new LocalNotices(
      this.runtime,
      typeof options.notices === 'object' ? options.notices : null,
    )
    this.skep = this.client()
    for (const name of EVENTS) {
      this.skep.on(name, (event) => void this.told.push({ name, event } as Told))
    }
  }

  /** Another program on the same store and the same bus, with a way to the store of its own if one is given. */
  client(store: Store = this.faults.store): Skep {
    const { seed: _seed, wrap: _wrap, notices, ...rest } = this.#options
    const note = (level: keyof Logger) => (message: string) => void this.log.push({ level, message })
    const skep = createSkep({
      logger: { debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') },
      ...rest,
      store,
      notifier: notices
        ? withNotices(this.notifier, this.notices, this.notices.view(this.runtime))
        : this.notifier,
      runtime: this.runtime,
    })
    this.#skeps.push(skep)
    return skep
  }

  /** Moves time on until `condition` holds. */
  async until(condition: () => boolean | Promise<boolean>, maxMs = 120_000): Promise<void> {
    const start = this.runtime.mono()
    const end = start + maxMs
    await this.runtime.settle()
    while (!(await condition())) {
      if (this.runtime.mono() >= end) throw new Error(`Not so after ${maxMs} ms: ${String(condition)}`)
      // The longer it takes, the less the exact moment matters.
      await this.runtime.advance(Math.min(1_000, Math.max(5, (this.runtime.mono() - start) / 100)))
    }
  }

  /** Moves time on until the promise is settled, and gives what it gave. */
  async through<Value>(promise: Promise<Value>, maxMs = 120_000): Promise<Value> {
    let over = false
    const end = (): void => {
      over = true
    }
    promise.then(end, end)
    await this.until(() => over, maxMs)
    return promise
  }

  advance(ms: number): Promise<void> {
    return this.runtime.advance(ms)
  }

  async job(id: string): Promise<Job> {
    const { jobs } = await this.truth.get({ space: this.space, ids: [id] })
    if (!jobs[0]) throw new Error(`There is no job ${id}.`)
    return jobs[0]
  }

  async state(id: string): Promise<JobState | 'absent'> {
    const { jobs } = await this.truth.get({ space: this.space, ids: [id] })
    return jobs[0]?.state ?? 'absent'
  }

  /** How many jobs of a queue are in each state; states without any are left out. */
  async counts(queue: string): Promise<Partial<Record<JobState, number>>> {
    const { queues } = await this.truth.counts({ space: this.space, queues: [queue] })
    const states = queues[0]?.states
    return Object.fromEntries(
      JOB_STATES.filter((state) => states?.[state]).map((state) => [state, states?.[state]]),
    )
  }

  /** The names of the events told about a job, in order. */
  toldOf(id: string): (keyof WorkerEvents)[] {
    return this.told.filter(({ event }) => event.job.id === id).map(({ name }) => name)
  }

  logged(level: keyof Logger, text: RegExp): boolean {
    return this.log.some((entry) => entry.level === level && text.test(entry.message))
  }

  /** Ends everything, through every fault that is left. */
  async close(): Promise<void> {
    this.faults.heal()
    this.notifier.broken = false
    await this.through(Promise.all(this.#skeps.map((skep) => skep.close())))
  }
}

/** A scene that is closed when the test is over. */
export function openScene(options: SceneOptions = {}): Scene {
  const scene = new Scene(options)
  onTestFinished(() => scene.close())
  return scene
}

/** A promise in the hands of the test: a handler waits for it, and the test decides when it ends. */
export interface Gate<Value> {
  readonly promise: Promise<Value>
  open(value: Value): void
  fail(error: unknown): void
}

export function gate<Value = void>(): Gate<Value> {
  let open!: (value: Value) => void
  let fail!: (error: unknown) => void
  const promise = new Promise<Value>((resolve, reject) => {
    open = resolve
    fail = reject
  })
  return { promise, open, fail }
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

/** The code of the error a promise is rejected with. */
export async function codeOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
  } catch (error) {
    return String((error as { code?: unknown }).code)
  }
  throw new Error('It was expected to fail and did not.')
}

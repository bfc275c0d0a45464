import {
  createSkep,
  type Flow,
  type Handler,
  jobIdOf,
  type Skep,
  silentLogger,
  type Worker,
} from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import type { HistoryRecord } from '../proof/history.ts'
import { Recorder, recordEvents, recordingStore } from '../proof/recorder.ts'
import { Link } from './link.ts'
import type { StoreModel, UserTransaction } from './stores.ts'
import type { Trial } from './trial.ts'
import { EPOCH, Process } from './world.ts'

// Workers tell with each heartbeat how much memory they use. Asking the system for it is a tenth of a trial, and nobody reads it.
process.memoryUsage.rss = () => 0

/** A space beside the usual one. */
export const TENANT = 'tenant'

/** Ids that callers choose, in two queues and two spaces. */
export const CHOSEN_IDS: readonly string[] = Array.from({ length: 12 }, (_, n) => jobIdOf('chosen', `${n}`))

/** How long every worker waits for a handler after its signal aborted. */
export const GRACE_MS = 500

/** A program: a process with a real client and, mostly, a real worker in it. */
export class App {
  readonly process: Process
  readonly recorder: Recorder
  readonly link: Link
  readonly skep: Skep
  /** For what the client has no call for. It may never answer. */
  readonly store: Store
  readonly transaction: (() => UserTransaction) | undefined
  worker: Worker | null = null
  /** The same program in another space: a client, a worker and records of their own. */
  tenant: { readonly skep: Skep; readonly recorder: Recorder; readonly worker: Worker } | null = null
  /** The queues that its worker handles, without those of flows. */
  queues: ReadonlySet<string> = new Set()
  /** Calls that have no answer yet. */
  open = 0
  /** Handlers that run and have not been told to stop. */
  running = 0
  state: 'up' | 'closing' | 'closed' | 'dead' = 'up'
  /** Lets go of the store without a word, as a process does that dies. */
  readonly abandon: () => void
  readonly #sink: (record: HistoryRecord) => void

  constructor(trial: Trial, model: StoreModel, name: string, sink: (record: HistoryRecord) => void) {
    const { world, swarm } = trial
    const skewMs = Math.round((world.random.next() * 2 - 1) * swarm.skewMs)
    this.process = new Process(world, name, skewMs)
    this.recorder = new Recorder({
      proc: name,
      now: () => EPOCH + world.time,
      next: () => world.next(),
      sink,
      chosen: CHOSEN_IDS,
    })
    this.#sink = sink
    const opened = model.open(this.process)
    this.abandon = opened.abandon
    this.transaction = opened.transaction
    this.link = new Link({
      world,
      process: this.process,
      store: opened.store,
      isEmbedded: model.isEmbedded,
      latencyMs: swarm.latencyMs,
      onFault: (fault, operation) =>
        this.recorder.write({ f: 'fault', type: 'info', what: `${fault} ${operation}` }),
      isHeld: trial.hasStrangers ? (key) => trial.isHeld(key) : null,
    })
    this.store = recordingStore(this.link.store, this.recorder)
    this.skep = this.#open(trial, this.store)
    recordEvents(this.recorder, this.skep)
    this.process.onDeath = () => this.#died()
  }

  #open(trial: Trial, store: Store, space = 'default'): Skep {
    return createSkep({
      store,
      space,
      notifier: trial.hints.notifier(this.process),
      runtime: this.process.runtime,
      logger: silentLogger,
      enqueueTimeout: trial.random.pick(['1s', '20s']),
      storeTimeout: '10s',
    })
  }

  /** The program also works for a tenant. */
  openTenant(trial: Trial, handlersOf: (recorder: Recorder) => readonly Handler[]): void {
    const { world, swarm } = trial
    const recorder = new Recorder({
      proc: `${this.process.name} for ${TENANT}`,
      now: () => EPOCH + world.time,
      next: () => world.next(),
      sink: this.#sink,
      space: TENANT,
      chosen: CHOSEN_IDS,
    })
    // The connection is closed by the client of the usual space.
    const store = { ...recordingStore(this.link.store, recorder), close: () => Promise.resolve() }
    const skep = this.#open(trial, store, TENANT)
    recordEvents(recorder, skep)
    const worker = skep.worker(handlersOf(recorder), { lease: swarm.leaseMs, grace: GRACE_MS, drain: '1s' })
    this.tenant = { skep, recorder, worker }
  }

  work(trial: Trial, handlers: readonly (Handler | Flow<never, unknown>)[]): void {
    const { swarm, random } = trial
    this.worker = this.skep.worker(handlers, {
      concurrency: swarm.concurrency,
      lease: swarm.leaseMs,
      drain: random.pick(['0s', '1s', '5s']),
      grace: GRACE_MS,
      prune: '1s',
      ...(random.chance(0.3) && { poll: '100ms' }),
    })
  }

  /** Waits for a call and lets its error pass: what it means is in the records. */
  track(promise: Promise<unknown>): void {
    this.open++
    promise
      .catch(() => {})
      .finally(() => {
        this.open--
      })
  }

  /** The same for a call to the store itself: nobody waits for its answer for ever. */
  trackCall(call: Promise<unknown>): void {
    this.track(Promise.race([call, new Promise<void>((resolve) => this.process.wait(10_000, resolve))]))
  }

  /** The worker stops, then the client closes, as a deploy does it. */
  async close(): Promise<void> {
    if (this.state !== 'up') return
    this.state = 'closing'
    const { worker, tenant } = this
    if (tenant) {
      tenant.recorder.write({ f: 'stop', type: 'invoke', workerId: tenant.worker.id })
      await tenant.worker.stop()
      tenant.recorder.write({ f: 'stop', type: 'ok', workerId: tenant.worker.id })
      await tenant.skep.close()
    }
    if (worker) {
      this.recorder.write({ f: 'stop', type: 'invoke', workerId: worker.id })
      await worker.stop()
      this.recorder.write({ f: 'stop', type: 'ok', workerId: worker.id })
    }
    await this.skep.close()
    this.abandon()
    this.state = 'closed'
  }

  #died(): void {
    this.state = 'dead'
    this.tenant?.recorder.write({ f: 'crash', type: 'info', what: this.process.name })
    this.recorder.write({ f: 'crash', type: 'info', what: this.process.name })
    this.abandon()
  }
}

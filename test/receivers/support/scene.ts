import {
  createSkep,
  type RelayedJob,
  type Runtime,
  type Skep,
  type SkepOptions,
  silentLogger,
  systemRuntime,
} from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory.ts'
import type { Caller } from '../../../src/operations/operation.ts'
import type { Scope } from '../../../src/operations/schema/wire-types.ts'
import type { Ack, AckAnswer, Stop } from '../../../src/server/receivers/ack.ts'
import type { HubOptions, ReceiverOptions } from '../../../src/server/receivers/options.ts'
import type { ConnectOptions, EndReason, Receiver } from '../../../src/server/receivers/receiver.ts'
import { ReceiverHub } from '../../../src/server/receivers/receiver-registry.ts'

/** A caller who may take jobs of all queues, unless something else is said. */
export function caller(options: Partial<Caller> = {}): Caller {
  return {
    name: 'worker',
    scopes: new Set<Scope>(['work']),
    space: 'default',
    spaces: null,
    queues: ['*'],
    payloads: true,
    address: '127.0.0.1',
    ...options,
  }
}

/** What the answer to an ack is once the store could be asked. */
export type FinalAnswer = 'saved' | 'lost' | 'gone'

/** A receiver in this process: it keeps what it gets, and answers when it is told to. */
export class FakeReceiver {
  readonly jobs: RelayedJob[] = []
  readonly batches: number[] = []
  readonly stops: Stop[] = []
  ended: EndReason | null = null
  /** What `send` answers. */
  takes = true
  /** Called with each batch. */
  onJobs: (jobs: readonly RelayedJob[]) => void = () => {}
  receiver: Receiver | null = null

  get options(): Pick<ConnectOptions, 'send' | 'stop' | 'end'> {
    return {
      send: (jobs) => {
        this.jobs.push(...jobs)
        this.batches.push(jobs.length)
        this.onJobs(jobs)
        return this.takes
      },
      stop: (stops) => void this.stops.push(...stops),
      end: (reason) => {
        this.ended = reason
      },
    }
  }

  /** How many it has; -1 while some of them are not on their way yet: they are his as soon as they are claimed. */
  get held(): number {
    if (this.receiver === null) return 0
    return this.receiver.out.length > 0 ? -1 : this.receiver.unacked
  }

  ack(jobs: readonly RelayedJob[], how: Omit<Ack, 'id' | 'token'> = {}): Promise<AckAnswer> {
    const acks = jobs.map(({ id, token }) => ({ id, token, ...how }))
    return (this.receiver as Receiver).ack(acks)
  }

  /** Acknowledges each job with its token as the result, so that the store tells which of its attempts it took. */
  ackWithTokens(jobs: readonly RelayedJob[]): Promise<AckAnswer> {
    return (this.receiver as Receiver).ack(jobs.map(({ id, token }) => ({ id, token, done: token })))
  }

  /** The same, repeated until no answer is unknown: what each id was answered. */
  async ackUntilKnown(jobs: readonly RelayedJob[]): Promise<ReadonlyMap<string, FinalAnswer>> {
    for (;;) {
      const { saved, results } = await this.ackWithTokens(jobs)
      if (results.some(({ status }) => status === 'unknown')) continue
      if (saved !== jobs.length - results.length)
        throw new Error(`${saved} saved, and ${results.length} not.`)
      const answers = new Map<string, FinalAnswer>(jobs.map(({ id }) => [id, 'saved']))
      for (const { id, status } of results) answers.set(id, status as FinalAnswer)
      return answers
    }
  }
}

export interface Scene {
  readonly skep: Skep
  readonly hub: ReceiverHub
  connect(options?: Partial<ConnectOptions>): Promise<FakeReceiver>
  close(): Promise<void>
}

type Limits = ReceiverOptions & Pick<HubOptions, 'inFlight'>

/** A clock that goes so many times as fast, for what a hub does now and then. */
export function hurried(times: number): Runtime {
  const runtime = systemRuntime()
  return {
    ...runtime,
    mono: () => runtime.mono() * times,
    timer: (ms, run, options) => runtime.timer(ms / times, run, options),
  }
}

/** One more server on the same jobs. */
export function hubOf(skep: Skep, limits: Limits = {}, runtime: Runtime = systemRuntime()): ReceiverHub {
  return new ReceiverHub({ skepOf: () => skep, runtime, logger: silentLogger, ...limits })
}

/** A hub over a store, and receivers in this process. */
export function scene(
  options: Partial<SkepOptions> = {},
  limits: Limits = {},
  runtime: Runtime = systemRuntime(),
): Scene {
  const skep = createSkep({ store: memoryStore(), logger: silentLogger, ...options })
  const hub = hubOf(skep, limits, runtime)
  return {
    skep,
    hub,
    async connect(own = {}) {
      const fake = new FakeReceiver()
      fake.receiver = await hub.connect({
        caller: caller(),
        queues: ['mail'],
        credits: 10,
        protocol: 'http',
        ...fake.options,
        ...own,
      })
      return fake
    },
    async close() {
      await hub.close({ drain: 0, grace: 0 })
      await skep.close()
    },
  }
}

/** The words of the benchmark. What runs in which process: see main.ts. */
import type { FlowShape } from './flows/shape.ts'

export type StoreKind = 'postgres' | 'sqlite' | 'redis'

/** Where a contestant keeps its jobs. Plain data, so that any process can open it. */
export type Address =
  | {
      readonly kind: 'postgres'
      readonly url: string
      /** Where NATS is, for those who use it, and what their subjects begin with. */
      readonly nats?: { readonly servers: readonly string[]; readonly prefix: string }
    }
  | { readonly kind: 'sqlite'; readonly file: string }
  | { readonly kind: 'redis'; readonly url: string }

/** What a job carries: about 100 bytes as JSON, like the payloads of the published comparisons. */
export interface Payload {
  /** The jobs of a run are numbered, so that a lost or doubled one is seen. */
  readonly n: number
  /** When it should have been enqueued, on the clock of `now()`. 0 where nobody looks at it. */
  readonly at: number
  readonly to: string
  readonly subject: string
  /** Where the rules have lanes. */
  readonly lane?: string
}

export function payload(n: number, at = 0, lane?: string): Payload {
  const job = { n, at, to: `user-${n}@example.test`, subject: 'Your monthly report is ready' }
  return lane === undefined ? job : { ...job, lane }
}

/** What a scenario asks of a queue beside running its jobs. It asks only those who can. */
export interface Rules {
  /**
   * How many lanes the jobs are spread over, so that a line can choose its batches. A job says its lane. Without more rules
   * lanes take turns, or whatever a library has that comes nearest to it.
   */
  readonly lanes?: number
  /** One job of a lane at a time, in the order in which they were enqueued. */
  readonly strict?: true
  /** So many jobs of a lane at a time, counted over all processes. */
  readonly laneAtOnce?: number
  readonly laneRate?: { readonly limit: number; readonly perMs: number }
  /** So many jobs of the whole queue may start in a second, counted over all processes. */
  readonly rate?: number
  /** Some jobs have a delay. */
  readonly delays?: true
  /** The jobs are those of flows like this. */
  readonly flow?: FlowShape
}

/** Milliseconds on a clock that all processes of this machine share. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** One way to keep jobs, with one set of settings. */
export interface Contestant {
  /** As in the tables: `pg-boss, batches`. Unique. */
  readonly name: string
  /** `raw`: the same work done by hand on the database, without a queue's promises: the limit. */
  readonly kind: 'skep' | 'rival' | 'raw'
  readonly store: StoreKind
  /** The file in `lines/` that opens it, without its ending. */
  readonly line: string
  /** Given to that file as it is. */
  readonly options: Readonly<Record<string, unknown>>
  /** For people: what was set and what it makes durable. */
  readonly settings: string
  /** The package whose version is printed. */
  readonly package?: string
  /** The major of Node that it needs, if that is more than 20. It then runs on one from npm. */
  readonly node?: number
  /** What it cannot do. A scenario that needs it is left out, and the table shows a dash. */
  readonly lacks?: readonly Ability[]
  /** The names of the only scenarios that it takes part in: it is another way to do the same. */
  readonly only?: readonly string[]
}

export type Ability =
  /** Runs jobs. The raw database does by hand only what a drain needs. */
  | 'work'
  /** Removes a job as it succeeds. */
  | 'discard'
  /** Keeps jobs that succeeded. */
  | 'keep'
  /** Can be shared by two processes. */
  | 'processes'
  /** Knows jobs that belong together by a key of the job, and keeps one key from taking everything: by turns or by a limit. */
  | 'lanes'
  /** Runs several jobs of a key at once. */
  | 'wide lanes'
  /** Runs the jobs of a key one at a time and in order. */
  | 'strict'
  /** Limits how many jobs of a queue start in a second, and keeps the others waiting. */
  | 'rate'
  /** Starts a job when others have ended, with their results. */
  | 'flows'

/** One measured value of one round. */
export interface Figure {
  readonly scenario: string
  readonly contestant: string
  /** What was measured: `jobs/s`, `p99 ms`. One scenario may have several. */
  readonly measure: string
  readonly value: number
}

import type { Address, Payload, Rules } from './contest.ts'

/**
 * A queue as the benchmark sees it: one line of jobs, opened by one process. Each rival, Skep and the raw databases have
 * one in `lines/`. A line does what its documentation recommends, and nothing the user of that library would not do.
 */
export interface Line {
  /** Resolves when the job is durably in the store. With a delay only if the rules say that there are some. */
  enqueue(job: Payload, delayMs?: number): Promise<unknown>
  /** Resolves when all are. Uses the library's way for many jobs; called with up to 100,000. */
  enqueueMany(jobs: readonly Payload[]): Promise<unknown>
  /** Runs jobs until the function that it resolves to is called, which lets running ones finish and saves their ends. */
  work(concurrency: number, handle: (job: Payload) => void | Promise<void>): Promise<() => Promise<void>>
  /** How many jobs are not finished: waiting, delayed or running; and how many finished ones are kept. */
  count(): Promise<{ readonly open: number; readonly kept: number }>
  close(): Promise<void>
  /** Only where the rules have a flow. */
  readonly flows?: FlowLine
  /** Lets programs outside of this process take its jobs. Only Skep has one. */
  serve?(): Promise<Served>
}

/** A server that jobs are taken from. */
export interface Served {
  readonly url: string
  close(): Promise<void>
}

/** How a line makes flows and runs them. */
export interface FlowLine {
  /** How many go in one call: 1, unless the library has a call for many. */
  readonly perCall: number
  /** How many calls are under way at the same time. */
  readonly callers: number
  /** Resolves when these flows are durably in the store. They have numbers that follow each other. */
  make(flows: readonly number[]): Promise<unknown>
  /** As `work` above. A handler has the results of the jobs that its job waited for, in any order, and gives its own. */
  work(
    concurrency: number,
    handle: (job: Payload, results: readonly number[]) => number,
  ): Promise<() => Promise<void>>
}

export interface LineOptions {
  readonly address: Address
  /** Jobs that succeed are kept, or removed. A line that can do only one of them does that. */
  readonly keep: boolean
  /** Only what the contestant is able to. */
  readonly rules: Rules
  /** The contestant's own. */
  readonly options: Readonly<Record<string, unknown>>
}

/** What a file in `lines/` exports as `open`. The first process to open a fresh address makes the tables. */
export type OpenLine = (options: LineOptions) => Promise<Line>

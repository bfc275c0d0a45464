import type { FlowShape } from '../flows/shape.ts'
import type { LineOptions } from '../line.ts'

/** Which lane a job is in: its number modulo this, or a lane of its own. Left out: none. */
export type LaneRule = number | 'own'

/**
 * What a player, a process that has opened one line, can be told. The loops that are measured run inside it; the
 * process that tells it only waits. Everything here travels as JSON.
 */
export interface Commands {
  /** Opens the line. The other commands come after it. */
  open(how: LineOptions & { readonly line: string }): Promise<void>
  /** One call after the other, each awaited, until the time is over. */
  enqueueOneByOne(how: { readonly from: number; readonly ms: number }): Promise<Enqueued>
  /**
   * Many callers, each awaiting its call before the next. `together`: one who gives all their jobs in one statement, the
   * best that can be done by hand.
   */
  enqueueWithCallers(how: {
    readonly from: number
    readonly callers: number
    readonly ms: number
    readonly together: boolean
  }): Promise<Enqueued>
  enqueueMany(how: {
    readonly from: number
    readonly count: number
    /** How many in one call. */
    readonly chunk: number
    readonly lanes?: LaneRule
  }): Promise<Enqueued>
  /**
   * Enqueues at a fixed rate, whatever the answers take. A call later than it should have been says in its job when it
   * should have been, unless `stamp` is `call`. With a delay it says when it is due.
   */
  produce(how: {
    readonly from: number
    readonly rate: number
    readonly seconds: number
    readonly stamp: 'due' | 'call'
    readonly lanes?: LaneRule
    readonly delayMs?: number
  }): Promise<Enqueued>
  /**
   * Begins to run jobs. Handlers end at once, never (`hold`) or after a time (`takesMs`). `logged`: they take a turn of the
   * event loop, so that two at once are seen, and are remembered one by one.
   */
  work(how: {
    readonly concurrency: number
    readonly hold?: boolean
    readonly takesMs?: number
    readonly logged?: boolean
  }): Promise<void>
  /** Lets others take the jobs of this line, until the process ends. */
  serve(): Promise<{ readonly url: string }>
  /** Begins to take jobs from such a server and acks them at once. */
  receive(how: {
    readonly url: string
    readonly protocol: 'http' | 'grpc'
    /** How many it may hold. */
    readonly credits: number
  }): Promise<void>
  progress(): Promise<{ readonly ran: number }>
  /** What began to run between two times on the clock of `now()`, both in the past. `least`: jobs from this number on. */
  window(how: { readonly from: number; readonly to: number; readonly least?: number }): Promise<Window>
  /** Lets running handlers finish. */
  stopWorking(): Promise<Worked>
  /** Makes flows from number 0 on, in the way that the line has for many, until there are so many or the time is over. */
  makeFlows(how: { readonly count: number; readonly ms: number }): Promise<FlowsMade>
  /** Begins to run the jobs of flows. Handlers end at once, and look at the results that they got. */
  workFlows(how: { readonly shape: FlowShape; readonly concurrency: number }): Promise<void>
  flowProgress(): Promise<Pick<FlowsWorked, 'ran' | 'ended'>>
  stopFlows(): Promise<FlowsWorked>
  count(): Promise<{ readonly open: number; readonly kept: number }>
  close(): Promise<void>
}

export interface Enqueued {
  readonly count: number
  readonly ms: number
}

export interface Window {
  readonly ran: number
  /** From when the job should have been enqueued to when its handler was called. Null if none ran. */
  readonly p50: number | null
  readonly p99: number | null
}

export interface Worked {
  /** How often the handler was called. */
  readonly ran: number
  /** Which jobs, a bit for each number, as base64. */
  readonly seen: string
  /** Every call of a handler, if they were logged: text for RunLog. */
  readonly log: string
  /** Of the first and the last call of the handler, on the clock of `now()`. */
  readonly firstAt: number
  readonly lastAt: number
  /** Of the whole process while it worked. */
  readonly cpuMicros: number
  /** The highest that was seen. */
  readonly rssMb: number
}

export interface FlowsMade {
  readonly made: number
  /** Of the first call and of the last answer, on the clock of `now()`. */
  readonly beganAt: number
  readonly endedAt: number
}

export interface FlowsWorked {
  /** How often a handler was called, and for how many different jobs. */
  readonly ran: number
  readonly distinct: number
  /** How often it was that of the last job of a flow. */
  readonly ended: number
  /** Of the last call of a handler, on the clock of `now()`. */
  readonly lastAt: number
  /** The first job that did not get the results that it waited for, as half a sentence. */
  readonly wrong: string | null
  /** Of the whole process while it worked. */
  readonly cpuMicros: number
}

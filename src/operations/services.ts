import type { Runtime, Skep } from '../index.ts'
import type { Cards } from './authorize/declarations.ts'
import type { Caller } from './operation.ts'
import type { Redactor } from './redaction/redact.ts'
import type { AuditQuery, NewToken } from './schema/inputs.ts'
import type { AuditEntry, Check, ReceiverSummary, TokenView } from './schema/outputs.ts'
import type { Lookback } from './system/metrics-window.ts'

/** What the server has beside its Skeps. Operations get it in their context. */
export interface Services {
  readonly about: About
  readonly runtime: Runtime
  readonly process: ProcessVitals
  readonly cards: Cards
  readonly lookback: Lookback
  readonly receivers: ReceiverList
  readonly tokens: TokenList
  readonly auditLog: AuditLog
  /** Hides secrets in what leaves the server. */
  readonly redactor: Redactor
  readonly quotas: SpaceQuotas
  readonly alerts: AlertChecks
}

/** What the server says about itself. */
export interface About {
  readonly version: string
  /** A word such as "production"; null: none. */
  readonly environment: string | null
  /** Where traces are; `{trace}` stands for the id. */
  readonly traceUrl: string | null
  /** Where the jobs are, without a password; null: it was not said. */
  readonly place: string | null
}

/** How this process is. */
export interface ProcessVitals {
  upMs(): number
  /** How late its event loop is, the 99th of a hundred, lately. */
  lagMs(): number
  /** Connections that are open. */
  connections(): number
}

/** Who streams jobs from this server. */
export interface ReceiverList {
  list(space: string): Promise<readonly ReceiverSummary[]>
  /** Ends a stream; its jobs are free at once. False if there is none. */
  close(space: string, id: string): Promise<boolean>
}

export interface TokenList {
  /** Those that the caller may see: of its spaces. */
  list(caller: Caller): Promise<readonly TokenView[]>
  create(caller: Caller, input: NewToken): Promise<{ readonly token: string; readonly view: TokenView }>
  /** False if there is none that this caller may see. */
  revoke(caller: Caller, id: string): Promise<boolean>
}

export interface AuditLog {
  /** What was done with `what` and succeeded between these moments, the newest first, as far as it is among the last few hundred lines. */
  between(
    space: string,
    what: AuditEntry['what'],
    from: number,
    to: number,
  ): Promise<readonly AuditedChange[]>
  /** The newest first. */
  list(
    caller: Caller,
    input: AuditQuery,
  ): Promise<{ readonly entries: readonly AuditEntry[]; readonly cursor: string | null }>
}

/** A line of the audit, with the queues that it was about. */
export interface AuditedChange extends AuditEntry {
  readonly queues: readonly string[]
}

/** What a space may use up through this server. */
export interface SpaceQuotas {
  /** Throws unless the space may enqueue these now. `stored` lists its queues. */
  assertEnqueue(space: string, coming: readonly Coming[], stored: QueueLister): Promise<void>
  /** Throws if a payload is larger than those of the space may be. */
  assertPayloads(space: string, coming: readonly Partial<Coming>[]): void
  /** Throws unless the space may have another schedule. `count` counts those that it has, up to so many. */
  assertSchedule(space: string, count: (most: number) => Promise<number>): Promise<void>
}

/** Who is told of what needs attention. */
export interface AlertChecks {
  /** Whether alerts of a space are taken, one check for each address. */
  checks(space: string): Promise<readonly Check[]>
}

/** What is to be enqueued. */
export interface Coming {
  readonly queue: string
  readonly payload: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly lane?: string | null
  readonly unique?: string | null
}

/** What the quotas of a space count: the Skep of the space. */
export interface QueueLister {
  readonly queues: Pick<Skep['queues'], 'list'>
}

import type { Runtime, Skep } from '../index.ts'
import type { Cards } from './authorize/declarations.ts'
import type { Caller } from './operation.ts'
import type { SharedBudget } from './redaction/budget.ts'
import type { Redactor } from './redaction/redact.ts'
import type { AuditQuery, NewToken } from './schema/inputs.ts'
import type { AuditEntry, Check, ReceiverSummary, TokenView } from './schema/outputs.ts'
import type { Lookback } from './system/metrics-window.ts'
import type { Turns } from './turns.ts'

/** What the server provides to operations beside a Skep. */
export interface Services {
  readonly about: About
  readonly runtime: Runtime
  readonly process: ProcessVitals
  readonly cards: Cards
  readonly lookback: Lookback
  readonly receivers: ReceiverList
  readonly tokens: TokenList
  readonly auditLog: AuditLog
  /** Redacts secrets in outputs. */
  readonly redactor: Redactor
  /** What all responses may spend on that. */
  readonly redactionBudget: SharedBudget
  /** Spreads large responses over the iterations of the event loop. */
  readonly turns: Turns
  readonly quotas: SpaceQuotas
  readonly alerts: AlertChecks
}

/** The settings of the server. */
export interface About {
  readonly version: string
  /** A label such as "production"; null: none. */
  readonly environment: string | null
  /** The address of traces; `{trace}` is replaced by the id. */
  readonly traceUrl: string | null
  /** The store, without a password; null: not given. */
  readonly place: string | null
}

/** The health of this process. */
export interface ProcessVitals {
  upMs(): number
  /** The recent 99th percentile of the delay of its event loop. */
  lagMs(): number
  /** Open connections. */
  connections(): number
}

/** The receivers of this server. */
export interface ReceiverList {
  list(space: string): Promise<readonly ReceiverSummary[]>
  /** Closes a stream; its jobs become available at once. False if there is none. */
  close(space: string, id: string): Promise<boolean>
}

export interface TokenList {
  /** The tokens of the spaces of the caller. */
  list(caller: Caller): Promise<readonly TokenView[]>
  create(caller: Caller, input: NewToken): Promise<{ readonly token: string; readonly view: TokenView }>
  /** False if there is none that this caller may see. */
  revoke(caller: Caller, id: string): Promise<boolean>
}

export interface AuditLog {
  /** Successful calls of `what` between these times, newest first, among the last few hundred entries. */
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

/** An entry of the audit log, with its queues. */
export interface AuditedChange extends AuditEntry {
  readonly queues: readonly string[]
}

/** The quotas of spaces. */
export interface SpaceQuotas {
  /** Throws if enqueuing these would exceed a quota. `stored` lists the queues of the space. */
  assertEnqueue(space: string, coming: readonly Coming[], stored: QueueLister): Promise<void>
  /** Throws if a payload is too large for the space. */
  assertPayloads(space: string, coming: readonly Partial<Coming>[]): void
  /** Throws if the space has too many schedules. `count` counts them, up to `most`. */
  assertSchedule(space: string, count: (most: number) => Promise<number>): Promise<void>
}

/** The receivers of alerts. */
export interface AlertChecks {
  /** Whether alerts of a space are delivered, one check per address. */
  checks(space: string): Promise<readonly Check[]>
}

/** A job to be enqueued. */
export interface Coming {
  readonly queue: string
  readonly payload: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly lane?: string | null
  readonly unique?: string | null
}

/** The Skep of a space, as far as quotas need it. */
export interface QueueLister {
  readonly queues: Pick<Skep['queues'], 'list'>
}

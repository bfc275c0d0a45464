import { isFinal, type JobState } from '../../../src/core/jobs/job.ts'
import { holdKey } from '../../../src/core/lanes/holds.ts'
import type { FlowHistory } from '../flows/history.ts'
import {
  type AttendRecord,
  type AuditEntry,
  type AuditRow,
  type ClaimRecord,
  type CommandRecord,
  type ConfirmRecord,
  type CountsRecord,
  type DepartRecord,
  type EndRecord,
  type EnqueueRecord,
  type EventRecord,
  type ExtendRecord,
  type Facts,
  type HandledRecord,
  type History,
  type HistoryRecord,
  type HoldRecord,
  SELECTION,
  type SettleRecord,
  type StartRecord,
  type StopRecord,
  type ToldRecord,
  type Violation,
} from '../history.ts'
import { Order } from './order.ts'

/** One thing that must hold: everything in the history that breaks it. */
export type Invariant = (view: View) => Iterable<Violation>

/** A question and the answer to it, or null when nobody ever heard one. */
export interface Asked<Kind extends HistoryRecord> {
  readonly invoke: Kind
  readonly answer: Kind | null
}

/** A hold whose recall is done, in one process or in all. */
export interface Confirmed {
  readonly queue: string | null
  readonly lane: string | null
  readonly everywhere: boolean
  /** What the store said to the hold. */
  readonly held: HoldRecord
  readonly answer: ConfirmRecord
}

/** All that is known of one job. */
export interface JobView {
  readonly id: string
  /** In commit order. */
  readonly audit: AuditEntry[]
  readonly enqueues: Asked<EnqueueRecord>[]
  readonly commands: Asked<CommandRecord>[]
  readonly starts: StartRecord[]
  readonly told: ToldRecord[]
  readonly leases: LeaseView[]
}

/** All that is known of one lease, which is one token on one job. */
export interface LeaseView {
  readonly id: string
  readonly token: string
  /** The change that began it, and the one that ended it. */
  claim: AuditEntry | null
  release: AuditEntry | null
  /** The answer to a claim that told a worker of it. */
  toldOf: ClaimRecord | null
  readonly settles: Asked<SettleRecord>[]
  readonly extends: ExtendRecord[]
  readonly starts: StartRecord[]
  readonly ends: EndRecord[]
  readonly told: ToldRecord[]
}

/** A history, indexed once for all invariants. */
export interface View {
  readonly facts: Facts
  readonly order: Order
  /** In commit order. */
  readonly audit: readonly AuditEntry[]
  readonly final: ReadonlyMap<string, AuditRow>
  readonly jobs: ReadonlyMap<string, JobView>
  readonly leases: readonly LeaseView[]
  readonly leasesOfToken: ReadonlyMap<string, readonly LeaseView[]>
  /** The claims as they were sent, by token. Of one that was sent again it is the last that got an answer. */
  readonly claims: ReadonlyMap<string, ClaimRecord>
  /** Claims that told a worker of jobs. */
  readonly grants: readonly ClaimRecord[]
  /** When each process died. */
  readonly crashes: ReadonlyMap<string, number>
  readonly stops: readonly StopRecord[]
  /** Holds and their releases, in the order in which they were asked for. */
  readonly holds: readonly Asked<HoldRecord>[]
  /** What was told of all queues. */
  readonly looks: readonly Asked<CountsRecord>[]
  readonly confirms: readonly Confirmed[]
  /** When the store's clock went back. */
  readonly clocks: readonly EventRecord[]
  /** When processes stood still. */
  readonly stalls: readonly EventRecord[]
  /** Who said that it is there, and who was taken off the list. */
  readonly attends: readonly Asked<AttendRecord>[]
  readonly departs: readonly DepartRecord[]
  /** Who asked which jobs no worker handles. */
  readonly handled: readonly Asked<HandledRecord>[]
  readonly leaseOf: (id: string, token: string) => LeaseView | undefined
  readonly flows: FlowHistory | undefined
}

export function viewOf({ records, audit, final, facts, flows }: History): View {
  const jobs = new Map<string, JobView>()
  const leases = new Map<string, LeaseView>()
  const leasesOfToken = new Map<string, LeaseView[]>()
  const claims = new Map<string, ClaimRecord>()
  const asked = new Map<string, ClaimRecord>()
  const grants: ClaimRecord[] = []
  const crashes = new Map<string, number>()
  const stops: StopRecord[] = []
  const holds: Asked<HoldRecord>[] = []
  const looks: Asked<CountsRecord>[] = []
  const confirms: Confirmed[] = []
  const clocks: EventRecord[] = []
  const stalls: EventRecord[] = []
  const attends: Asked<AttendRecord>[] = []
  const departs: DepartRecord[] = []
  const handled: Asked<HandledRecord>[] = []
  const pairs = new Pairs()
  const selections = new Map<string, CommandRecord>()
  const order = new Order(audit, facts.slackMs)

  const jobOf = (id: string): JobView =>
    entryOf(jobs, id, () => ({
      id,
      audit: [],
      enqueues: [],
      commands: [],
      starts: [],
      told: [],
      leases: [],
    }))
  const leaseOf = (id: string, token: string): LeaseView =>
    entryOf(leases, leaseKey(id, token), () => {
      const lease: LeaseView = {
        id,
        token,
        claim: null,
        release: null,
        toldOf: null,
        settles: [],
        extends: [],
        starts: [],
        ends: [],
        told: [],
      }
      jobOf(id).leases.push(lease)
      entryOf(leasesOfToken, token, () => []).push(lease)
      return lease
    })

  const ordered = [...audit].sort((a, b) => a.seq - b.seq)
  for (const entry of ordered) {
    jobOf(entry.id).audit.push(entry)
    if (claimsLease(entry)) leaseOf(entry.id, (entry.after as AuditRow).token ?? '').claim ??= entry
    if (releasesLease(entry)) leaseOf(entry.id, (entry.before as AuditRow).token ?? '').release ??= entry
  }

  for (const record of inOrder(records, order.total)) {
    switch (record.f) {
      case 'enqueue':
        pairs.take(record, `enqueue ${record.id} ${record.call ?? ''}`, jobOf(record.id).enqueues)
        break
      case 'command':
        pairs.take(
          record,
          `${record.action} ${record.id} ${record.call ?? ''}`,
          jobOf(record.id).commands,
          selections.get(`${record.proc} ${record.call}`),
        )
        if (record.type === 'invoke' && record.id === SELECTION)
          selections.set(`${record.proc} ${record.call}`, record)
        break
      case 'hold':
        pairs.take(record, `${record.action} ${record.call} ${holdKey(record)}`, holds)
        break
      case 'counts':
        pairs.take(record, `counts ${record.call}`, looks)
        break
      case 'confirm': {
        // The same may have been asked several times. The earliest is the one of which most is sure.
        const held = holds.find(
          ({ invoke, answer }) =>
            invoke.action === 'hold' &&
            invoke.proc === record.proc &&
            answer?.type === 'ok' &&
            holdKey(invoke) === holdKey(record) &&
            !confirms.some((other) => other.held === answer),
        )?.answer
        const { queue, lane, everywhere } = record
        if (held) confirms.push({ queue, lane, everywhere, held, answer: record })
        break
      }
      case 'claim':
        if (record.type === 'invoke') {
          asked.set(record.token, record)
          if (!claims.has(record.token)) claims.set(record.token, record)
        } else if (record.type === 'ok') {
          grants.push(record)
          claims.set(record.token, asked.get(record.token) ?? record)
          for (const { id } of record.jobs ?? []) leaseOf(id, record.token).toldOf = record
        }
        break
      case 'extend':
        leaseOf(record.id, record.token).extends.push(record)
        break
      case 'settle':
        pairs.take(
          record,
          `settle ${record.id} ${record.token} ${record.rescue} ${record.to}`,
          leaseOf(record.id, record.token).settles,
        )
        break
      case 'start':
        jobOf(record.id).starts.push(record)
        leaseOf(record.id, record.token).starts.push(record)
        break
      case 'end':
        leaseOf(record.id, record.token).ends.push(record)
        break
      case 'told':
        jobOf(record.id).told.push(record)
        if (record.token !== null) leaseOf(record.id, record.token).told.push(record)
        break
      case 'stop':
        stops.push(record)
        break
      case 'clock':
        clocks.push(record)
        break
      case 'attend':
        pairs.take(record, `attend ${record.workerId}`, attends)
        break
      case 'depart':
        departs.push(record)
        break
      case 'handled':
        pairs.take(record, `handled ${record.call}`, handled)
        break
      case 'stall':
        stalls.push(record)
        break
      case 'crash':
        // The one that died wrote it, or whoever killed it did and names it.
        for (const proc of [record.proc, record.what]) {
          crashes.set(proc, Math.min(record.at, crashes.get(proc) ?? Infinity))
        }
    }
  }

  return {
    facts,
    order,
    audit: ordered,
    final,
    jobs,
    leases: [...leases.values()],
    leasesOfToken,
    claims,
    grants,
    crashes,
    stops,
    holds,
    looks,
    confirms,
    clocks,
    stalls,
    attends,
    departs,
    handled,
    leaseOf: (id, token) => leases.get(leaseKey(id, token)),
    flows,
  }
}

/** Puts each answer to the latest question of the same process that has none: the ones before it never got any. */
class Pairs {
  readonly #open = new Map<string, { answer: HistoryRecord | null }[]>()

  take<Kind extends HistoryRecord>(record: Kind, about: string, into: Asked<Kind>[], asked?: Kind): void {
    const open = entryOf(this.#open, `${record.proc} ${about}`, () => [])
    if (record.type === 'invoke') {
      const question = { invoke: record, answer: null }
      into.push(question)
      open.push(question)
      return
    }
    const question = open.pop()
    if (question) question.answer = record
    // An answer without a question of its own: a selection asked for it, or it was asked at the latest here.
    else into.push({ invoke: asked ?? record, answer: record })
  }
}

function inOrder(records: readonly HistoryRecord[], total: boolean): HistoryRecord[] {
  return [...records].sort((a, b) => (total ? a.n - b.n : a.at - b.at || a.n - b.n))
}

function leaseKey(id: string, token: string): string {
  return `${id} ${token}`
}

export function entryOf<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  let value = map.get(key)
  if (value === undefined) {
    value = make()
    map.set(key, value)
  }
  return value
}

// ── what a change was ────────────────────────────────────────────────────────────────────────────

export function waits(state: JobState | undefined): boolean {
  return state === 'ready' || state === 'delayed'
}

export function ends(state: JobState | undefined): boolean {
  return state !== undefined && isFinal(state)
}

/** A lease began. */
export function claimsLease({ before, after }: AuditEntry): boolean {
  return after?.state === 'running' && (before?.state !== 'running' || before.token !== after.token)
}

/** A lease ended. */
export function releasesLease({ before, after }: AuditEntry): boolean {
  return before?.state === 'running' && (after?.state !== 'running' || after.token !== before.token)
}

/** A finished job began again, as its next generation. */
export function retries({ before, after }: AuditEntry): boolean {
  return ends(before?.state) && after !== null && after.generation > (before as AuditRow).generation
}

/** Somebody may have given this command before the change: it was not refused, and it did not fail. */
export function commanded(
  view: View,
  job: JobView,
  action: CommandRecord['action'],
  entry: AuditEntry,
): boolean {
  const may = ({ invoke, answer }: Asked<CommandRecord>): boolean =>
    invoke.action === action &&
    answer?.type !== 'fail' &&
    answer?.result !== 'refused' &&
    !view.order.isAfter(invoke, entry)
  // Of a selection nobody knows whom it meant until it is answered, and then each job has a record of its own.
  const selections = view.jobs.get(SELECTION)?.commands ?? []
  return job.commands.some(may) || selections.some((asked) => asked.answer?.type !== 'ok' && may(asked))
}

/** What the callers of an enqueue know: `ok` if one was acknowledged, `info` if nobody knows, `fail` if all failed. */
export function fateOf(job: JobView): 'ok' | 'info' | 'fail' | 'none' {
  if (job.enqueues.length === 0) return 'none'
  if (job.enqueues.some(({ answer }) => answer?.type === 'ok')) return 'ok'
  return job.enqueues.every(({ answer }) => answer?.type === 'fail') ? 'fail' : 'info'
}

/** Whether a release went where a verdict said: a job that would wait ends as cancelled if somebody asked it to stop. */
export function fits(to: JobState, { before, after }: AuditEntry): boolean {
  if (after === null) return ends(to)
  if (waits(to)) {
    return waits(after.state) || (after.state === 'cancelled' && before?.cancelReason !== null)
  }
  return after.state === to
}

/** The settles that may have ended this lease: sent before its end, not refused, and to where it went. */
export function causesOf(view: View, lease: LeaseView): SettleRecord[] {
  const { release } = lease
  if (release === null) return []
  return lease.settles
    .filter(({ invoke, answer }) => {
      if (view.order.isAfter(invoke, release) || answer?.type === 'fail') return false
      return answer?.status !== 'refused' && fits(invoke.to, release)
    })
    .map(({ invoke }) => invoke)
}

/** Surely ended by somebody else than its holder. */
export function wasRescued(view: View, lease: LeaseView): boolean {
  const causes = causesOf(view, lease)
  return causes.length > 0 && causes.every(({ rescue }) => rescue)
}

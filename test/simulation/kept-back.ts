import { holdKey, holdsQueue } from '../../src/core/lanes/holds.ts'
import type { AuditEntry, AuditRow, ClaimRecord, HistoryRecord, HoldRecord } from '../proof/history.ts'
import { MOST } from './features/lanes.ts'
import type { TrialResult } from './trial.ts'

/** What kept jobs back, and what became of them. */
export type KeptBack =
  | 'full lane'
  | 'full queue'
  | 'shared limit'
  | 'rate'
  | 'hold'
  | 'ran after a hold'
  | 'a hold ended'
  | 'a retried head stayed in front'
  | 'a lost head stayed in front'
  | 'a throttled lane waited'

const found = new WeakMap<TrialResult, ReadonlySet<KeptBack>>()

/** Whether this was so at some moment of a trial. */
export function keptBack(what: KeptBack): (trial: TrialResult) => boolean {
  return (trial) => {
    let all = found.get(trial)
    if (!all) {
      all = new Replay().of(trial)
      found.set(trial, all)
    }
    return all.has(what)
  }
}

/**
 * Goes through a trial once more, looking for claims that left a job where it was although it was ready all the time and
 * more was asked for, and for what follows the end of such a time.
 */
class Replay {
  readonly #seen = new Set<KeptBack>()
  readonly #rows = new Map<string, AuditRow>()
  /** The place of each job's last change. */
  readonly #changed = new Map<string, number>()
  /** Claims that are under way, by token. */
  readonly #claims = new Map<string, ClaimRecord>()
  readonly #holds = new Map<string, HoldRecord>()
  readonly #heldJobs = new Set<string>()
  /** The first job of a strict lane, whose last run failed or was lost while others waited behind it. */
  readonly #heads = new Map<string, { readonly id: string; readonly what: KeptBack }>()
  /** Lanes of `throttled` that wait, and whether another one has started something meanwhile. */
  readonly #waiting = new Map<string, { readonly until: number; isPassed: boolean }>()
  #wasHeld = false
  #now = 0

  of({ history }: TrialResult): ReadonlySet<KeptBack> {
    const { records, audit } = history
    let next = 0
    for (const record of records) {
      for (; next < audit.length && (audit[next]?.n ?? 0) < record.n; next++)
        this.#change(audit[next] as AuditEntry)
      this.#hear(record)
    }
    return this.#seen
  }

  #hear(record: HistoryRecord): void {
    if (record.f === 'hold') this.#hold(record)
    else if (record.f === 'claim' && record.type === 'invoke') this.#claims.set(record.token, record)
    else if (record.f === 'claim' && record.type === 'ok') {
      const asked = this.#claims.get(record.token)
      if (asked) this.#claimed(asked, record)
    } else if (record.f === 'settle' && record.status === 'ok' && (record.waitMs ?? 0) > 0) {
      const lane = this.#rows.get(record.id)?.lane ?? ''
      this.#waiting.set(lane, { until: this.#now + (record.waitMs as number), isPassed: false })
    }
  }

  #hold(record: HoldRecord): void {
    this.#wasHeld = true
    // While somebody asks for something, nobody knows what is so.
    if (record.type === 'invoke') this.#holds.delete(holdKey(record))
    else if (record.type === 'ok' && record.action === 'hold') this.#holds.set(holdKey(record), record)
  }

  #claimed(asked: ClaimRecord, { jobs = [] }: ClaimRecord): void {
    if (asked.asked === undefined || jobs.length >= (asked.limit ?? 0)) return
    const got = new Map<string, number>()
    for (const { id } of jobs) {
      const queue = this.#rows.get(id)?.queue ?? ''
      got.set(queue, (got.get(queue) ?? 0) + 1)
    }
    for (const [id, row] of this.#rows) {
      if (row.state !== 'ready' || (this.#changed.get(id) as number) > asked.n) continue
      if ((got.get(row.queue) ?? 0) >= (asked.asked[row.queue] ?? 0)) continue
      const why = this.#why(row, asked)
      if (why === null) continue
      this.#seen.add(why)
      if (why === 'hold') this.#heldJobs.add(id)
    }
  }

  #why(row: AuditRow, asked: ClaimRecord): KeptBack | null {
    for (const hold of this.#holds.values()) {
      if (hold.n < asked.n && hold.until === null && isOn(hold, row)) return 'hold'
    }
    // Otherwise it would not be sure that it was the limit.
    if (this.#wasHeld) return null
    const running = [...this.#rows.values()].filter(({ state }) => state === 'running')
    const count = (test: (other: AuditRow) => boolean): number => running.filter(test).length
    if (row.queue === 'metered') return 'rate'
    if (row.queue === 'laned') {
      const own = count(({ queue, lane }) => queue === 'laned' && lane === row.lane)
      if (own >= MOST.lane) return 'full lane'
      return count(({ queue }) => queue === 'laned') >= MOST.queue ? 'full queue' : null
    }
    const other = { 'paired-a': 'paired-b', 'paired-b': 'paired-a' }[row.queue]
    return other && count(({ queue }) => queue === other) >= MOST.pair ? 'shared limit' : null
  }

  #change({ id, n, at, before, after }: AuditEntry): void {
    this.#now = at
    this.#changed.set(id, n as number)
    if (after === null) this.#rows.delete(id)
    else this.#rows.set(id, after)
    if (before && after && after.queue === 'ordered') this.#inOrder(id, before, after)
    if (after?.state !== 'running' || before?.state === 'running') return
    if (this.#heldJobs.has(id)) this.#seen.add('ran after a hold')
    for (const hold of this.#holds.values()) {
      if (hold.until != null && hold.until <= at && isOn(hold, after)) this.#seen.add('a hold ended')
    }
    if (after.queue === 'throttled') this.#throttled(after.lane ?? '', at)
  }

  #inOrder(id: string, before: AuditRow, after: AuditRow): void {
    const lane = after.lane ?? ''
    if (after.state === 'running' && before.state !== 'running') {
      const head = this.#heads.get(lane)
      if (head?.id === id) this.#seen.add(head.what)
      this.#heads.delete(lane)
    }
    if (before.state !== 'running' || (after.state !== 'ready' && after.state !== 'delayed')) return
    const isBehind = [...this.#rows.values()].some(
      (row) => row.queue === 'ordered' && (row.lane ?? '') === lane && row !== after && row.state === 'ready',
    )
    const grew = (name: 'errors' | 'lost'): boolean =>
      (after.counters?.[name] ?? 0) > (before.counters?.[name] ?? 0)
    if (!isBehind || !(grew('errors') || grew('lost'))) return
    const what = grew('lost') ? 'a lost head stayed in front' : 'a retried head stayed in front'
    this.#heads.set(lane, { id, what })
  }

  #throttled(lane: string, at: number): void {
    if (this.#waiting.get(lane)?.isPassed) this.#seen.add('a throttled lane waited')
    this.#waiting.delete(lane)
    for (const other of this.#waiting.values()) if (at < other.until) other.isPassed = true
  }
}

function isOn(hold: HoldRecord, { queue, lane }: AuditRow): boolean {
  if (hold.lane !== null) return hold.queue === queue && hold.lane === (lane ?? '')
  return holdsQueue(hold, 'default', queue)
}

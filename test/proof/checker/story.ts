/** Tells the history of a run step by step, for the checker's own tests. What is not said goes as it should. */
import { type Counters, isFinal, type JobState } from '../../../src/core/jobs/job.ts'
import type {
  AuditEntry,
  AuditRow,
  CommandRecord,
  EndRecord,
  EnqueueRecord,
  Facts,
  History,
  HistoryRecord,
  QueueFacts,
  SettleRecord,
  ToldRecord,
} from '../history.ts'

export const LEASE_MS = 1_000
const KEEP_MS = 100_000

export const MAIL: QueueFacts = {
  retries: { errors: 2, timeouts: 1, lost: 3 },
  backoffMs: { errors: 100, timeouts: 100, lost: 0 },
  discards: false,
}

type Loose<Kind> = Kind extends unknown ? Omit<Kind, 'n' | 'at' | 'proc'> : never
type Count = Exclude<keyof Counters, 'starts'>

export interface EnqueueTelling {
  readonly queue?: string
  readonly payload?: string
  readonly delayMs?: number
  readonly unique?: EnqueueRecord['unique']
  readonly row?: Partial<AuditRow>
  readonly answer?: 'ok' | 'fail' | 'info' | 'none'
}

export interface SettleTelling {
  readonly to?: Exclude<JobState, 'running'>
  readonly count?: Count
  readonly refund?: boolean
  readonly delayMs?: number
  readonly value?: string | null
  readonly rescue?: boolean
  readonly proc?: string
  readonly removes?: boolean
  readonly enqueue?: readonly string[]
  /** So long its lane shall wait. */
  readonly waitMs?: number
  readonly answer?: 'ok' | 'refused' | 'none'
  readonly row?: Partial<AuditRow>
}

export interface HoldTelling {
  readonly kind?: 'pause' | 'block'
  readonly space?: string | null
  readonly queue?: string | null
  readonly lane?: string
  readonly forMs?: number
  readonly answer?: 'ok' | 'fail' | 'info' | 'none'
}

export class Story {
  /** True time, and the store's. */
  now = 1_000
  proc = 'w1#1'
  readonly records: HistoryRecord[] = []
  readonly audit: AuditEntry[] = []
  readonly rows = new Map<string, AuditRow>()
  #places = 0
  #holds = 0

  wait(ms: number): this {
    this.now += ms
    return this
  }

  as(proc: string): this {
    this.proc = proc
    return this
  }

  /** Writes a record as it is given. */
  record(record: Loose<HistoryRecord>): this {
    this.records.push({ n: this.#places++, at: this.now, proc: this.proc, ...record } as HistoryRecord)
    return this
  }

  /** Changes a job in the store. Null removes it. */
  change(id: string, patch: Partial<AuditRow> | null): this {
    const before = this.rows.get(id) ?? null
    const after = patch === null ? null : { ...(before ?? BLANK), ...patch }
    this.audit.push({ seq: this.audit.length, n: this.#places++, at: this.now, id, before, after })
    if (after === null) this.rows.delete(id)
    else this.rows.set(id, after)
    return this
  }

  enqueue(id: string, telling: EnqueueTelling = {}): this {
    const { delayMs = 0, answer = 'ok', row } = telling
    this.asked(id, telling)
    if (answer !== 'fail') {
      const dueAt = this.now + delayMs
      const { unique } = telling
      this.change(id, {
        queue: telling.queue ?? 'mail',
        state: delayMs > 0 ? 'delayed' : 'ready',
        dueAt,
        unique: unique ? { key: unique.key, scope: unique.scope } : null,
        ...row,
      })
    }
    return answer === 'none' ? this : this.answered(id, answer, telling)
  }

  asked(id: string, { queue = 'mail', payload = '{}', delayMs = 0, unique }: EnqueueTelling = {}): this {
    const notBefore = this.now + delayMs
    return this.record({
      f: 'enqueue',
      type: 'invoke',
      id,
      queue,
      payload,
      notBefore,
      ...(unique ? { unique } : {}),
    })
  }

  answered(
    id: string,
    type: 'ok' | 'fail' | 'info' = 'ok',
    { queue = 'mail', payload = '{}' }: EnqueueTelling = {},
    duplicateOf?: string,
  ): this {
    const record = { f: 'enqueue', type, id, queue, payload, notBefore: this.now } as const
    return this.record(duplicateOf === undefined ? record : { ...record, duplicateOf })
  }

  /** An enqueue by a handler, which is inserted with its success. */
  within(id: string, token: string): this {
    return this.record({
      f: 'enqueue',
      type: 'invoke',
      id,
      queue: 'mail',
      payload: '{}',
      notBefore: this.now,
      within: token,
    })
  }

  claim(ids: readonly string[], token: string, { isAnswered = true } = {}): this {
    const workerId = this.proc.split('#')[0] as string
    const call = { f: 'claim', token, workerId, leaseMs: LEASE_MS } as const
    this.record({ ...call, type: 'invoke' })
    for (const id of ids) this.lease(id, token)
    const jobs = ids.map((id) => {
      const { generation, counters } = this.row(id)
      return { id, generation, starts: (counters as Counters).starts }
    })
    return isAnswered ? this.record({ ...call, type: 'ok', jobs }) : this
  }

  /** What a claim does in the store. */
  lease(id: string, token: string): this {
    const worker = this.proc.split('#')[0] as string
    const leaseUntil = this.now + LEASE_MS
    return this.change(id, {
      state: 'running',
      token,
      worker,
      leaseUntil,
      counters: this.#counted(id, 'starts', 1),
    })
  }

  start(id: string, token: string, patch: Partial<{ payload: string; attempt: number }> = {}): this {
    const { queue, generation, counters } = this.row(id)
    const attempt = (counters as Counters).starts
    return this.record({
      f: 'start',
      type: 'ok',
      id,
      token,
      queue,
      generation,
      attempt,
      payload: '{}',
      ...patch,
    })
  }

  end(id: string, token: string, how: EndRecord['how'] = 'returned', value: string | null = null): this {
    return this.record({ f: 'end', type: 'ok', id, token, how, value })
  }

  /** The signal of its handler aborts, because its worker stops. */
  tellStop(id: string, token: string): this {
    return this.record({ f: 'end', type: 'ok', id, token, how: 'aborted', value: null, reason: 'stop' })
  }

  extend(id: string, token: string): this {
    const call = { f: 'extend', id, token, sentAt: this.now } as const
    this.record({ ...call, type: 'invoke' })
    this.change(id, { leaseUntil: this.now + LEASE_MS })
    return this.record({ ...call, type: 'ok', status: 'ok' })
  }

  settle(id: string, token: string, telling: SettleTelling = {}): this {
    const { to = 'done', answer = 'ok', enqueue } = telling
    this.sends(id, token, telling)
    if (answer !== 'refused') {
      this.release(id, telling)
      for (const fresh of enqueue ?? [])
        this.change(fresh, { queue: 'mail', state: 'ready', dueAt: this.now })
    }
    return answer === 'none' ? this : this.hears(id, token, telling, this.rows.get(id)?.state ?? to)
  }

  /** A settle on its way to the store. */
  sends(
    id: string,
    token: string,
    { to = 'done', rescue = false, value = null, proc, enqueue, waitMs }: SettleTelling = {},
  ): this {
    const carried = { ...(enqueue && { enqueue }), ...(waitMs !== undefined && { waitMs }) }
    return this.#by(proc, { f: 'settle', type: 'invoke', id, token, to, rescue, value, ...carried })
  }

  /** What the store said to a settle. */
  hears(id: string, token: string, telling: SettleTelling = {}, state: JobState = 'done'): this {
    const { to = 'done', rescue = false, value = null, answer = 'ok', proc } = telling
    const status = answer === 'ok' ? 'ok' : 'refused'
    return this.#by(proc, { f: 'settle', type: 'ok', id, token, to, rescue, value, status, state })
  }

  /** What a settle does in the store. */
  release(id: string, telling: SettleTelling = {}): this {
    const { to = 'done', count, refund = false, delayMs = 0, value = null, removes = false, row } = telling
    if (removes) return this.change(id, null)
    const isCancelled = !isFinal(to) && this.row(id).cancelReason !== null
    const state = isCancelled ? 'cancelled' : to
    const over = isFinal(state)
    return this.change(id, {
      state,
      token: null,
      leaseUntil: null,
      counters: refund
        ? this.#counted(id, 'starts', -1)
        : count
          ? this.#counted(id, count, 1)
          : this.#counters(id),
      dueAt: over ? this.row(id).dueAt : this.now + delayMs,
      finishedAt: over ? this.now : null,
      expiresAt: over ? this.now + KEEP_MS : null,
      result: state === 'done' ? value : null,
      ...row,
    })
  }

  told(event: ToldRecord['event'], id: string, token: string | null, value: string | null = null): this {
    return this.record({ f: 'told', type: 'ok', event, id, token, value })
  }

  command(
    action: CommandRecord['action'],
    id: string,
    change: () => void,
    result: CommandRecord['result'] = 'ok',
  ): this {
    this.record({ f: 'command', type: 'invoke', action, id })
    change()
    return this.record({ f: 'command', type: 'ok', action, id, result: result as 'ok' })
  }

  /** A hold on the queue `mail`, if nothing else is said, or its release. */
  hold(action: 'hold' | 'release', telling: HoldTelling = {}): this {
    const { kind = 'pause', space = 'default', queue = 'mail', lane = null, forMs, answer = 'ok' } = telling
    const call = { f: 'hold', action, call: this.#holds++, kind, space, queue, lane } as const
    this.record({ ...call, type: 'invoke' })
    if (answer === 'none') return this
    const until = forMs === undefined ? null : this.now + forMs
    return this.record({ ...call, type: answer, ...(action === 'hold' && { until }) })
  }

  cancel(id: string): this {
    if (this.row(id).state === 'running') {
      return this.command('cancel', id, () => this.change(id, { cancelReason: 'stop' }), 'requested')
    }
    return this.command('cancel', id, () => this.finish(id, 'cancelled'))
  }

  retry(id: string): this {
    return this.command('retry', id, () => this.begin(id))
  }

  finish(id: string, state: 'cancelled' | 'dead'): this {
    return this.change(id, { state, finishedAt: this.now, expiresAt: this.now + KEEP_MS })
  }

  /** What a retry does in the store. */
  begin(id: string): this {
    return this.change(id, {
      ...AGAIN,
      generation: this.row(id).generation + 1,
      dueAt: this.now,
    })
  }

  /** Removes what is kept no longer. */
  prune(id: string): this {
    this.now = Math.max(this.now, this.row(id).expiresAt as number)
    return this.change(id, null)
  }

  /** A whole run: claimed, started, ended, settled, told. */
  run(id: string, token: string, telling: SettleTelling & { how?: EndRecord['how'] } = {}): this {
    const { value = null, how = 'returned', to = 'done' } = telling
    this.claim([id], token).start(id, token).wait(10)
    this.end(id, token, how, value).settle(id, token, telling)
    return to === 'done' ? this.told('finished', id, token, value) : this
  }

  crash(proc: string): this {
    return this.record({ f: 'crash', type: 'ok', what: proc })
  }

  /** Whoever put a pause on a queue has heard that its recall is done. */
  confirm(queue: string, everywhere: boolean): this {
    const target = { kind: 'pause', space: 'default', queue, lane: null } as const
    return this.record({ f: 'confirm', type: 'ok', ...target, everywhere })
  }

  stop(type: 'invoke' | 'ok'): this {
    return this.record({ f: 'stop', type, workerId: this.proc.split('#')[0] as string })
  }

  row(id: string): AuditRow {
    const row = this.rows.get(id)
    if (!row) throw new Error(`There is no job ${id} in this story.`)
    return row
  }

  history(facts: Partial<Facts> = {}, final: ReadonlyMap<string, AuditRow> = this.rows): History {
    return { records: this.records, audit: this.audit, final, facts: { ...FACTS, ...facts } }
  }

  /** The same without one order: what real processes leave behind. */
  historyOfProcesses(facts: Partial<Facts> = {}): History {
    const places = new Map<string, number>()
    const records = this.records.map((record) => {
      const n = places.get(record.proc) ?? 0
      places.set(record.proc, n + 1)
      return { ...record, n }
    })
    const audit = this.audit.map(({ seq, at, id, before, after }) => ({ seq, at, id, before, after }))
    return { ...this.history({ slackMs: 5, ...facts }), records, audit }
  }

  #by(proc: string | undefined, record: Loose<SettleRecord>): this {
    const own = this.proc
    this.as(proc ?? own).record(record)
    return this.as(own)
  }

  #counters(id: string): Counters {
    return this.row(id).counters as Counters
  }

  #counted(id: string, name: keyof Counters, by: number): Counters {
    const counters = this.#counters(id)
    return { ...counters, [name]: counters[name] + by }
  }
}

export const NO_COUNTS: Counters = { starts: 0, errors: 0, timeouts: 0, lost: 0, snoozes: 0 }

const AGAIN = {
  state: 'ready',
  token: null,
  worker: null,
  leaseUntil: null,
  cancelReason: null,
  counters: NO_COUNTS,
  finishedAt: null,
  expiresAt: null,
  result: null,
} as const satisfies Partial<AuditRow>

const BLANK: AuditRow = { queue: 'mail', generation: 0, dueAt: 0, unique: null, ...AGAIN }

const FACTS: Facts = {
  drained: true,
  slackMs: 0,
  leaseMs: LEASE_MS,
  queues: { mail: MAIL, fast: { ...MAIL, discards: true } },
  limits: [],
  leaks: {},
  liveness: false,
}

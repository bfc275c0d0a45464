import assert from 'node:assert/strict'
import type { ClaimedJob, Job, JobState, NewJob } from '../../core/jobs/job.ts'
import type { ChangeAction } from '../../core/jobs/transitions.ts'
import type { Hold, HoldKind, HoldTarget } from '../../core/lanes/holds.ts'
import type { Verdict } from '../../core/policies/policy.ts'
import type { HoldCall } from '../../store/holds.ts'
import type { LimitFields, LimitTarget } from '../../store/limits.ts'
import type {
  ChangeCall,
  ChangeResult,
  ClaimCall,
  ClaimReply,
  ExpiredCall,
  ExpiredLease,
  ExtendResult,
  InsertResult,
  ListCall,
  Settlement,
  SettleResult,
  Source,
  Store,
} from '../../store/store.ts'
import { DAY, failure, HOUR, QUEUE, SPACE, START, tokenOf } from './samples.ts'

/** Writes one case of the suite. It gets a fresh, empty store and a clock that the case owns. */
export type StoreCase = (name: string, body: (scene: Scene) => Promise<void>) => void

/** A lease as settle and extend want it; a claimed job is one. Without a space it is of the sample one. */
export type Held = Pick<ClaimedJob, 'id' | 'token'> & { readonly space?: string }

/** A store and a virtual clock: every call carries the clock's time. Calls say only what matters to the case. */
export class Scene {
  readonly store: Store
  now: number = START
  #tokens = 0

  constructor(store: Store) {
    this.store = store
  }

  /** The same virtual time, through another handle. */
  through(store: Store): Scene {
    const other = new Scene(store)
    other.now = this.now
    other.#tokens = this.#tokens + 1_000_000
    return other
  }

  pass(ms: number): void {
    this.now += ms
  }

  token(): string {
    this.#tokens += 1
    return tokenOf(this.#tokens)
  }

  async insert(...jobs: readonly NewJob[]): Promise<readonly InsertResult[]> {
    return (await this.store.insert({ jobs, now: this.now })).results
  }

  async insertAgain(...jobs: readonly NewJob[]): Promise<readonly InsertResult[]> {
    return (await this.store.insert({ jobs, again: true, now: this.now })).results
  }

  /** A claim of everything ready in the sample queue, with what differs. */
  call(difference: Partial<ClaimCall> = {}): ClaimCall & { readonly now: number } {
    return {
      sources: [source()],
      limit: 1_000,
      workerId: 'worker-a',
      token: this.token(),
      leaseMs: 30_000,
      now: this.now,
      ...difference,
    }
  }

  claim(difference: Partial<ClaimCall> = {}): Promise<ClaimReply> {
    return this.store.claim(this.call(difference))
  }

  async take(difference: Partial<ClaimCall> = {}): Promise<readonly ClaimedJob[]> {
    return (await this.claim(difference)).jobs
  }

  /** Inserts one job and claims it. */
  async running(job: NewJob, difference: Partial<ClaimCall> = {}): Promise<ClaimedJob> {
    await this.insert(job)
    const sources = [source({ space: job.space, queue: job.queue })]
    const [claimed] = await this.take({ ids: [job.id], sources, ...difference })
    assert.ok(claimed, `job ${job.id} could not be claimed`)
    return claimed
  }

  /** Inserts one job, claims it and ends it as the verdict says. */
  async ended(job: NewJob, verdict: Verdict): Promise<ClaimedJob> {
    const held = await this.running(job)
    assert.equal((await this.settle(held, verdict)).status, 'ok')
    return held
  }

  async settle(held: Held, verdict: Verdict, more: Partial<Settlement> = {}): Promise<SettleResult> {
    const [result] = await this.settleAll([
      { space: held.space ?? SPACE, id: held.id, token: held.token, verdict, ...more },
    ])
    return result as SettleResult
  }

  async settleAll(settlements: readonly Settlement[]): Promise<readonly SettleResult[]> {
    return (await this.store.settle({ settlements, now: this.now })).results
  }

  async extend(leases: readonly Held[], leaseMs = 30_000): Promise<readonly ExtendResult[]> {
    const named = leases.map(({ space = SPACE, id, token }) => ({ space, id, token }))
    return (await this.store.extend({ leases: named, leaseMs, now: this.now })).results
  }

  async change(
    action: ChangeAction,
    target: ChangeCall['target'],
    difference: Partial<ChangeCall> = {},
  ): Promise<readonly ChangeResult[]> {
    const call: ChangeCall = { action, space: SPACE, target, failure: null, keepMs: DAY, now: this.now }
    return (await this.store.change({ ...call, ...difference })).results
  }

  async changeOne(action: ChangeAction, id: string, difference: Partial<ChangeCall> = {}): Promise<string> {
    const [result] = await this.change(action, { ids: [id] }, difference)
    assert.equal(result?.id, id)
    return result.status === 'refused' ? result.reason : result.status
  }

  async expired(difference: Partial<ExpiredCall> = {}): Promise<readonly ExpiredLease[]> {
    const call: ExpiredCall = { sources: [source()], workerIds: [], limit: 100, now: this.now }
    return (await this.store.expired({ ...call, ...difference })).leases
  }

  async find(id: string, space: string = SPACE): Promise<Job | null> {
    const { jobs } = await this.store.get({ space, ids: [id] })
    assert.equal(jobs.length, 1)
    return jobs[0] ?? null
  }

  async job(id: string, space: string = SPACE): Promise<Job> {
    const job = await this.find(id, space)
    assert.ok(job, `job ${id} is not in the store`)
    return job
  }

  async state(id: string, space: string = SPACE): Promise<JobState | 'none'> {
    return (await this.find(id, space))?.state ?? 'none'
  }

  async states(...ids: readonly string[]): Promise<(JobState | 'none')[]> {
    const { jobs } = await this.store.get({ space: SPACE, ids })
    return jobs.map((job) => job?.state ?? 'none')
  }

  async list(state: JobState, difference: Partial<ListCall> = {}): Promise<readonly Job[]> {
    const call: ListCall = { space: SPACE, queue: QUEUE, state, limit: 200, cursor: null }
    return (await this.store.list({ ...call, ...difference })).jobs
  }

  /** Says by hand what the limits of the sample queue are, or of one of its lanes. */
  async limit(fields: LimitFields | null, target: LimitTarget = { queue: QUEUE }): Promise<void> {
    const limits = [{ target, by: 'hand', fields }] as const
    await this.store.setLimits({ space: SPACE, limits, now: this.now })
  }

  /** Puts a hold on the sample queue, with what differs. */
  async hold(kind: HoldKind, difference: Partial<HoldCall['holds'][number]> = {}): Promise<Hold> {
    const hold = { ...HOLD, kind, ...difference }
    const { holds } = await this.store.hold({ holds: [hold], now: this.now })
    return holds[0] as Hold
  }

  async release(kind: HoldKind, target: Partial<HoldTarget> = {}): Promise<boolean> {
    const { space, queue, lane } = { ...HOLD, ...target }
    const { released } = await this.store.release({ holds: [{ kind, space, queue, lane }], now: this.now })
    return released[0] as boolean
  }

  async prune(limit = 1_000): Promise<number> {
    return (await this.store.prune({ limit, now: this.now })).pruned
  }

  /** Brings the sample, which is not in the store yet, into a state. Time passes only for its lease. */
  async inState(job: NewJob, state: JobState): Promise<void> {
    const waiting = { action: { cancelled: 'cancel', dead: 'bury' } } as const
    switch (state) {
      case 'delayed':
        await this.insert({ ...job, delayMs: HOUR })
        break
      case 'ready':
        await this.insert(job)
        break
      case 'running':
        await this.running(job)
        break
      case 'done':
      case 'failed':
        await this.ended(job, { ...DONE, to: state, failure: state === 'failed' ? failure('no') : null })
        break
      default:
        await this.insert(job)
        assert.equal(await this.changeOne(waiting.action[state], job.id, { space: job.space }), 'ok')
    }
    assert.equal(await this.state(job.id, job.space), state)
  }
}

const HOLD = { space: SPACE, queue: QUEUE, lane: null, reason: null, by: null, forMs: null } as const

const DONE: Verdict = {
  to: 'done',
  keepMs: DAY,
  delayMs: 0,
  count: null,
  refund: false,
  keepPlace: false,
  keepCancelledMs: DAY,
  result: null,
  failure: null,
}

/** The sample queue as a source, with what differs. */
export function source(difference: Partial<Source> = {}): Source {
  return { space: SPACE, queue: QUEUE, limit: 1_000, ...difference }
}

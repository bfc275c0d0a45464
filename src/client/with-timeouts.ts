import { StoreError } from '../core/errors.ts'
import type { ClaimedJob } from '../core/jobs/job.ts'
import { DEFAULT_POLICY, judge } from '../core/policies/policy.ts'
import type { Notifier } from '../notifier/notifier.ts'
import { Deadlines } from '../runtime/deadlines.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { ClaimCall, Store, StoreInTransaction } from '../store/store.ts'

/** Opening a store may bring its schema up to date, or wait for another process that does so. */
const OPEN_MS = 600_000

/** Leases are renewed in the same loop and must not run out meanwhile. */
const ATTEND_MS = 10_000

/** However short a lease or a patience is, a commit on a slow disk needs some time. */
const SHORTEST_MS = 1_000

export interface AnsweringStoreOptions {
  readonly runtime: Runtime
  /** How long a call may take. Longer than an adapter's own deadline, which knows better what happened. */
  readonly callMs: number
  /** How long an insert may take, if that is less. */
  readonly insertMs: number
}

export interface AnsweringStore extends Store {
  /** Waits for no answer any more: every call under way fails now, as if its time were over. */
  giveUp(): void
}

/**
 * The same store, with an answer to every call: one that takes too long fails with `STORE_UNKNOWN`, which every caller
 * can handle, and whatever the store says later is ignored. So neither a foreign store nor a driver that hangs can
 * stop a loop for ever. What is done inside a user's transaction is left alone: it waits on the user's connection, and
 * ends with that.
 */
export function answeringStore(store: Store, options: AnsweringStoreOptions): AnsweringStore {
  const { runtime, callMs } = options
  const deadlines = new Deadlines(runtime)
  /** The tokens of claims that were given up, and may yet bring jobs. */
  const overdue = new Set<string>()
  /** The workers that are known to be on the list. */
  const present = new Set<string>()
  const insertMs = Math.min(callMs, Math.max(SHORTEST_MS, options.insertMs))

  function inTime<Reply>(
    operation: keyof Store,
    ms: number,
    call: () => Promise<Reply>,
    late?: (reply: Reply) => void,
    over?: () => void,
  ): Promise<Reply> {
    return new Promise((resolve, reject) => {
      let isOver = false
      const end = deadlines.begin(ms, () => {
        isOver = true
        over?.()
        const message = `The store has not answered within ${ms} ms, or until it was closed (${operation}).`
        reject(new StoreError('STORE_UNKNOWN', message, { facts: { operation, ms } }))
      })
      const failed = (error: unknown): void => {
        end()
        reject(error as Error)
      }
      try {
        call().then((reply) => {
          end()
          if (isOver) late?.(reply)
          else resolve(reply)
        }, failed)
      } catch (error) {
        failed(error)
      }
    })
  }

  /** Sends what may bring jobs. When it is answered too late, they go back, unless the worker has got them meanwhile. */
  async function claiming<Reply>(
    operation: 'claim' | 'settle',
    claim: Pick<ClaimCall, 'token' | 'again'> | undefined,
    call: () => Promise<Reply>,
    jobsOf: (reply: Reply) => readonly ClaimedJob[],
  ): Promise<Reply> {
    if (!claim) return inTime(operation, callMs, call)
    const { token, again } = claim
    const late = (reply: Reply): void => {
      if (overdue.delete(token)) handBack(jobsOf(reply))
    }
    const reply = await inTime(operation, callMs, call, late, () => overdue.add(token))
    if (again && jobsOf(reply).length > 0) overdue.delete(token)
    return reply
  }

  /** Jobs of which nobody knows go back unrun. If that fails, their lease ends. */
  function handBack(jobs: readonly ClaimedJob[]): void {
    if (jobs.length === 0) return
    const settlements = jobs.map((job) => {
      const verdict = judge(DEFAULT_POLICY, job, { kind: 'handback', ran: false }, 0)
      return { space: job.space, id: job.id, token: job.token, verdict }
    })
    inTime('settle', callMs, () => store.settle({ settlements })).catch(() => {})
  }

  return {
    get capabilities() {
      return store.capabilities
    },
    ready: () => inTime('ready', OPEN_MS, () => store.ready()),
    migrate: () => inTime('migrate', OPEN_MS, () => store.migrate()),
    insert: (call) => inTime('insert', insertMs, () => store.insert(call)),
    claim: (call) =>
      claiming(
        'claim',
        call,
        () => store.claim(call),
        ({ jobs }) => jobs,
      ),
    // Of no use when the lease is over; and before that there shall be time for another try.
    extend: (call) =>
      inTime('extend', Math.min(callMs, Math.max(SHORTEST_MS, call.leaseMs / 2)), () => store.extend(call)),
    settle: (call) =>
      claiming(
        'settle',
        call.claim,
        () => store.settle(call),
        ({ claimed }) => claimed?.jobs ?? [],
      ),
    change: (call) => inTime('change', callMs, () => store.change(call)),
    expired: (call) => inTime('expired', callMs, () => store.expired(call)),
    get: (call) => inTime('get', callMs, () => store.get(call)),
    list: (call) => inTime('list', callMs, () => store.list(call)),
    count: (call) => inTime('count', callMs, () => store.count(call)),
    counts: (call) => inTime('counts', callMs, () => store.counts(call)),
    examine: () => inTime('examine', callMs, () => store.examine()),
    prune: (call) => inTime('prune', callMs, () => store.prune(call)),
    hold: (call) => inTime('hold', callMs, () => store.hold(call)),
    release: (call) => inTime('release', callMs, () => store.release(call)),
    holds: (call) => inTime('holds', callMs, () => store.holds(call)),
    setLimits: (call) => inTime('setLimits', callMs, () => store.setLimits(call)),
    limits: (call) => inTime('limits', callMs, () => store.limits(call)),
    lanes: (call) => inTime('lanes', callMs, () => store.lanes(call)),
    async attend(call) {
      const { id } = call.worker
      const late = (): void => {
        // The worker may have stopped since, and then nobody else would take it off the list again.
        if (!present.has(id)) inTime('depart', callMs, () => store.depart({ workerId: id })).catch(() => {})
      }
      await inTime('attend', Math.min(callMs, ATTEND_MS), () => store.attend(call), late)
      present.add(id)
    },
    depart(call) {
      present.delete(call.workerId)
      return inTime('depart', callMs, () => store.depart(call))
    },
    workers: (call) => inTime('workers', callMs, () => store.workers(call)),
    note: (call) => inTime('note', callMs, () => store.note(call)),
    notes: (call) => inTime('notes', callMs, () => store.notes(call)),
    putRecords: (call) => inTime('putRecords', callMs, () => store.putRecords(call)),
    getRecords: (call) => inTime('getRecords', callMs, () => store.getRecords(call)),
    listRecords: (call) => inTime('listRecords', callMs, () => store.listRecords(call)),
    removeRecords: (call) => inTime('removeRecords', callMs, () => store.removeRecords(call)),
    putSchedules: (call) => inTime('putSchedules', callMs, () => store.putSchedules(call)),
    removeSchedules: (call) => inTime('removeSchedules', callMs, () => store.removeSchedules(call)),
    pauseSchedules: (call) => inTime('pauseSchedules', callMs, () => store.pauseSchedules(call)),
    resumeSchedules: (call) => inTime('resumeSchedules', callMs, () => store.resumeSchedules(call)),
    getSchedules: (call) => inTime('getSchedules', callMs, () => store.getSchedules(call)),
    listSchedules: (call) => inTime('listSchedules', callMs, () => store.listSchedules(call)),
    dueSchedules: (call) => inTime('dueSchedules', callMs, () => store.dueSchedules(call)),
    fireSchedules: (call) => inTime('fireSchedules', callMs, () => store.fireSchedules(call)),
    moveRuns: (call) => inTime('moveRuns', callMs, () => store.moveRuns(call)),
    getRuns: (call) => inTime('getRuns', callMs, () => store.getRuns(call)),
    listRuns: (call) => inTime('listRuns', callMs, () => store.listRuns(call)),
    countRuns: (call) => inTime('countRuns', callMs, () => store.countRuns(call)),
    getGroups: (call) => inTime('getGroups', callMs, () => store.getGroups(call)),
    outcomes: (call) => inTime('outcomes', callMs, () => store.outcomes(call)),
    openMembers: (call) => inTime('openMembers', callMs, () => store.openMembers(call)),
    tell: (call) => inTime('tell', callMs, () => store.tell(call)),
    addMembers: (call) => inTime('addMembers', callMs, () => store.addMembers(call)),
    auditGroups: (call) => inTime('auditGroups', callMs, () => store.auditGroups(call)),
    ...(store.within ? { within: (tx: unknown) => store.within?.(tx) as StoreInTransaction } : {}),
    ...(store.notifier ? { notifier: () => store.notifier?.() as Notifier } : {}),
    close: () => inTime('close', callMs, () => store.close()),
    giveUp: () => deadlines.giveUpAll(),
  }
}

import { attemptLine } from '../core/jobs/attempts.ts'
import { reasonFailure } from '../core/jobs/failure.ts'
import { type ClaimedJob, type Failure, isFinal, type JobState } from '../core/jobs/job.ts'
import { isDiscarded, judge, type Policy, type Verdict } from '../core/policies/policy.ts'
import { mergeHints, type Notifier, namingHints, type ToldJob, workHint } from '../notifier/notifier.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { LONGEST_RETRY_MS } from '../runtime/supervise.ts'
import type {
  ExpiredLease,
  SettleCall,
  Settlement,
  SettleReply,
  Store,
  WorkerPresence,
} from '../store/store.ts'

/** Leases looked at in one call, and calls in one turn: a mass expiry is worked off in portions. */
const PAGE = 500
const PAGES = 10
/** How many of the live processes that handle a queue look for dead workers every second; the others rely on them. */
const ON_DUTY = 3
/** A process that is not on duty checks this often that those on duty live. */
const CHECK_MS = 2_000
/** And looks at all workers this often, because they come and go. */
const RELY_MS = 10_000
/** A worker whose last heartbeat is this far from the own one is not counted on: three beats of the longest interval. */
const SILENT_MS = 30_000

/** The workers that share a store, and so its connection. */
const MATES = new WeakMap<Store, Set<string>>()

export interface RescuerOptions {
  readonly store: Store
  readonly notifier: Notifier
  readonly runtime: Runtime
  readonly workerId: string
  readonly leaseMs: number
  /** How long a process must be known to be gone. Long enough for one that only lost its connection to come back. */
  readonly graceMs: number
  /** Only these are judged; what others handle is left to them. */
  readonly sources: () => readonly { readonly space: string; readonly queue: string }[]
  readonly policyOf: (job: ClaimedJob) => Policy
  /** What the store's clock says now, as far as anybody here knows. */
  readonly storeTime: () => number
  readonly onRescued: (job: ClaimedJob, failure: Failure, state: JobState, isDiscarded: boolean) => void
}

/**
 * Gives back the jobs of workers that died. Two signs: the lease ran out, or the store knows that the
 * process is gone. Any worker may do it, several at once do no harm: only one can end a lease, and the holder who
 * comes back after it is refused.
 */
export class Rescuer {
  readonly #options: RescuerOptions
  /** Since when each worker has been seen as gone, without a break. */
  readonly #goneSince = new Map<string, number>()
  /** Since when the store has not answered; null when it does. */
  #outageSince: number | null = null
  #calmUntil = 0
  #isOneOfFew = true
  /** For each queue that this worker leaves to others: the workers on duty. Null: it looks itself. */
  #reliedOn: readonly (readonly string[])[] | null = null
  /** Until then it relies on them. */
  #relyUntil = 0

  constructor(options: RescuerOptions) {
    this.#options = options
    MATES.set(options.store, MATES.get(options.store) ?? new Set())
  }

  /** Somebody else in this process could not reach the store: the living may not have been able to renew. */
  noticeOutage(since: number = this.#options.runtime.mono()): void {
    this.#outageSince ??= since
  }

  /** Whether this worker is one of the few that look after what all workers of its space share, as far as it knows. */
  get isOneOfFew(): boolean {
    return this.#isOneOfFew
  }

  /** One look. Returns how long to wait until the next. */
  async turn(): Promise<number> {
    const { store, runtime, leaseMs } = this.#options
    const sources = this.#options.sources()
    const quickMs = store.capabilities.liveness ? 1_000 : Math.min(5_000, leaseMs / 3)
    const jitter = (): number => 0.75 + runtime.random() / 2
    if (sources.length === 0) return quickMs
    try {
      if (this.#reliedOn !== null && (await this.#isOnDutyAlive(this.#reliedOn))) return CHECK_MS * jitter()
      const { onDuty, gone } = await this.#lookAround()
      if (this.#outageSince !== null) {
        // This proves that the store answers again.
        await store.expired({ sources: sources.slice(0, 1), workerIds: [], limit: 1 })
        this.#recovered(runtime.mono() - this.#outageSince)
      }
      if (runtime.mono() < this.#calmUntil) return quickMs
      await this.#rescue(gone)
      return Math.min((onDuty ? quickMs : CHECK_MS) * jitter(), onDuty ? this.#untilGraceEndsMs() : Infinity)
    } catch (error) {
      this.noticeOutage()
      throw error
    }
  }

  /**
   * Nobody could renew while the store was away. Let the living do so before anyone is declared dead, or an outage
   * would be followed by a storm of needless rescues. A hiccup costs nobody a lease, and a store that has one now
   * and then must not keep the dead from being found.
   */
  #recovered(lastedMs: number): void {
    const { runtime, leaseMs } = this.#options
    this.#outageSince = null
    if (lastedMs < leaseMs / 6) return
    this.#calmUntil = runtime.mono() + Math.max(leaseMs / 2, LONGEST_RETRY_MS + 500)
    this.#goneSince.clear()
  }

  async #lookAround(): Promise<{ onDuty: boolean; gone: string[] }> {
    const { store, runtime, workerId, graceMs } = this.#options
    if (!store.capabilities.liveness) return { onDuty: true, gone: [] }
    const { workers } = await store.workers({})
    const now = runtime.mono()
    const mates = MATES.get(store)?.add(workerId) ?? []
    for (const id of mates) if (!workers.some((worker) => worker.id === id)) MATES.get(store)?.delete(id)
    const goneNow = new Set(workers.filter((worker) => worker.life === 'gone').map((worker) => worker.id))
    for (const id of this.#goneSince.keys()) if (!goneNow.has(id)) this.#goneSince.delete(id)
    for (const id of goneNow) if (!this.#goneSince.has(id)) this.#goneSince.set(id, now)

    const gone = [...this.#goneSince].filter(([, since]) => now - since >= graceMs).map(([id]) => id)
    const sources = this.#options.sources()
    const peers = peersOf(workers, workerId)
    this.#isOneOfFew = sources.some(({ space }) =>
      isIn(onDutyAmong(peers, this.#options, (peer) => peer.space === space)),
    )
    // A worker rescues only what it handles, so each queue needs workers of its own on duty.
    const duties = sources.map(({ space, queue }) => {
      const handles = (peer: WorkerPresence): boolean => peer.space === space && peer.queues.includes(queue)
      return onDutyAmong(peers, this.#options, handles)
    })
    const onDuty = duties.some(isIn)
    // Every process looks while a death is recent, in case those on duty hang.
    const isRecent = [...this.#goneSince.values()].some((since) => now - since < SILENT_MS)
    this.#reliedOn =
      onDuty || isRecent ? null : duties.flatMap(({ ids, isChecked }) => (isChecked ? [] : [ids]))
    this.#relyUntil = now + RELY_MS * (0.75 + runtime.random() / 2)
    return { onDuty, gone }
  }

  /**
   * Whether the looking can be left to others: those on duty may have died together. A look at them alone is cheap, however
   * many workers there are.
   */
  async #isOnDutyAlive(duties: readonly (readonly string[])[]): Promise<boolean> {
    const { store, runtime, workerId } = this.#options
    if (this.#outageSince !== null || runtime.mono() >= this.#relyUntil) return false
    if (duties.length === 0) return true
    const { workers } = await store.workers({ ids: [...new Set([workerId, ...duties.flat()])] })
    const live = new Set(peersOf(workers, workerId).map(({ id }) => id))
    return duties.every((ids) => ids.some((id) => live.has(id)))
  }

  /** When the first of those that were seen as gone counts as dead: looking exactly then saves half a second on average. */
  #untilGraceEndsMs(): number {
    const { runtime, graceMs } = this.#options
    const now = runtime.mono()
    const ends = [...this.#goneSince.values()].map((since) => since + graceMs).filter((at) => at > now)
    return Math.ceil(Math.min(...ends) - now)
  }

  async #rescue(gone: readonly string[]): Promise<void> {
    const { store } = this.#options
    const sources = this.#options.sources()
    for (let page = 0; page < PAGES; page++) {
      const { leases } = await store.expired({ sources, workerIds: gone, limit: PAGE })
      if (leases.length === 0) return
      const freed = await this.#giveBack(leases)
      if (leases.length < PAGE || freed === 0) return
    }
  }

  async #giveBack(leases: readonly ExpiredLease[]): Promise<number> {
    const { notifier, runtime, policyOf, storeTime, onRescued } = this.#options
    const judged = leases.map((lease) => {
      const failure = reasonFailure(
        'lost',
        lease.over
          ? `The lease of worker ${lease.workerId} ran out before the job ended.`
          : `The process of worker ${lease.workerId} is gone.`,
      )
      return { failure, verdict: judge(policyOf(lease), lease, { kind: 'lost', failure }, runtime.random()) }
    })
    // If the answer is lost this throws, and the next turn looks again: what this call rescued is not listed any more,
    // nobody is told of it, and polling finds the jobs that it made ready.
    const { results } = await this.#settle(leases, {
      settlements: leases.map((lease, index) => {
        const { verdict, failure } = judged[index] as (typeof judged)[number]
        const { space, id, token, over } = lease
        return {
          space,
          id,
          token,
          verdict,
          onlyIfExpired: over,
          rescue: true,
          ...this.#noteOf(lease, failure, verdict),
        }
      }),
    })

    let freed = 0
    const named: ToldJob[] = []
    leases.forEach((lease, index) => {
      const result = results[index]
      const { failure, verdict } = judged[index] as (typeof judged)[number]
      // Its holder, or another rescuer, may have been first, and then there was nothing to rescue.
      if (result?.status !== 'ok') return
      freed++
      onRescued(lease, failure, result.state, isDiscarded(result.state, verdict))
      if (result.state === 'ready' || result.state === 'delayed') {
        if (notifier.notices === undefined) {
          notifier.publish([workHint({ ...lease, dueAt: runtime.now() + verdict.delayMs })])
        } else {
          const isDue = result.state === 'ready'
          named.push({ ...lease, dueAt: isDue ? lease.dueAt : storeTime() + verdict.delayMs })
        }
      } else {
        notifier.publish([{ kind: 'settled', space: lease.space, queue: lease.queue }])
      }
    })
    if (named.length > 0) notifier.publish(namingHints(named))
    return freed
  }

  /**
   * The line that a lost run leaves. Only if its process is gone: of a lease that seems to be over the holder may be just about
   * to renew it, and to write lines of its own. If the run had told something its numbers are taken, and this line is passed
   * over; then the job's failure alone tells of it.
   */
  #noteOf(lease: ExpiredLease, failure: Failure, verdict: Verdict): Pick<Settlement, 'note'> {
    if (lease.over || (isFinal(verdict.to) && verdict.keepMs === null)) return {}
    const line = attemptLine(lease, failure, verdict.to)
    if (line === null) return {}
    const { runtime } = this.#options
    return { note: { progress: null, lines: [{ n: 1, at: runtime.now(), level: 'error', ...line }] } }
  }

  /** With notices nobody looks for long on his own, so a rescue that may have happened is told of without ids. */
  async #settle(leases: readonly ExpiredLease[], call: SettleCall): Promise<SettleReply> {
    const { store, notifier } = this.#options
    try {
      return await store.settle(call)
    } catch (error) {
      if (notifier.notices !== undefined) notifier.publish(mergeHints(leases.map((lease) => workHint(lease))))
      throw error
    }
  }
}

/**
 * The workers that can be relied on, by id. One that only stopped sending heartbeats may be on the list for an hour, and longer
 * when the store's clock was set back: then its last heartbeat is the newest, so they are compared with the own one. Of a
 * worker whose life the store cannot tell nobody knows whether it can tell that of others, unless this is so of the own one.
 */
function peersOf(workers: readonly WorkerPresence[], workerId: string): readonly WorkerPresence[] {
  const own = workers.find(({ id }) => id === workerId)
  const now = own?.seenAt ?? Math.max(...workers.map(({ seenAt }) => seenAt))
  return workers
    .filter(({ life }) => life === 'here' || (life === 'unsure' && own?.life !== 'here'))
    .filter(({ seenAt }) => Math.abs(now - seenAt) < SILENT_MS)
    .sort((a, b) => (a.id < b.id ? -1 : 1))
}

/** The workers on duty for a queue, or for a space. */
interface DutyList {
  readonly ids: readonly string[]
  readonly isIn: boolean
  /** An earlier worker checks for this one: both live by the same connection. */
  readonly isChecked: boolean
}

/**
 * The first {@link ON_DUTY} workers, in as many processes and on as many hosts as there are: workers of one process die together, and
 * so do processes of one host. Two hosts may have the same name, so this is a preference and no more. A worker that is not
 * on the list yet is on duty.
 */
function onDutyAmong(
  peers: readonly WorkerPresence[],
  { workerId, store }: Pick<RescuerOptions, 'workerId' | 'store'>,
  counts: (peer: WorkerPresence) => boolean,
): DutyList {
  const own = peers.find(({ id }) => id === workerId)
  const candidates = peers.filter((peer) => counts(peer) || peer === own)
  const nth = counter()
  const order = candidates.map(({ id, host, pid }) => {
    const inProcess = nth(`${host} ${pid}`)
    return { id, inProcess, onHost: nth(`${inProcess} on ${host}`) }
  })
  const ids = order
    .sort((a, b) => a.inProcess - b.inProcess || a.onHost - b.onHost)
    .slice(0, ON_DUTY)
    .map(({ id }) => id)
  const first = candidates.find(({ id }) => MATES.get(store)?.has(id))
  return { ids, isIn: own === undefined || ids.includes(workerId), isChecked: first !== own }
}

/** Counts how often it was given each name before. */
function counter(): (name: string) => number {
  const counts = new Map<string, number>()
  return (name) => {
    const count = counts.get(name) ?? 0
    counts.set(name, count + 1)
    return count
  }
}

function isIn(list: DutyList): boolean {
  return list.isIn
}

import { isFinal, type Job, type JobState } from '../../core/jobs/job.ts'
import { isLiveWorker } from '../../core/jobs/unhandled.ts'
import { covers } from '../../core/lanes/holds.ts'
import { DEFAULT_LANE } from '../../core/lanes/lanes.ts'
import { laneLimitOf, overlaid, queueLimitsOf } from '../../core/lanes/limit-fields.ts'
import { type Rate, spacingUs } from '../../core/lanes/rate.ts'
import type { LimitRecord } from '../../store/limits.ts'
import type { Store, WorkerPresence } from '../../store/store.ts'
import { viewOf } from '../jobs/view.ts'
import { holdViews } from '../queues/holds.ts'
import { rateView } from '../queues/limits.ts'
import { type Explaining, explainGroup, explainRun, flowCausesOf } from './flows.ts'
import { type Cause, textOf, type WorkerSeen } from './reasons.ts'

/** Why a job is where it is; or a run of a flow, or a group. */
export interface Explanation {
  readonly id: string
  /** Null when there is no such thing. */
  readonly kind: 'job' | 'run' | 'group' | null
  /** Of a job, or of a run; null when there is neither. */
  readonly state: JobState | null
  /** The queue of a job. */
  readonly queue: string | null
  /** The flow of a run. */
  readonly flow: string | null
  readonly lane: string | null
  /** All that keeps it from starting, or what became of it: the most telling first. Never empty. */
  readonly causes: readonly (Cause & {
    /** The same for people, in one sentence. */
    readonly text: string
  })[]
  /** All of that for people: the sentences of the causes. */
  readonly summary: string
}

/** How many jobs are named. */
const NAMED = 10
/** Queues that share a limit and are asked what they run. */
const SHARERS = 10

/** What a look at the store gave. */
interface Facts {
  readonly job: Job
  readonly lane: string
  /** By the store's clock. */
  readonly now: number
  readonly store: Store
}

/** Says why a job is not running, a run does not move on, or a group has not fired. It reads and changes nothing. */
export async function explainAny(store: Store, space: string, id: string): Promise<Explanation> {
  const env = explaining(store, space)
  const job = (await store.get({ space, ids: [id] })).jobs[0]
  if (job) {
    const { state, queue, lane } = job
    return explained(id, await env.causesOf(job), { kind: 'job', state, queue, lane })
  }
  const run = (await store.getRuns({ space, ids: [id] })).runs[0]
  if (run)
    return explained(id, await explainRun(env, run), { kind: 'run', state: run.status, flow: run.flow })
  const group = (await store.getGroups({ space, ids: [id] })).groups[0]
  if (group) return explained(id, await explainGroup(env, group), { kind: 'group' })
  return explained(id, [{ cause: 'unknown-job' }], {})
}

function explaining(store: Store, space: string): Explaining {
  const env: Explaining = {
    store,
    space,
    seen,
    textOf,
    causesOf: async (job) => [...(await causesOf(store, job)), ...(await flowCausesOf(env, job))],
  }
  return env
}

function explained(id: string, causes: readonly Cause[], facts: Partial<Explanation>): Explanation {
  return {
    id,
    kind: null,
    state: null,
    queue: null,
    flow: null,
    lane: null,
    ...facts,
    causes: causes.map((cause) => ({ ...cause, text: textOf(cause) })),
    summary: causes.map(textOf).join(' '),
  }
}

async function causesOf(store: Store, job: Job): Promise<readonly Cause[]> {
  const { space, queue } = job
  const lane = job.lane ?? DEFAULT_LANE
  if (isFinal(job.state)) {
    const { finishedAt, failure } = viewOf(job)
    return [{ cause: 'finished', state: job.state, at: finishedAt as Date, failure }]
  }
  const [{ workers }, { holds }, { limits }, meters] = await Promise.all([
    store.workers({ space }),
    store.holds({ space }),
    store.limits({ space, queue }),
    store.lanes({ space, queue, lanes: [lane], limit: 1 }),
  ])
  const facts: Facts = { job, lane, now: meters.now, store }
  const serving = workers
    .filter((worker) => worker.queues.includes(queue))
    .map((one) => seen(one, meters.now))
  if (job.state === 'running') return [leased(facts, workers), ...unserved(serving)]

  const held = holdViews(holds.filter((one) => covers(one, { space, queue, lane }))).map(
    (hold) => ({ cause: 'held', hold }) as const,
  )
  if (job.state === 'delayed' && job.dueAt > meters.now) {
    const { dueAt, failure } = viewOf(job)
    return [{ cause: 'not-due', until: dueAt, failure }, ...held, ...unserved(serving)]
  }
  const limited = meters.queue === null ? [] : await limitedBy(facts, limits, meters)
  const first = [...held, ...unserved(serving), ...limited]
  const live = serving.filter(({ isLive }) => isLive)
  const busy: Cause[] =
    live.length > 0 && live.every(({ running, concurrency }) => running >= concurrency)
      ? [{ cause: 'workers-busy', workers: live.slice(0, NAMED) }]
      : []
  const all = [...first, ...busy, ...(await behind(facts))]
  return all.length > 0 ? all : [{ cause: 'any-moment', workers: live.slice(0, NAMED) }]
}

function leased({ job, now }: Facts, workers: readonly WorkerPresence[]): Cause {
  const holder = workers.find(({ id }) => id === job.worker)
  return {
    cause: 'leased',
    worker: job.worker as string,
    seen: holder ? seen(holder, now) : null,
    since: new Date(job.startedAt as number),
    until: new Date(job.leaseUntil as number),
    isOver: (job.leaseUntil as number) <= now,
    cancelReason: job.cancelReason,
  }
}

/** A worker as it was seen last, and whether it lives. */
export function seen(worker: WorkerPresence, now: number): WorkerSeen {
  const { id, host, pid, running, concurrency, seenAt } = worker
  return { id, host, pid, running, concurrency, seenAt: new Date(seenAt), isLive: isLiveWorker(worker, now) }
}

function unserved(serving: readonly WorkerSeen[]): Cause[] {
  if (serving.some(({ isLive }) => isLive)) return []
  return [{ cause: 'no-worker', gone: serving.slice(0, NAMED) }]
}

/** What the limits of a queue, of a lane and of what is shared keep a ready job from. */
async function limitedBy(
  facts: Facts,
  records: readonly LimitRecord[],
  meters: Awaited<ReturnType<Store['lanes']>>,
): Promise<Cause[]> {
  const { job, lane, now, store } = facts
  const { space, queue } = job
  const fieldsOf = (is: (target: LimitRecord['target']) => boolean): ReturnType<typeof overlaid> => {
    const record = records.find(({ target }) => is(target))
    return overlaid(record?.declared ?? null, record?.changed ?? null)
  }
  const limits = queueLimitsOf(fieldsOf((target) => 'queue' in target && target.lane === undefined))
  const limit = laneLimitOf(
    limits.lanes,
    fieldsOf((target) => 'queue' in target && target.lane === lane),
  )
  const { running = 0, startsAt = 0, occupant = null } = meters.lanes[0] ?? {}
  const causes: Cause[] = []

  const waits = laterBy(limit.rate, startsAt, job.cost)
  if (waits > now) {
    causes.push({
      cause: 'lane-waits',
      lane,
      until: new Date(waits),
      rate: limit.rate && rateView(limit.rate),
    })
  }
  if (limit.strict && occupant !== null && occupant !== job.id) {
    const { jobs } = await store.get({ space, ids: [occupant] })
    const head = jobs[0] ?? null
    const until = head?.state === 'delayed' ? new Date(head.dueAt) : null
    causes.push({ cause: 'occupied', lane, job: occupant, state: head?.state ?? null, until })
  }
  if (!limit.strict && limit.concurrency !== null && running >= limit.concurrency) {
    const jobs = await runningIn(store, space, queue, lane)
    causes.push({ cause: 'lane-full', lane, concurrency: limit.concurrency, running, jobs })
  }

  const own = meters.queue as NonNullable<typeof meters.queue>
  const ownAt = laterBy(limits.rate, own.startsAt, job.cost)
  if (limits.rate && ownAt > now) {
    causes.push({ cause: 'rate', shared: null, until: new Date(ownAt), rate: rateView(limits.rate) })
  }
  if (limits.concurrency !== null && own.running >= limits.concurrency) {
    const jobs = await runningIn(store, space, queue)
    causes.push({ cause: 'queue-full', concurrency: limits.concurrency, running: own.running, jobs })
  }
  if (limits.shared !== null && meters.shared !== null) {
    causes.push(...(await sharedBy(facts, limits.shared, meters.shared)))
  }
  return causes
}

/** A limit that queues share, and which queues these are. */
export async function sharersOf(
  store: Pick<Store, 'limits'>,
  space: string,
  name: string,
): Promise<
  Pick<ReturnType<typeof queueLimitsOf>, 'concurrency' | 'rate'> & { readonly queues: readonly string[] }
> {
  const { limits: all } = await store.limits({ space })
  const record = all.find(({ target }) => 'shared' in target && target.shared === name)
  const { concurrency, rate } = queueLimitsOf(overlaid(record?.declared ?? null, record?.changed ?? null))
  const queues = all.flatMap(({ target, declared, changed }) =>
    'queue' in target && target.lane === undefined && overlaid(declared, changed).shared === name
      ? [target.queue]
      : [],
  )
  return { concurrency, rate, queues }
}

async function sharedBy(
  { job, now, store }: Facts,
  name: string,
  meter: { readonly running: number; readonly startsAt: number },
): Promise<Cause[]> {
  const { concurrency, rate, queues } = await sharersOf(store, job.space, name)
  const causes: Cause[] = []
  const at = laterBy(rate, meter.startsAt, job.cost)
  if (rate && at > now)
    causes.push({ cause: 'rate', shared: name, until: new Date(at), rate: rateView(rate) })
  if (concurrency !== null && meter.running >= concurrency) {
    const jobs = await Promise.all(
      queues.slice(0, SHARERS).map((queue) => runningIn(store, job.space, queue)),
    )
    causes.push({
      cause: 'shared-full',
      shared: name,
      concurrency,
      running: meter.running,
      queues,
      jobs: jobs.flat().slice(0, NAMED),
    })
  }
  return causes
}

/** Who is before it in its lane, as far as one short page tells. */
async function behind({ job, lane, store }: Facts): Promise<Cause[]> {
  const { space, queue } = job
  const { jobs } = await store.list({
    space,
    queue,
    state: 'ready',
    where: { lane },
    limit: NAMED,
    cursor: null,
  })
  const place = jobs.findIndex(({ id }) => id === job.id)
  // Not among so few: it was not made ready yet, or has just been taken.
  if (place === 0 || (place < 0 && jobs.length < NAMED)) return []
  const ahead = jobs.slice(0, place < 0 ? NAMED : place).map(({ id }) => id)
  return [{ cause: 'behind', lane, jobs: ahead, isMore: place < 0 }]
}

async function runningIn(store: Store, space: string, queue: string, lane?: string): Promise<string[]> {
  const where = lane === undefined ? {} : { lane }
  const { jobs } = await store.list({ space, queue, state: 'running', where, limit: NAMED, cursor: null })
  return jobs.map(({ id }) => id)
}

/** When a job that costs more may start, if one of cost 1 may at `at`. */
function laterBy(rate: Rate | null, at: number, cost: number): number {
  if (rate === null || at === 0) return at
  return at + Math.ceil(((Math.min(cost, rate.burst) - 1) * spacingUs(rate)) / 1_000)
}

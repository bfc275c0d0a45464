import type { ClaimedJob, Job, JobState, NewJob, UniqueScope } from '../../core/job.ts'
import { listOf, numberOf, type Reply, textOf, toUuid, writeId } from './bytes.ts'

/** What most jobs do not have, as `lua/records.ts` names it. */
export interface More {
  readonly p?: number
  readonly d?: number
  readonly h?: string
  readonly o?: string
  readonly l?: string
  readonly s?: 1
  readonly a?: number
  readonly c?: number
  readonly g?: readonly [group: string, n: number]
  readonly u?: readonly [key: string, scope: UniqueScope]
  readonly n?: number
  readonly st?: number
  readonly er?: number
  readonly ti?: number
  readonly lo?: number
  readonly sn?: number
  readonly t?: string
  readonly w?: string
  readonly b?: number
  readonly r?: string
  readonly f?: string
  readonly k?: string
  readonly z?: JobState
  readonly fi?: number
  readonly ex?: number
}

interface Content {
  readonly enqueuedAt: number
  readonly more: More
  readonly payload: string
}

const NOTHING: More = Object.freeze({})

/** Takes a record apart that stands at a place in these bytes. */
export function readRecord(bytes: Buffer, from = 0, to: number = bytes.length): Content {
  const enqueuedAt = bytes.readUIntBE(from + 5, 6)
  if (bytes[from] === 0) return { enqueuedAt, more: NOTHING, payload: bytes.toString('utf8', from + 11, to) }
  const end = from + 15 + bytes.readUInt32BE(from + 11)
  const more = JSON.parse(bytes.toString('utf8', from + 15, end)) as More
  return { enqueuedAt, more, payload: bytes.toString('utf8', end, to) }
}

/** Of which queue a claimed job is, and under which token. */
export interface ClaimedFrom {
  readonly space: string
  readonly queue: string
  readonly token: string
}

/** What a worker gets of a job. The start of the lease that lasts is not in its record yet. */
export function claimedOf(id: string, { enqueuedAt, more, payload }: Content, from: ClaimedFrom): ClaimedJob {
  return {
    id,
    space: from.space,
    queue: from.queue,
    payload,
    headers: more.h ?? null,
    priority: more.p ?? 0,
    overrides: more.o ?? null,
    lane: more.l ?? null,
    dueAt: more.d ?? enqueuedAt,
    enqueuedAt,
    generation: more.n ?? 0,
    starts: (more.st ?? 0) + 1,
    errors: more.er ?? 0,
    timeouts: more.ti ?? 0,
    lost: more.lo ?? 0,
    snoozes: more.sn ?? 0,
    token: from.token,
  }
}

/** Adds what a claim brought: id, length and record of each job, one after the other. */
export function readClaimedJobs(bytes: Buffer, claimedFrom: ClaimedFrom, jobs: ClaimedJob[]): void {
  for (let at = 0; at < bytes.length; ) {
    const from = at + 20
    const to = from + bytes.readUInt32BE(at + 16)
    jobs.push(claimedOf(toUuid(bytes, at), readRecord(bytes, from, to), claimedFrom))
    at = to
  }
}

/** A job as it is shown: `lua/reads.ts` says how it comes. */
export function jobOf(
  shown: Reply,
  { space, queue }: { readonly space: string; readonly queue: string },
): Job {
  const [id, stateText, record, token, worker, started, till] = listOf(shown)
  const { enqueuedAt, more, payload } = readRecord(record as Buffer)
  const state = textOf(stateText) as JobState
  const isRunning = state === 'running'
  return {
    id: toUuid(id as Buffer),
    space,
    queue,
    state,
    payload,
    headers: more.h ?? null,
    priority: more.p ?? 0,
    overrides: more.o ?? null,
    lane: more.l ?? null,
    strict: more.s === 1,
    cost: more.c ?? 1,
    member: more.g ? { group: more.g[0], n: more.g[1] } : null,
    dueAt: more.d ?? enqueuedAt,
    enqueuedAt,
    startedAt: isRunning ? numberOf(started) : (more.b ?? null),
    finishedAt: more.fi ?? null,
    expiresAt: more.ex ?? null,
    generation: more.n ?? 0,
    starts: (more.st ?? 0) + (isRunning ? 1 : 0),
    errors: more.er ?? 0,
    timeouts: more.ti ?? 0,
    lost: more.lo ?? 0,
    snoozes: more.sn ?? 0,
    token: isRunning ? textOf(token) : (more.t ?? null),
    worker: isRunning ? textOf(worker) : (more.w ?? null),
    leaseUntil: isRunning ? numberOf(till) : null,
    cancelReason: more.k ?? null,
    uniqueKey: more.u?.[0] ?? null,
    uniqueScope: more.u?.[1] ?? null,
    result: more.r ?? null,
    failure: more.f ?? null,
  }
}

/** What a new job has beside its payload, as JSON; empty if it has nothing. */
export function moreOf(job: NewJob): string {
  const { priority, headers, overrides, lane, strict, cost, member, delayMs, runAt, unique } = job
  const isPlain =
    priority === 0 &&
    headers === null &&
    overrides === null &&
    lane === null &&
    !strict &&
    cost === 1 &&
    member === null &&
    delayMs === 0 &&
    runAt === null &&
    unique === null
  return isPlain ? '' : JSON.stringify(draftOf(job))
}

interface Draft {
  readonly x: More
  readonly delay?: number
  readonly runAt?: number
  readonly unique?: NewJob['unique']
}

function draftOf({
  priority,
  headers,
  overrides,
  lane,
  strict,
  cost,
  member,
  delayMs,
  runAt,
  unique,
}: NewJob): Draft {
  const x: More = {
    ...(priority !== 0 && { p: priority }),
    ...(headers !== null && { h: headers }),
    ...(overrides !== null && { o: overrides }),
    ...(lane !== null && { l: lane }),
    ...(strict && { s: 1 as const }),
    ...(cost !== 1 && { c: cost }),
    ...(member !== null && { g: [member.group, member.n] as const }),
  }
  return {
    x,
    ...(delayMs !== 0 && { delay: delayMs }),
    ...(runAt !== null && { runAt }),
    ...(unique !== null && { unique }),
  }
}

/** A new job inside of something else that is sent as JSON. */
export function sentJob(job: NewJob): Record<string, unknown> {
  return { id: job.id, space: job.space, queue: job.queue, payload: job.payload, ...draftOf(job) }
}

/** Ids one after the other. */
export function joined(ids: readonly string[]): Buffer {
  const bytes = Buffer.allocUnsafe(16 * ids.length)
  for (const [n, id] of ids.entries()) writeId(bytes, id, 16 * n)
  return bytes
}

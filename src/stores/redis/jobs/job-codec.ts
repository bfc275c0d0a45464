import type { ClaimedJob, Job, JobState, NewJob, UniqueScope } from '../../../core/jobs/job.ts'
import { listOf, numberOf, type Reply, textOf, toUuid, writeId } from '../connection/bytes.ts'

/** What most jobs do not have, as `lua/records.ts` names it. */
export interface More {
  readonly p?: number
  readonly d?: number
  readonly h?: string
  readonly o?: string
  readonly l?: string
  readonly s?: 1
  readonly a?: number
  readonly e?: number
  readonly c?: number
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

/** Of which group a job is a member, and its number there. */
type Place = readonly [group: string, n: number]

interface Content {
  readonly enqueuedAt: number
  readonly member: Place | null
  readonly more: More
  readonly payload: string
}

const NOTHING: More = Object.freeze({})

/** Takes a record apart that stands at a place in these bytes. */
export function readRecord(bytes: Buffer, from = 0, to: number = bytes.length): Content {
  const enqueuedAt = bytes.readUIntBE(from + 5, 6)
  const mark = bytes[from] as number
  let at = from + 11
  let member: Place | null = null
  let more = NOTHING
  if (mark >= 8) {
    const end = at + 1 + (bytes[at] as number)
    member = [bytes.toString('utf8', at + 1, end), bytes.readUInt32BE(end)]
    at = end + 4
  }
  if (mark % 2 === 1) {
    const end = at + 4 + bytes.readUInt32BE(at)
    more = JSON.parse(bytes.toString('utf8', at + 4, end)) as More
    at = end
  }
  return { enqueuedAt, member, more, payload: bytes.toString('utf8', at, to) }
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
  const { enqueuedAt, member, more, payload } = readRecord(record as Buffer)
  const arrival = more.e ?? more.a
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
    member: member && { group: member[0], n: member[1] },
    dueAt: more.d ?? enqueuedAt,
    enqueuedAt,
    ...(arrival !== undefined && { arrival }),
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

/** Whether a new job is ready at once and where any other of that moment would stand. */
export function isReadyAtOnce({
  priority,
  lane,
  strict,
  delayMs,
  runAt,
  unique,
}: Pick<NewJob, 'priority' | 'lane' | 'strict' | 'delayMs' | 'runAt' | 'unique'>): boolean {
  return priority === 0 && lane === null && !strict && delayMs === 0 && runAt === null && unique === null
}

/** Instead of what a new job has beside its payload: it is ready at once, so it goes as a record with a mark of its own. */
export const MARKED = '='

/** What a new job has beside its payload, as JSON or {@link MARKED}; empty if it has nothing. */
export function moreOf(job: NewJob): string {
  if (!isReadyAtOnce(job)) return JSON.stringify(draftOf(job))
  const { headers, overrides, cost, member } = job
  return headers === null && overrides === null && cost === 1 && member === null ? '' : MARKED
}

/** A job that is ready at once: id, length, and its record without the queue and the time. */
export function writtenJob(job: NewJob): Buffer {
  const { id, payload, member } = job
  const more =
    job.headers === null && job.overrides === null && job.cost === 1 ? '' : JSON.stringify(draftOf(job).x)
  const groupBytes = member === null ? 0 : Buffer.byteLength(member.group)
  const moreBytes = Buffer.byteLength(more)
  const payloadBytes = Buffer.byteLength(payload)
  const length = 1 + (member === null ? 0 : 5 + groupBytes) + (more === '' ? 0 : 4 + moreBytes) + payloadBytes
  const bytes = Buffer.allocUnsafe(20 + length)
  writeId(bytes, id, 0)
  bytes.writeUInt32BE(length, 16)
  bytes[20] = (more === '' ? 0 : 1) + (member === null ? 0 : 8)
  let at = 21
  if (member !== null) {
    bytes[at] = groupBytes
    bytes.write(member.group, at + 1)
    bytes.writeUInt32BE(member.n, at + 1 + groupBytes)
    at += 5 + groupBytes
  }
  if (more !== '') {
    bytes.writeUInt32BE(moreBytes, at)
    bytes.write(more, at + 4)
    at += 4 + moreBytes
  }
  bytes.write(payload, at)
  return bytes
}

interface Draft {
  readonly x: More
  readonly g?: Place
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
  }
  return {
    x,
    ...(member !== null && { g: [member.group, member.n] as const }),
    ...(delayMs !== 0 && { delay: delayMs }),
    ...(runAt !== null && { runAt }),
    ...(unique !== null && { unique }),
  }
}

/** A new job inside of something else that is sent as JSON. */
export interface SentJob extends Draft, Pick<NewJob, 'id' | 'space' | 'queue' | 'payload'> {}

export function sentJob(job: NewJob): SentJob {
  return { id: job.id, space: job.space, queue: job.queue, payload: job.payload, ...draftOf(job) }
}

/** The new job that was sent so. */
export function newJobOf({ id, space, queue, payload, x, g, delay, runAt, unique }: SentJob): NewJob {
  return {
    id,
    space,
    queue,
    payload,
    headers: x.h ?? null,
    priority: x.p ?? 0,
    delayMs: delay ?? 0,
    runAt: runAt ?? null,
    unique: unique ?? null,
    overrides: x.o ?? null,
    lane: x.l ?? null,
    strict: x.s === 1,
    cost: x.c ?? 1,
    member: g ? { group: g[0], n: g[1] } : null,
  }
}

/** Ids one after the other. */
export function joined(ids: readonly string[]): Buffer {
  const bytes = Buffer.allocUnsafe(16 * ids.length)
  for (const [n, id] of ids.entries()) writeId(bytes, id, 16 * n)
  return bytes
}

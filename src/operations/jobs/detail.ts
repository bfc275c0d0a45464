import { type AttemptView, fingerprintOf, type JobView } from '../../index.ts'
import { shownExplanation, shownJob } from '../authorize/authorize-output.ts'
import type { Context } from '../operation.ts'
import type { JobDetail } from '../schema/outputs.ts'
import { toWire } from '../schema/serialize.ts'
import type { AuditedChange } from '../services.ts'
import { timelineOf } from './timeline.ts'

/** A job with its history and its relations. */
export async function detailOf(context: Context, job: JobView): Promise<JobDetail> {
  const { skep, services } = context
  const { redactor } = services
  const [explanation, recorded] = await Promise.all([skep.jobs.explain(job.id), skep.jobs.attempts(job.id)])
  const retries = await retriesOf(context, job, recorded)
  const attempts = recorded.map(
    ({ n, generation, at, startedAt, worker, version, kind, message, name, stack }) => ({
      n,
      generation,
      at: at.toISOString(),
      startedAt: startedAt?.toISOString() ?? null,
      worker,
      version,
      kind,
      message: redactor.text(message),
      name,
      stack: stack === null ? null : redactor.text(stack),
    }),
  )
  const shown = shownJob(context, job)
  const { headers } = job
  const member = explanation.causes.find((cause) => cause.cause === 'member-of')
  const moves = explanation.causes.find((cause) => cause.cause === 'moves-run')
  return {
    job: toWire(shown),
    timeline: timelineOf(
      shown,
      attempts,
      { retries, endings: recorded.map(({ ended }) => ended) },
      services.runtime.now(),
    ),
    attempts,
    explanation: toWire(shownExplanation(context, explanation)),
    errorGroup: groupOf(job),
    schedule: headers['skep-schedule'] ?? null,
    run: moves?.run ?? member?.run ?? null,
    group: member?.group ?? null,
    copyOf: headers['skep-copy-of'] ?? null,
    trace: traceOf(headers['traceparent']),
  }
}

/** The group of its last error. */
function groupOf({ queue, failure, state }: JobView): string | null {
  const isError = failure?.kind === 'error' || failure?.kind === 'timeout' || failure?.kind === 'lost'
  return failure !== null && isError && state !== 'done' ? fingerprintOf(queue, failure) : null
}

/** The id of the trace in a W3C `traceparent`. */
export function traceOf(traceparent: string | undefined): string | null {
  return /^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-[\da-f]{2}/.exec(traceparent ?? '')?.[1] ?? null
}

/** A manual retry of a finished job. */
export interface Retry {
  /** The generation that it began. */
  readonly generation: number
  /** How many generations began at latest then: of those before it nothing else is known. */
  readonly count: number
  readonly at: number
  /** Whether it was then, or at some time before. */
  readonly isExact: boolean
  /** Null if that is not known: a program or a command line did it without a server, or the audit is no longer kept. */
  readonly by: string | null
}

type Recorded = Pick<AttemptView, 'n' | 'generation' | 'at' | 'startedAt' | 'retriedAt'>

/** A line of the audit is written after the retry, and the clocks of servers and of the store may differ by a little. */
const NEAR_MS = 10_000
/** How far before its first attempt a retry is looked for, if nothing says when it was. */
const SEARCHED_MS = 3_600_000

/**
 * When a job was retried by hand, and by whom. No store keeps that: a retry makes its jobs due at one time, which the job has
 * until its first retry, and the line of its first attempt from then on. Who it was is in the audit or in the bulk action.
 */
export async function retriesOf(
  { skep, services, caller }: Pick<Context, 'skep' | 'services' | 'caller'>,
  job: JobView,
  attempts: readonly Recorded[],
): Promise<readonly Retry[]> {
  const moments = momentsOf(job, attempts, services.runtime.now())
  if (moments.length === 0) return []
  const bulks = (await skep.bulk.list()).filter(({ action }) => action === 'retry')
  const claims = await Promise.all(
    moments.map(async ({ generation, at, isExact }): Promise<readonly Claim[]> => {
      const bulk = isExact ? bulks.find(({ boundAt }) => boundAt?.getTime() === at) : undefined
      if (bulk) return [{ generation, source: bulk.id, by: bulk.by, far: 0 }]
      const from = at - (isExact ? NEAR_MS : SEARCHED_MS)
      const lines = await services.auditLog.between(caller.space, 'jobs.change', from, at + NEAR_MS)
      return about(lines, job).map(({ id, who, at: written }) => {
        return { generation, source: id, by: who, far: distance(Date.parse(written), at) }
      })
    }),
  )
  const names = settled(claims.flat())
  return moments.map((moment) => ({ ...moment, by: names.get(moment.generation) ?? null }))
}

/** This line of the audit, or bulk action, may be the retry that began this generation. */
interface Claim {
  readonly generation: number
  readonly source: string
  readonly by: string
  /** How far apart they are in time. */
  readonly far: number
}

/** The line of a retry is written after it. One written before it counts only if no other fits: the clocks may differ. */
function distance(writtenAt: number, retriedAt: number): number {
  const ms = writtenAt - retriedAt
  return ms >= 0 ? ms : NEAR_MS - ms
}

/** Who began each generation: the nearest first, and each source for one generation alone. */
function settled(claims: readonly Claim[]): ReadonlyMap<number, string> {
  const names = new Map<number, string>()
  const used = new Set<string>()
  for (const { generation, source, by } of claims.toSorted((a, b) => a.far - b.far)) {
    if (names.has(generation) || used.has(source)) continue
    names.set(generation, by)
    used.add(source)
  }
  return names
}

/** Oldest first. */
function momentsOf(job: JobView, attempts: readonly Recorded[], now: number): Omit<Retry, 'by'>[] {
  const known = new Set(attempts.map(({ generation }) => generation))
  const generations = [...known.add(job.generation)].filter((one) => one > 0).sort((a, b) => a - b)
  let last = 0
  return generations.flatMap((generation) => {
    const moment = momentOf(generation, job, attempts, now)
    if (moment === null) return []
    const count = generation - last
    last = generation
    return [{ generation, count, ...moment }]
  })
}

function momentOf(
  generation: number,
  job: JobView,
  attempts: readonly Recorded[],
  now: number,
): Pick<Retry, 'at' | 'isExact'> | null {
  const its = attempts.filter((one) => one.generation === generation)
  const retriedAt = its.find(({ retriedAt }) => retriedAt !== null)?.retriedAt
  if (retriedAt) return { at: retriedAt.getTime(), isExact: true }
  const isCurrent = generation === job.generation
  const dueAt = job.dueAt.getTime()
  const isFirst = its.length === 0 && job.snoozes === 0 && job.starts <= 1
  if (isCurrent && isFirst && dueAt <= now) return { at: dueAt, isExact: true }
  const known = its.map(({ at, startedAt }) => startedAt ?? at)
  if (isCurrent && job.startedAt !== null) known.push(job.startedAt)
  return known.length === 0 ? null : { at: Math.min(...known.map(Number)), isExact: false }
}

/** The lines about retries of this job. Of many ids a line names the first; one that does not name it counts only if it is alone. */
function about(lines: readonly AuditedChange[], { id, queue }: JobView): readonly AuditedChange[] {
  const retries = lines.filter(({ target }) => target.startsWith('retry: '))
  const named = retries.filter(({ target }) => target.includes(id))
  if (named.length > 0) return named
  const others = retries.filter(
    ({ target, queues }) => / and \d+ more$/.test(target) && (queues.length === 0 || queues.includes(queue)),
  )
  return others.length === 1 ? others : []
}

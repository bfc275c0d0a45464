import {
  GROUP_EVENTS,
  type Group,
  type GroupEvent,
  type NewGroup,
  type Outcome,
} from '../../../core/flows/groups.ts'
import type { Run, RunMove, RunStatus } from '../../../core/flows/runs.ts'
import type { FinalState, NewJob } from '../../../core/jobs/job.ts'
import type { Enqueued } from '../../../store/flows.ts'
import type { Row } from '../connection/driver.ts'
import { SEPARATOR } from '../connection/literals.ts'
import { STATE_CODES, stateOf } from '../jobs/job-row.ts'
import type { Starts } from '../jobs/scan-start.ts'

/** When a group fails, by the numbers with which it is stored. */
const FAILINGS = ['first', 'hopeless', 'end'] as const

/** [space, queue, due_at, rank, state]: what `insert_given` says of a job it enqueued. */
export type EnqueuedRow = readonly [string, string, number, number, number]

const CHANGED = 2

/** What groups and moves have enqueued. Claims that begin later in line have to look there. */
export function hear(rows: readonly EnqueuedRow[] | null, starts: Starts): Enqueued[] {
  return (rows ?? []).map(([space, queue, dueAt, rank, state]) => {
    // The job that holds its key may have come to any place.
    if (state === CHANGED) starts.forget(space, queue)
    else starts.lower({ space, queue }, state === 0 ? 'delayed' : 'ready', rank, dueAt)
    return { space, queue, dueAt, rank }
  })
}

/** A job as `insert_given` reads it: without what is usual. */
export function sentJob(job: NewJob): object {
  const { id, space, queue, payload, priority, delayMs, cost, strict } = job
  const sent: Record<string, unknown> = { id, space, queue, payload }
  if (priority !== 0) sent['priority'] = priority
  if (delayMs !== 0) sent['delayMs'] = delayMs
  if (cost !== 1) sent['cost'] = cost
  if (strict) sent['strict'] = strict
  for (const name of ['headers', 'runAt', 'unique', 'overrides', 'lane', 'member'] as const) {
    if (job[name] !== null) sent[name] = job[name]
  }
  return sent
}

/** A group as `make_groups` reads it. */
export function sentGroup(group: NewGroup): object {
  return { ...group, failing: FAILINGS.indexOf(group.failing) }
}

/** A move as `apply_moves` reads it. */
export function sentMove(move: RunMove): object {
  return {
    ...move,
    ...(move.status === undefined ? {} : { status: STATE_CODES[move.status] }),
    groups: move.groups.map(sentGroup),
    jobs: move.jobs.map(sentJob),
  }
}

const optional = (value: unknown): number | null => (value === null ? null : Number(value))

/** The columns of `groups` as r. */
export const GROUP_SELECT = `r.id, r.space, r.run, r.size, r.need, r.failing, r.jobs, r.keep_ms, r.done, r.failed, r.fired,
  r.created_at, r.ended_at`

export function toGroup(row: Row): Group {
  const fired = Number(row[10])
  return {
    id: row[0] as string,
    space: row[1] as string,
    run: row[2] as string | null,
    size: Number(row[3]),
    need: Number(row[4]),
    failing: FAILINGS[Number(row[5])] ?? 'end',
    jobs: JSON.parse(row[6] as string) as Partial<Record<GroupEvent, NewJob>>,
    keepMs: Number(row[7]),
    done: Number(row[8]),
    failed: Number(row[9]),
    fired: GROUP_EVENTS.filter((_, bit) => fired & (1 << bit)),
    createdAt: Number(row[11]),
    endedAt: optional(row[12]),
  }
}

/** The columns of `runs` as r. */
export const RUN_SELECT = `r.id, r.space, r.flow, r.version, r.position, r.state, r.attributes, r.group_id, r.nth, r.root,
  r.status, r.revision, r.started_at, r.changed_at, r.ended_at, r.expires_at, r.result, r.failure`

export function toRun(row: Row): Run {
  return {
    id: row[0] as string,
    space: row[1] as string,
    flow: row[2] as string,
    version: Number(row[3]),
    position: row[4] as string,
    state: row[5] as string,
    attributes: JSON.parse(row[6] as string) as string[],
    member: row[7] === null ? null : { group: row[7] as string, n: Number(row[8]) },
    root: row[9] as string,
    status: stateOf(row[10]) as RunStatus,
    revision: Number(row[11]),
    startedAt: Number(row[12]),
    changedAt: Number(row[13]),
    endedAt: optional(row[14]),
    expiresAt: optional(row[15]),
    result: row[16] as string | null,
    failure: row[17] as string | null,
  }
}

/** Stands for a result that is null in a list of results. */
const NO_RESULT = '\x1f'

/** A row of `outcomes_of`, added to `to`: one outcome, or all of a sheet. */
export function addOutcomes(to: Outcome[], row: Row): void {
  const [, nths, ids, state, results, failure] = row as (string | null)[]
  if (state !== null) {
    const id = ids as string | null
    const result = results as string | null
    to.push({ n: Number(nths), id, state: stateOf(state) as FinalState, result, failure: failure ?? null })
    return
  }
  const numbers = String(nths).split(',')
  const named = String(ids).split(',')
  const given = String(results).split(SEPARATOR)
  for (let i = 0; i < numbers.length; i++) {
    const result = given[i] === NO_RESULT ? null : (given[i] as string)
    to.push({ n: Number(numbers[i]), id: named[i] as string, state: 'done', result, failure: null })
  }
}

import { waitingOf } from '../../../core/flows/wakeups.ts'
import { isFinal, type Job, type JobState } from '../../../core/jobs/job.ts'
import { isPossible } from '../../../core/jobs/transitions.ts'
import type { ChangeCall, ChangeRefusal, ChangeReply, ChangeResult } from '../../../store/store.ts'
import type { Query, Row } from '../connection/driver.ts'
import { idArrayOf } from '../connection/literals.ts'
import { type EnqueuedRow, hear } from '../flows/flow-rows.ts'
import { STATE_CODES } from './job-row.ts'
import { listStatement } from './read.ts'
import type { Starts } from './scan-start.ts'

const NOTHING: ChangeReply = { results: [], cursor: null, waiting: [] }

/** [id, what], and the queue, due time and priority of a job that came to another place in line. */
type Said =
  | readonly [string, 'ok' | 'requested' | ChangeRefusal]
  | readonly [string, 'ok', string, number, number]

/** Sends one change, see `migrations/change-function.ts`. */
export async function changeJobs(
  query: Query,
  schema: string,
  starts: Starts,
  call: ChangeCall,
): Promise<ChangeReply> {
  const { action, space, target, failure, keepMs, priority = 0, dueAt, earlierMs = 0, now } = call
  const isSelection = !('ids' in target)
  if (isSelection && !isPossible(action, target.state)) return NOTHING
  if (isSelection ? target.limit < 1 : target.ids.length === 0) return NOTHING

  // A selection is read and changed by one statement, so that it is one transaction.
  const selected = isSelection
    ? listStatement(
        schema,
        { ...target, space, oldestFirst: action === 'retry', cursor: target.cursor ?? null },
        target.limit,
        `with chosen as materialized (
          select x.id, ${placeOf(target.state)} as place, row_number() over () as n from`,
        ' as x)',
      )
    : { text: '', params: [] }
  const params = [...selected.params]
  const put = (value: string | null): string => `$${params.push(value)}`
  const ids = isSelection
    ? 'array(select c.id from chosen c order by c.n)'
    : `${put(idArrayOf(target.ids))}::uuid[]`
  const end = isSelection
    ? `(select c.place from chosen c where c.n = ${put(String(target.limit))}::bigint)`
    : 'null'
  const text = `${selected.text} select ${schema}.change_jobs(${put(action)}::text, ${put(space)}::text, ${ids},
    ${put(isSelection ? String(STATE_CODES[target.state]) : null)}::smallint, ${put(failure)}::text,
    ${put(reasonIn(failure))}::text, ${put(String(keepMs))}::bigint, ${put(String(priority))}::integer,
    ${put(dueAt === undefined ? null : String(dueAt))}::bigint, ${put(String(earlierMs))}::bigint,
    ${put(now === undefined ? null : String(now))}::bigint), ${end}`
  const [row] = await query(text, params)

  const [said, cursor] = row as Row
  const [results, enqueued] = JSON.parse(said as string) as [Said[], EnqueuedRow[] | null]
  return {
    ...readSaid(results, space, starts),
    cursor: cursor as string | null,
    ...(enqueued === null ? {} : { enqueued: hear(enqueued, starts) }),
  }
}

function readSaid(said: readonly Said[], space: string, starts: Starts): Omit<ChangeReply, 'cursor'> {
  const moved: Pick<Job, 'queue' | 'dueAt' | 'priority'>[] = []
  const results = said.map(([id, what, queue, dueAt, priority]): ChangeResult => {
    if (queue !== undefined) moved.push({ queue, dueAt: dueAt as number, priority: priority as number })
    return what === 'ok' || what === 'requested'
      ? { id, status: what }
      : { id, status: 'refused', reason: what }
  })
  const waiting = waitingOf(moved)
  // They came to any place, also to one that a claim under way has just passed.
  for (const { queue } of waiting) starts.forget(space, queue)
  return { results, waiting }
}

/** Where a job of a state stands, as a cursor, see `list.ts`. */
function placeOf(state: JobState): string {
  if (state === 'ready') return cursorText('x.rank', "coalesce(x.lane, '')")
  if (state === 'delayed') return cursorText('x.due_at', "''")
  return cursorText(isFinal(state) ? 'x.finished_at' : 'x.started_at', "''")
}

function cursorText(key: string, lane: string): string {
  return `json_build_array(${key}::text, x.id, ${lane})::text`
}

/** What a running job is told when it is cancelled. */
function reasonIn(failure: string | null): string {
  return failure === null ? '' : (JSON.parse(failure) as { message: string }).message
}

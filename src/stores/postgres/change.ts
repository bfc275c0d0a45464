import { isPossible } from '../../core/transitions.ts'
import type { ChangeCall, ChangeRefusal, ChangeReply, ChangeResult } from '../../store.ts'
import { STATE_CODES } from './codes.ts'
import type { Query, Row } from './driver.ts'
import { listStatement } from './list.ts'
import { idArrayOf } from './literals.ts'
import type { Starts } from './starts.ts'

/** Sends one change, see `migrations/change-function.ts`. */
export async function changeJobs(
  query: Query,
  schema: string,
  starts: Starts,
  call: ChangeCall,
): Promise<ChangeReply> {
  const { action, space, target, failure, keepMs, now } = call
  const isSelection = !('ids' in target)
  if (isSelection && !isPossible(action, target.state)) return { results: [] }
  if (isSelection ? target.limit < 1 : target.ids.length === 0) return { results: [] }

  // A selection is read and changed by one statement, so that it is one transaction.
  const selected = isSelection
    ? listStatement(
        schema,
        { ...target, space, cursor: null },
        target.limit,
        'array(select x.id from',
        ' as x)',
      )
    : { text: '$1::uuid[]', params: [idArrayOf(target.ids)] }
  const params = [...selected.params]
  const put = (value: string | null): string => `$${params.push(value)}`
  const text = `select ${schema}.change_jobs(${put(action)}::text, ${put(space)}::text, ${selected.text},
    ${put(isSelection ? String(STATE_CODES[target.state]) : null)}::smallint, ${put(failure)}::text,
    ${put(reasonIn(failure))}::text, ${put(String(keepMs))}::bigint, ${put(now === undefined ? null : String(now))}::bigint)`
  const rows = await query(text, params)

  if (action === 'redrive' || action === 'promote') starts.forget(space)
  const said = JSON.parse((rows[0] as Row)[0] as string) as [string, 'ok' | 'requested' | ChangeRefusal][]
  return {
    results: said.map(
      ([id, what]): ChangeResult =>
        what === 'ok' || what === 'requested'
          ? { id, status: what }
          : { id, status: 'refused', reason: what },
    ),
  }
}

/** What a running job is told when it is cancelled. */
function reasonIn(failure: string | null): string {
  return failure === null ? '' : (JSON.parse(failure) as { message: string }).message
}

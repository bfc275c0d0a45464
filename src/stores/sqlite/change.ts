import { finish, isPossible, promote, redrive } from '../../core/transitions.ts'
import type { ChangeCall, ChangeReply, ChangeResult } from '../../store.ts'
import { select } from './list.ts'
import { find, type Placed, replace } from './record.ts'
import type { Turn } from './turn.ts'
import { holdKey, keyHolder, releaseKey } from './uniques.ts'

/** What people do to jobs, by id or by selection. */
export function change(turn: Turn, call: ChangeCall, now: number): ChangeReply {
  const { target } = call
  if ('ids' in target) {
    return { results: target.ids.map((id) => changeOne(turn, find(turn, id), id, call, now)) }
  }
  const chosen = isPossible(call.action, target.state)
    ? select(turn, { ...target, space: call.space, cursor: null }, target.limit)
    : []
  return { results: chosen.map((placed) => changeOne(turn, placed, placed.job.id, call, now)) }
}

function changeOne(
  turn: Turn,
  placed: Placed | undefined,
  id: string,
  call: ChangeCall,
  now: number,
): ChangeResult {
  if (!placed || placed.job.space !== call.space) return { id, status: 'refused', reason: 'unknown' }
  const { job, q } = placed
  if (!isPossible(call.action, job.state)) return { id, status: 'refused', reason: 'state' }

  switch (call.action) {
    case 'cancel':
    case 'bury':
    case 'miss': {
      if (job.state === 'running') {
        replace(turn, placed, { ...job, cancelReason: reasonIn(call.failure) }, now)
        return { id, status: 'requested' }
      }
      const to = ({ cancel: 'cancelled', bury: 'dead', miss: 'missing' } as const)[call.action]
      replace(turn, placed, finish(job, to, call.failure, call.keepMs, now), now)
      releaseKey(turn, q, job, 'end')
      break
    }
    case 'redrive':
      if (job.uniqueKey !== null && job.uniqueScope !== 'window') {
        if (keyHolder(turn, q, job.uniqueKey, now) !== undefined) {
          return { id, status: 'refused', reason: 'unique' }
        }
        holdKey(turn, q, job.uniqueKey, job.id, null)
      }
      replace(turn, placed, redrive(job, now), now)
      break
    case 'promote':
      replace(turn, placed, { ...promote(job), dueAt: now }, now)
      break
    case 'remove':
      replace(turn, placed, null, now)
      turn.discarded.add([id], null, now)
      releaseKey(turn, q, job, 'end')
  }
  return { id, status: 'ok' }
}

function reasonIn(failure: string | null): string {
  return failure === null ? '' : (JSON.parse(failure) as { message: string }).message
}

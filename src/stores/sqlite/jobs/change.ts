import { waitingOf } from '../../../core/flows/wakeups.ts'
import type { Job } from '../../../core/jobs/job.ts'
import {
  finish,
  inOrder,
  isPossible,
  isPossibleFor,
  isSoAlready,
  prioritize,
  promoteNow,
  reschedule,
  retry,
} from '../../../core/jobs/transitions.ts'
import type { ChangeCall, ChangeReply, ChangeResult } from '../../../store/store.ts'
import type { Turn } from '../connection/write-batch.ts'
import { firing } from '../flows/groups.ts'
import { mayRejoinGroup } from '../flows/runs.ts'
import { removeNotes } from './job-log.ts'
import { find, type Placed, replace } from './job-row.ts'
import { cursorAt, select } from './read.ts'
import { holdKey, keyHolder, releaseKey } from './unique-keys.ts'

/** What people do to jobs, by id or by selection. */
export function change(turn: Turn, call: ChangeCall, now: number): ChangeReply {
  return { ...changeJobs(turn, call, now), ...firing(turn, now) }
}

/** The same without what it means to groups: whoever calls it lets them fire. */
export function changeJobs(turn: Turn, call: ChangeCall, now: number): ChangeReply {
  const { target, action, space } = call
  const moved: Job[] = []
  const oldestFirst = action === 'retry'
  if ('ids' in target) {
    const results = inOrder(
      action,
      target.ids.map((id) => ({ id, placed: find(turn, space, id) })),
      ({ placed }) => placed?.job,
      // Looked up again: an id may be named twice.
      ({ id }, earlierMs) => changeOne(turn, find(turn, space, id), id, call, now, moved, earlierMs),
    )
    return { results, cursor: null, waiting: waitingOf(moved) }
  }
  const page = isPossible(action, target.state)
    ? select(turn, { ...target, space, oldestFirst, cursor: target.cursor ?? null }, target.limit)
    : []
  // Told before anything moves.
  const last = page.length < target.limit ? undefined : page.at(-1)
  const results = inOrder(
    action,
    page.filter(({ job }) => !isSoAlready(job, action, call)),
    ({ job }) => job,
    (placed, earlierMs) => changeOne(turn, placed, placed.job.id, call, now, moved, earlierMs),
  )
  return { results, cursor: last ? cursorAt(last) : null, waiting: waitingOf(moved) }
}

/** `moved` gets the job if it came to another place in line. */
function changeOne(
  turn: Turn,
  placed: Placed | undefined,
  id: string,
  call: ChangeCall,
  now: number,
  moved: Job[],
  earlierMs: number,
): ChangeResult {
  if (!placed) return { id, status: 'refused', reason: 'unknown' }
  const { job, q } = placed
  if (!isPossibleFor(call.action, job)) return { id, status: 'refused', reason: 'state' }
  const move = (to: Job): void => {
    replace(turn, placed, to, now)
    moved.push(to)
  }

  switch (call.action) {
    case 'cancel':
    case 'bury': {
      if (job.state === 'running') {
        replace(turn, placed, { ...job, cancelReason: reasonIn(call.failure) }, now)
        return { id, status: 'requested' }
      }
      const to = call.action === 'cancel' ? 'cancelled' : 'dead'
      replace(turn, placed, finish(job, to, call.failure, call.keepMs, now), now)
      releaseKey(turn, q, job, 'end')
      break
    }
    case 'retry':
      if (job.member && !mayRejoinGroup(turn, job.member.group))
        return { id, status: 'refused', reason: 'run' }
      if (job.uniqueKey !== null && job.uniqueScope !== 'window') {
        if (keyHolder(turn, q, job.uniqueKey, now) !== undefined) {
          return { id, status: 'refused', reason: 'unique' }
        }
        holdKey(turn, q, job.uniqueKey, job.id, null)
      }
      move(retry(job, now, call.dueAt, (call.earlierMs ?? 0) + earlierMs))
      break
    case 'promote':
      move(promoteNow(job, now))
      break
    case 'prioritize':
      move(prioritize(job, call.priority ?? 0))
      break
    case 'reschedule':
      move(reschedule(job, call.dueAt ?? now, now))
      break
    case 'remove':
      replace(turn, placed, null, now)
      turn.discarded.add(q, [id], null, now)
      removeNotes(turn, [job])
      releaseKey(turn, q, job, 'end')
  }
  return { id, status: 'ok' }
}

function reasonIn(failure: string | null): string {
  return failure === null ? '' : (JSON.parse(failure) as { message: string }).message
}

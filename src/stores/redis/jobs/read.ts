import { JOB_STATES, type Job, type JobState } from '../../../core/jobs/job.ts'
import type {
  ChangeCall,
  ChangeRefusal,
  ChangeReply,
  ChangeResult,
  CountCall,
  CountReply,
  CountsCall,
  CountsReply,
  ExpiredCall,
  ExpiredReply,
  GetCall,
  ListCall,
  ListReply,
  QueueCounts,
} from '../../../store/store.ts'
import { byTheClock, spacesOf } from '../../shared/counts.ts'
import { listOf, numberOf, numberOrNull, type Reply, textOf, toBytes, toUuid } from '../connection/bytes.ts'
import type { Caller } from '../connection/caller.ts'
import type { Argument } from '../connection/client.ts'
import { claimedOf, jobOf, joined, readRecord } from './job-codec.ts'
import { withEnqueued } from './settle-enqueues.ts'

/** What people ask of jobs and do to them. */
export function lookingCalls(caller: Caller): {
  change(call: ChangeCall): Promise<ChangeReply>
  count(call: CountCall): Promise<CountReply>
  counts(call: CountsCall): Promise<CountsReply>
  expired(call: ExpiredCall): Promise<ExpiredReply>
  get(call: GetCall): Promise<{ readonly jobs: readonly (Job | null)[] }>
  list(call: ListCall): Promise<ListReply>
} {
  return {
    async change(call) {
      const { target, action, space, failure, keepMs, priority = 0, dueAt, earlierMs, now } = call
      const reason = failure === null ? '' : (JSON.parse(failure) as { message: string }).message
      const common = {
        action,
        space,
        keepMs,
        priority,
        dueAt,
        earlierMs,
        reason,
        ...(failure !== null && { failure }),
      }
      const args: Argument[] =
        'ids' in target
          ? [JSON.stringify(common), joined(target.ids)]
          : [
              JSON.stringify({ ...common, ...selectionOf(target), limit: target.limit }),
              cursorIn(target.cursor),
            ]
      const [, results, cursor, waiting, fired] = listOf(await caller.call('change', args, now))
      return {
        results: listOf(results).map(readChanged),
        cursor: cursorOf(cursor),
        waiting: listOf(waiting)
          .map((row) => {
            const [queue, dueAt, rank] = listOf(row)
            return { queue: textOf(queue), dueAt: numberOf(dueAt), rank: numberOf(rank) }
          })
          .sort((a, b) => (a.queue < b.queue ? -1 : 1)),
        ...withEnqueued(fired),
      }
    },

    async count(call) {
      const { space, limit, look } = call
      const bounds = { ...(limit !== undefined && { limit }), ...(look !== undefined && { look }) }
      const selection = JSON.stringify({ space, ...selectionOf(call), ...bounds })
      const [found, looked] = listOf(await caller.call('count', [selection]))
      const count = Math.min(numberOf(found), limit ?? Infinity)
      return look === undefined ? { count } : { count, looked: numberOf(looked) }
    },

    async counts({ space, queues, spaces, now }) {
      // Without a list all are meant, so an empty one is about a queue that cannot be.
      const args = [space, ...(queues?.length === 0 ? [''] : (queues ?? []))]
      const [[time, rows], all] = await Promise.all([
        caller.call('counts', args, now).then(listOf),
        spaces ? caller.call('countAll', [], now).then(listOf) : undefined,
      ])
      const found = listOf(rows).map(readCounts)
      const reply = { queues: queues?.length === 0 ? [] : found, now: numberOf(time) }
      return all ? { ...reply, spaces: spacesOf(listOf(all[1]).map(readStates)) } : reply
    },

    async expired(call) {
      const { sources, workerIds, limit, now } = call
      const args = [JSON.stringify({ sources, workerIds, limit })]
      const leases = listOf(await caller.call('expired', args, now)).map((row) => {
        const [id, , record, token, worker, , , space, queue, over] = listOf(row)
        const at = { space: textOf(space), queue: textOf(queue), token: textOf(token) }
        const content = readRecord(record as Buffer)
        return {
          ...claimedOf(toUuid(id as Buffer), content, at),
          workerId: textOf(worker),
          cancelReason: content.more.k ?? null,
          over: numberOf(over) === 1,
        }
      })
      return { leases }
    },

    async get({ space, ids }) {
      if (ids.length === 0) return { jobs: [] }
      const [found, queues] = listOf(await caller.call('get', [space, ...ids.map(toBytes)]))
      const names = listOf(queues)
      return {
        jobs: listOf(found).map((shown, index) =>
          Array.isArray(shown) ? jobOf(shown as Reply, { space, queue: textOf(names[index]) }) : null,
        ),
      }
    },

    async list(call) {
      const { space, queue, limit } = call
      const { oldestFirst = false } = call
      const page = { space, ...selectionOf(call), oldestFirst, limit }
      const args = [JSON.stringify(page), cursorIn(call.cursor)]
      const [found, cursor] = listOf(await caller.call('list', args))
      return { jobs: listOf(found).map((shown) => jobOf(shown, { space, queue })), cursor: cursorOf(cursor) }
    },
  }
}

function selectionOf({ queue, state, where }: Pick<ListCall, 'queue' | 'state' | 'where'>): object {
  return { queue, state, ...(where && { where }) }
}

/** Where a page ended is a place in a sorted set, which is bytes. */
function cursorIn(cursor: string | null | undefined): Argument {
  return cursor ? Buffer.from(cursor, 'base64url') : ''
}

function cursorOf(reply: Reply | undefined): string | null {
  return Buffer.isBuffer(reply) && reply.length > 0 ? reply.toString('base64url') : null
}

function readChanged(row: Reply): ChangeResult {
  const [idBytes, status, reason] = listOf(row)
  const id = toUuid(idBytes as Buffer)
  const said = textOf(status) as ChangeResult['status']
  return said === 'refused'
    ? { id, status: said, reason: textOf(reason) as ChangeRefusal }
    : { id, status: said }
}

function readStates(row: Reply): { readonly space: string; readonly states: readonly number[] } {
  const [space, ...counts] = listOf(row)
  return { space: textOf(space), states: counts.map(numberOf) }
}

function readCounts(row: Reply): QueueCounts {
  const [queue, oldest, due, ...counts] = listOf(row)
  const overdue = numberOf(due)
  const stored = JOB_STATES.map((state, index) => [state, numberOf(counts[index])] as const)
  return {
    queue: textOf(queue),
    states: byTheClock(Object.fromEntries(stored) as Record<JobState, number>, overdue),
    overdue,
    oldestDueAt: numberOrNull(oldest),
  }
}

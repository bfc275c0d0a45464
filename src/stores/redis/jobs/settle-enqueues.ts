import type { JobState } from '../../../core/jobs/job.ts'
import type { TakenId, TakenRun } from '../../../core/jobs/taken-ids.ts'
import type { Enqueued } from '../../../store/flows.ts'
import type { InsertResult } from '../../../store/store.ts'
import { listOf, numberOf, type Reply, textOf, toUuid } from '../connection/bytes.ts'

/** Ids that are taken, each with the queue of its job. */
export function takenFrom(reply: Reply | undefined): TakenId[] {
  const said = listOf(reply)
  return said.flatMap((id, at) =>
    at % 2 === 0 ? [{ id: toUuid(id as Buffer), queue: textOf(said[at + 1] as Reply) }] : [],
  )
}

/** The same of runs, each with its flow. */
export function takenRunsFrom(reply: Reply | undefined): TakenRun[] {
  const said = listOf(reply).map(textOf)
  return said.flatMap((id, at) => (at % 2 === 0 ? [{ id, flow: said[at + 1] as string }] : []))
}

/** What groups have enqueued: a list of space, queue, due, rank. */
export function enqueuedIn(reply: Reply | undefined): Enqueued[] {
  return listOf(reply).map((row) => {
    const [space, queue, dueAt, rank] = listOf(row)
    return { space: textOf(space), queue: textOf(queue), dueAt: numberOf(dueAt), rank: numberOf(rank) }
  })
}

/** The same as a part of a reply: left out when there is nothing. */
export function withEnqueued(reply: Reply | undefined): { readonly enqueued?: readonly Enqueued[] } {
  const enqueued = enqueuedIn(reply)
  return enqueued.length === 0 ? {} : { enqueued }
}

/** What became of an insert: a state, a moment and whether it was known; or nothing, whose key it is, and what happened to that one. */
export function insertResult(state: Reply, moment: Reply, action: Reply): InsertResult {
  const said = textOf(state)
  if (said !== '') {
    const result = { status: 'ok', state: said as JobState, dueAt: numberOf(moment) } as const
    return textOf(action) === '' ? result : { ...result, known: true }
  }
  return {
    status: 'duplicate',
    id: toUuid(moment as Buffer),
    action: textOf(action) as 'ignored' | 'replaced' | 'postponed',
  }
}

import type { NewGroup } from '../../../../src/core/flows/groups.ts'
import type { Run } from '../../../../src/core/flows/runs.ts'
import { readPosition } from '../../../../src/flows/position.ts'
import type { FlowHistory } from '../../flows/history.ts'
import { type Invariant, retries, type View } from '../view.ts'
import { Members } from './members.ts'

/**
 * I-16: a job of a run is retried only while its run waits for it: not after the run was undone, cancelled or went on,
 * and the same for all runs above that one. Undo jobs may always run again. After `run.retry()` the run waits again.
 */
export const undoneStaysUndone: Invariant = function* (view) {
  const { flows } = view
  if (!flows) return
  const members = new Members(view, flows)
  const groups = new Map<string, string>()
  for (const [group, own] of flows.members)
    for (const { id, later } of own.values()) for (const job of [id, ...later]) groups.set(job, group)
  for (const entry of view.audit) {
    const group = groups.get(entry.id)
    if (group === undefined || !retries(entry)) continue
    const why = whyNot(view, flows, members, group, entry.n ?? entry.seq)
    if (why !== null)
      yield {
        invariant: 'I-16',
        kind: 'terminal-left',
        about: entry.id,
        message: `It was retried although ${why}.`,
      }
  }
}

function whyNot(
  view: View,
  flows: FlowHistory,
  members: Members,
  first: string,
  place: number,
): string | null {
  for (let id: string | undefined = first; id !== undefined; ) {
    const made: NewGroup | undefined = flows.groups.get(id)?.made
    if (!made || made.run === null) return null
    const run: Run | undefined = members.runs(made.run).findLast(({ n }) => n <= place)?.after
    if (!run) return null
    const { waits, failure, done, undos } = readPosition(run.position)
    if (!undos?.includes(id)) {
      if (run.status === 'cancelled') return `run ${run.id} was cancelled`
      if (failure !== null) return `run ${run.id} is undone`
      if (run.status === 'done' || waits?.id !== id) return `run ${run.id} does not wait for it`
      const failed = view.jobs.get(made.jobs.failure?.id ?? '')?.audit[0]
      if (failed && (failed.n ?? failed.seq) < place && done.length > 0)
        return `run ${run.id} is about to be undone`
    }
    id = run.member?.group
  }
  return null
}

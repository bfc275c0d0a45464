import type { Run, RunStatus } from '../../core/flows/runs.ts'
import { readPosition } from '../../flows/position.ts'
import type { Store } from '../../store/store.ts'
import type { RunHandle } from './runs.ts'

/** A run that another one waits for: a branch of several steps, or a flow that is a step. */
export interface RunBranch {
  readonly id: string
  /** The branch as `parallel` names it; for a flow that is a step, the name of the step. */
  readonly name: string
  /** Which of those of that step it is, from 0. */
  readonly n: number
  readonly flow: string
  readonly status: RunStatus
  /** To look at it, or to cancel it: that counts as a member that was cancelled, and the join says what follows. */
  readonly run: RunHandle
}

const PAGE = 500

/** The branches of a run, those that have ended too, in the order in which it began them. Branches have their own. */
export async function branchesOf(
  { store, space }: { readonly store: Store; readonly space: string },
  { id, root }: Run,
  handle: (id: string) => RunHandle,
): Promise<readonly RunBranch[]> {
  const found: RunBranch[] = []
  for (let cursor: string | null = null, isLast = false; !isLast; isLast = cursor === null) {
    const page: Awaited<ReturnType<Store['listRuns']>> = await store.listRuns({
      space,
      root,
      branches: true,
      limit: PAGE,
      cursor,
    })
    const own = new Set(await groupsOf(store, space, page.runs, id))
    for (const run of page.runs) {
      if (run.member === null || !own.has(run.member.group)) continue
      const { name = run.flow } = readPosition(run.position)
      const { flow, status, member } = run
      found.push({ id: run.id, name, n: member.n, flow, status, run: handle(run.id) })
    }
    cursor = page.cursor
  }
  // The newest come first, and the ids of those that began together follow their numbers.
  return found.reverse()
}

/** The groups of these runs for which this one waits, or has waited. */
async function groupsOf(store: Store, space: string, runs: readonly Run[], id: string): Promise<string[]> {
  const ids = [...new Set(runs.flatMap(({ member }) => (member === null ? [] : [member.group])))]
  if (ids.length === 0) return []
  const { groups } = await store.getGroups({ space, ids })
  return groups.flatMap((group) => (group?.run === id ? [group.id] : []))
}

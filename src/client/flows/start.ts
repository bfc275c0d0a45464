import { toMs } from '../../core/duration.ts'
import { createRun, type NewRun } from '../../core/flows/runs.ts'
import type { NewJob } from '../../core/jobs/job.ts'
import { LIMITS } from '../../core/limits.ts'
import type { Tree } from '../../flows/definition.ts'
import { advance, BEGIN, type Maker } from '../../flows/next-move.ts'
import { beginning, readPosition } from '../../flows/position.ts'
import { beginJob } from '../../flows/signals.ts'
import type { InsertCall } from '../../store/store.ts'
import { assertWhole } from '../../worker/options.ts'
import { type EnqueueOptions, moment } from '../enqueue/enqueue.ts'

/** What has to be inserted for a run to start. */
export async function startCall(
  tree: Tree,
  run: NewRun,
  { id, delay, runAt }: Pick<EnqueueOptions, 'id' | 'delay' | 'runAt'>,
  maker: Maker,
): Promise<Pick<InsertCall, 'jobs' | 'runs' | 'groups'>> {
  const delayMs = delay === undefined ? 0 : toMs('delay', delay)
  assertWhole('delay', delayMs, 0, LIMITS.delayMs)
  const control = maker.control(readPosition(run.position), run.id, BEGIN, delayMs)
  const later = { ...control, runAt: runAt === undefined ? null : moment(runAt) }
  // With an id of the caller's this may be the second start. The jobs of a first step would be others than before; the
  // job that begins the run is the same.
  if (id !== undefined) return beginningWith(run, { ...later, id: beginJob(id, tree.queue) })
  if (delay !== undefined || runAt !== undefined) return beginningWith(run, later)

  // Its first step is part of the same insert, so that no worker has to move it there.
  const move = await advance(tree, createRun(run, 0), { ...BEGIN, outcomes: [] }, maker)
  if (move.status !== 'running') return beginningWith(run, control)
  const begun = { ...run, position: move.position ?? run.position, state: move.state ?? run.state }
  return { jobs: move.jobs, runs: [begun, ...move.runs], groups: move.groups }
}

/** A run that its first job moves to its first step. */
function beginningWith(run: NewRun, job: NewJob): Pick<InsertCall, 'jobs' | 'runs'> {
  const position = { ...readPosition(run.position), waits: beginning(job.id) }
  return { jobs: [job], runs: [{ ...run, position: JSON.stringify(position) }] }
}

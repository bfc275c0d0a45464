import assert from 'node:assert/strict'
import type { Group, NewGroup, Outcome } from '../../../core/flows/groups.ts'
import type { NewRun, Run, RunMove, Standing } from '../../../core/flows/runs.ts'
import type { NewJob } from '../../../core/jobs/job.ts'
import type { Verdict } from '../../../core/policies/policy.ts'
import { DAY, idOf, OTHER_QUEUE, SPACE, sample, verdict } from '../samples.ts'
import { type Scene, source } from '../scene.ts'

const serial = (n: number): string => n.toString(16).padStart(12, '0')

/** The id of group number `n`. */
export function groupOf(n: number): string {
  return `01a31c50-0000-7000-a000-${serial(n)}`
}

/** The id of run number `n`. */
export function runOf(n: number): string {
  return `01a31c50-0000-7000-b000-${serial(n)}`
}

/** A group of `size` that needs all of them and enqueues job 1,000 on success, with what differs. */
export function group(size: number, difference: Partial<NewGroup> = {}): NewGroup {
  return {
    id: groupOf(1),
    space: SPACE,
    run: null,
    size,
    need: size,
    failing: 'end',
    jobs: { success: sample(1_000) },
    keepMs: DAY,
    ...difference,
  }
}

/** Jobs number `from` and up, the members of a group. */
export function members(
  count: number,
  of: string = groupOf(1),
  from = 1,
  difference: Partial<NewJob> = {},
): NewJob[] {
  return Array.from({ length: count }, (_, n) =>
    sample(from + n, { member: { group: of, n }, ...difference }),
  )
}

/** The position of a run that waits for a group. */
export function waitingFor(of: string = groupOf(1), more: Standing = {}): string {
  return JSON.stringify({ waits: { id: of }, ...more })
}

export function run(n: number, difference: Partial<NewRun> = {}): NewRun {
  return {
    id: runOf(n),
    space: SPACE,
    flow: 'access',
    version: 1,
    position: '{}',
    state: '{}',
    attributes: [],
    member: null,
    root: runOf(n),
    ...difference,
  }
}

export function move(n: number, revision: number, difference: Partial<RunMove> = {}): RunMove {
  return { id: runOf(n), space: SPACE, revision, groups: [], runs: [], jobs: [], ...difference }
}

/** Puts groups and their jobs into the store. */
export async function make(
  scene: Scene,
  groups: readonly NewGroup[],
  jobs: readonly NewJob[],
): Promise<void> {
  await scene.store.insert({ jobs, groups, now: scene.now })
}

export async function readGroup(scene: Scene, id: string = groupOf(1)): Promise<Group> {
  const { groups } = await scene.store.getGroups({ space: SPACE, ids: [id] })
  assert.ok(groups[0], `group ${id} is not in the store`)
  return groups[0]
}

export async function readRun(scene: Scene, n: number): Promise<Run> {
  const { runs } = await scene.store.getRuns({ space: SPACE, ids: [runOf(n)] })
  assert.ok(runs[0], `run ${n} is not in the store`)
  return runs[0]
}

export async function outcomesOf(scene: Scene, id: string = groupOf(1)): Promise<readonly Outcome[]> {
  const { outcomes } = await scene.store.outcomes({ space: SPACE, groups: [id], from: 0, limit: 1_000 })
  return outcomes[0] as readonly Outcome[]
}

/** Claims these jobs and ends them, in one call. */
export async function end(scene: Scene, to: Verdict['to'], ...which: readonly number[]): Promise<void> {
  const claimed = await scene.take({
    ids: which.map(idOf),
    sources: [source(), source({ queue: OTHER_QUEUE })],
  })
  assert.equal(claimed.length, which.length)
  const settlements = claimed.map(({ space, id, token }) => ({ space, id, token, verdict: verdict(to) }))
  const results = await scene.settleAll(settlements)
  assert.ok(results.every(({ status }) => status === 'ok'))
}

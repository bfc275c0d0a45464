import assert from 'node:assert/strict'
import { dueEvents, type Group, groupExpiresAt, type Outcome } from '../../core/flows/groups.ts'
import { outcomeState, type Run } from '../../core/flows/runs.ts'
import { isFinal, type Job } from '../../core/jobs/job.ts'
import type { AuditReply, Enqueued, OpenMember } from '../../store/flows.ts'
import type { Store } from '../../store/store.ts'
import { type Command, movesIn, type Replies } from './commands.ts'
import { SPACES } from './draw.ts'

/** The groups and runs of a store. */
export interface Flows {
  readonly groups: ReadonlyMap<string, Group>
  readonly runs: ReadonlyMap<string, Run>
  readonly outcomes: ReadonlyMap<string, readonly Outcome[]>
}

export const NO_FLOWS: Flows = { groups: new Map(), runs: new Map(), outcomes: new Map() }

/** Reads groups and runs by their ids, and the outcomes. */
export async function flowsOf(
  store: Store,
  ids: { readonly groups: readonly string[]; readonly runs: readonly string[] },
): Promise<Flows> {
  if (ids.groups.length + ids.runs.length === 0) return NO_FLOWS
  const found = { groups: new Map<string, Group>(), runs: new Map<string, Run>() }
  const outcomes = new Map<string, readonly Outcome[]>()
  for (const space of SPACES) {
    const { groups } = await store.getGroups({ space, ids: ids.groups })
    for (const group of groups) if (group) found.groups.set(group.id, group)
    const { runs } = await store.getRuns({ space, ids: ids.runs })
    for (const run of runs) if (run) found.runs.set(run.id, run)
    const read = await store.outcomes({ space, groups: ids.groups, from: 0, limit: 100 })
    for (const [at, id] of ids.groups.entries()) {
      if (groups[at]) outcomes.set(id, read.outcomes[at] ?? [])
      else assert.deepEqual(read.outcomes[at], [], `outcomes of group ${id}, which is not there`)
    }
  }
  return { ...found, outcomes }
}

/** The members that have not ended, of these groups. */
export async function openIn(store: Store, groups: readonly Group[]): Promise<readonly OpenMember[][]> {
  const open: OpenMember[][] = []
  for (const { space, id } of groups) {
    const { members } = await store.openMembers({ space, group: id, from: 0, limit: 100 })
    open.push([...members])
  }
  return open
}

/** What was enqueued, as far as it matters: when the first of each queue is due, and the lowest rank. */
export function mergedHints(enqueued: readonly Enqueued[] | undefined): unknown {
  if (enqueued === undefined) return null
  const queues = new Map<string, { dueAt: number; rank: number }>()
  for (const { space, queue, dueAt, rank } of enqueued) {
    const known = queues.get(`${space} ${queue}`) ?? { dueAt, rank }
    queues.set(`${space} ${queue}`, {
      dueAt: Math.min(known.dueAt, dueAt),
      rank: Math.min(known.rank, rank),
    })
  }
  return new Map([...queues].sort(([a], [b]) => (a < b ? -1 : 1)))
}

export interface Seen {
  readonly jobs: ReadonlyMap<string, Job>
  readonly flows: Flows
}

/**
 * What must hold of groups and runs whatever the commands are: a member counts once, an event fires when it is true and
 * once, and what it enqueues is there (I-16); a run goes from one revision to the next.
 */
export function checkFlows(command: Command, replies: Replies, before: Seen, after: Seen, now: number): void {
  for (const group of after.flows.groups.values()) checkGroup(group, before, after)
  for (const { id, member, state } of after.jobs.values()) {
    if (member) checkMember(member, id, isFinal(state) ? state : null, after.flows)
  }
  const moves = movesIn([command])
  for (const run of after.flows.runs.values()) {
    if (run.member) checkMember(run.member, run.id, outcomeState(run.status), after.flows)
    const known = before.flows.runs.get(run.id)
    const most = moves.filter(({ id }) => id === run.id).length
    const steps = run.revision - (known?.revision ?? 0)
    assert.ok(steps >= 0 && steps <= most, `run ${run.id} made ${steps} steps by ${most} moves`)
    if (known && steps === 0) assert.deepEqual(run, known, `run ${run.id} changed without a move`)
  }
  if (command.do === 'audit') {
    const mended = (replies as readonly AuditReply[]).flatMap((page) => page.mended)
    assert.deepEqual(mended, [], 'I-16: there is nothing to mend')
  }
  checkGone(command, before.flows, after.flows, now)
}

/** Only prune removes groups and runs, each at its time: a run with the whole tree, and a group with its run. */
function checkGone(command: Command, before: Flows, after: Flows, now: number): void {
  const isOver = (at: number | null | undefined): boolean =>
    command.do === 'prune' && (at ?? Number.POSITIVE_INFINITY) <= now
  for (const run of before.runs.values()) {
    if (after.runs.has(run.id)) continue
    assert.ok(isOver(before.runs.get(run.root)?.expiresAt), `I-1: run ${run.id} is lost`)
  }
  for (const group of before.groups.values()) {
    if (after.groups.has(group.id)) continue
    const isLeft = group.run !== null && before.runs.has(group.run) && !after.runs.has(group.run)
    assert.ok(isLeft || isOver(groupExpiresAt(group)), `I-1: group ${group.id} is lost`)
  }
}

function checkGroup(group: Group, before: Seen, after: Seen): void {
  const outcomes = after.flows.outcomes.get(group.id) ?? []
  const done = outcomes.filter(({ state }) => state === 'done').length
  const counts = [group.done, group.failed]
  assert.deepEqual(counts, [done, outcomes.length - done], `I-16: the counts of group ${group.id}`)
  assert.deepEqual(dueEvents(group), [], `I-16: group ${group.id} did not fire`)
  assert.equal(
    group.endedAt !== null,
    outcomes.length === group.size,
    `I-16: whether group ${group.id} has ended`,
  )

  const fired = before.flows.groups.get(group.id)?.fired ?? []
  const fresh = group.fired.filter((event) => !fired.includes(event))
  assert.deepEqual(fresh, dueEvents({ ...group, fired }), `I-16: what group ${group.id} fired`)
  for (const event of fresh) {
    const job = group.jobs[event]
    // Without a key nothing stands in its way.
    if (!job || job.unique) continue
    assert.ok(after.jobs.has(job.id), `I-16: group ${group.id} fired ${event} and enqueued nothing`)
    assert.ok(!before.jobs.has(job.id), `I-16: group ${group.id} enqueued for ${event} before it fired`)
  }
}

/** Null: it has not ended. */
function checkMember(
  { group, n }: { readonly group: string; readonly n: number },
  id: string,
  state: string | null,
  flows: Flows,
): void {
  const outcome = flows.outcomes.get(group)?.find((one) => one.n === n)
  const known = flows.groups.get(group)
  if (state !== null && known) {
    // One that was done stays so when the group has succeeded.
    const isKept = outcome?.state === 'done' && known.need > 0 && known.fired.includes('success')
    const told = isKept ? 'done' : state
    assert.deepEqual([outcome?.id, outcome?.state], [id, told], `I-16: the outcome of ${id}`)
  } else if (outcome?.id === id && outcome.state !== 'done' && !outcome.failure?.includes('"duplicate"')) {
    // One that was done stays so until it ends again.
    assert.fail(`I-16: ${id} has an outcome and has not ended`)
  }
}

/** The jobs that groups enqueued between the two. */
export function enqueuedBetween(before: Flows, after: Flows): ReadonlySet<string> {
  const ids = [...after.groups.values()].flatMap(({ id, fired, jobs }) => {
    const earlier = before.groups.get(id)?.fired ?? []
    return fired.filter((event) => !earlier.includes(event)).flatMap((event) => jobs[event]?.id ?? [])
  })
  return new Set(ids)
}

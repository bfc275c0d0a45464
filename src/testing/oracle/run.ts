import assert from 'node:assert/strict'
import type { Group } from '../../core/flows/groups.ts'
import type { Job } from '../../core/jobs/job.ts'
import type { Enqueued } from '../../store/flows.ts'
import type { LanesReply } from '../../store/limits.ts'
import type { ChangeReply, ClaimReply, InsertReply, SettleReply, Store } from '../../store/store.ts'
import { memoryStore } from '../../stores/memory/store.ts'
import { auditStore, countedBy } from '../invariants.ts'
import { type Command, groupsIn, jobsIn, type Replies, runsIn, send } from './commands.ts'
import { QUEUES, SPACES, START } from './draw.ts'
import { checkFlows, enqueuedBetween, flowsOf, mergedHints, NO_FLOWS, openIn, type Seen } from './flows.ts'
import { Ledger, type Snapshot } from './ledger.ts'
import { checkClaimed } from './limits.ts'

/** Where a history went wrong: the number of the command, and how. */
export interface Mismatch {
  readonly step: number
  readonly problem: string
}

/** Every so many commands, lists and counts are read in full and not only jobs by id. */
const AUDIT_EVERY = 12

/**
 * Sends the commands to the store, through one or two handles, and, unless it is its own model, to a memory
 * store, and compares every reply and every job after every command. Returns the first mismatch, or null.
 */
export async function runCommands(
  handles: readonly [Store, ...Store[]],
  commands: readonly Command[],
  options: {
    readonly compare: boolean
    readonly audit?: ((store: Store, now: number) => Promise<void>) | undefined
  },
): Promise<Mismatch | null> {
  const model = options.compare ? memoryStore() : null
  const ledger = new Ledger()
  const ids = {
    jobs: idsOf(jobsIn(commands)),
    groups: idsOf(groupsIn(commands)),
    runs: idsOf(runsIn(commands)),
  }
  let before: Seen = { jobs: new Map(), flows: NO_FLOWS }
  let now = START

  for (const [step, command] of commands.entries()) {
    if (command.do === 'pass') now += command.ms
    try {
      const store = handles[command.by] ?? handles[0]
      const replies = await send(store, command, now)
      const after = await see(handles[0], ids)
      if (model) {
        const expected = await send(model, command, now)
        const modelled = await see(model, ids)
        const shown = (raw: Replies): Replies => comparable(command, raw, modelled.jobs)
        assert.deepEqual(shown(replies), shown(expected), 'the reply differs from that of the memory store')
        assert.deepEqual(
          withoutArrivals(after.jobs),
          withoutArrivals(modelled.jobs),
          'the jobs differ from those of the memory store',
        )
        assert.deepEqual(
          after.flows,
          modelled.flows,
          'the groups and runs differ from those of the memory store',
        )
        const groups = someOf([...after.flows.groups.values()], step)
        const open = await openIn(store, groups)
        assert.deepEqual(open, await openIn(model, groups), 'the open members differ')
      }
      const enqueued = enqueuedBetween(before.flows, after.flows)
      checkFlows(command, replies, before, after, now)
      ledger.check(command, replies, before.jobs, after.jobs, enqueued, now)
      await checkClaimed(store, command, replies, after.jobs, now)
      await checkCounts(store, after.jobs, now)
      if (step % AUDIT_EVERY === 0 || step === commands.length - 1) {
        await auditStore(store, Object.fromEntries(SPACES.map((space) => [space, [...QUEUES]])), now)
        await options.audit?.(handles[0], now)
      }
      before = after
    } catch (error) {
      return { step, problem: error instanceof Error ? error.message : String(error) }
    }
  }
  return null
}

/** Which numbers a store gives to arrivals is its own affair; which jobs have one is not. */
function withoutArrivals(jobs: Snapshot): Snapshot {
  return new Map(Array.from(jobs, ([id, job]) => [id, withoutArrival(job)]))
}

function withoutArrival(job: Job): Job {
  return job.arrival === undefined ? job : { ...job, arrival: 0 }
}

/** A reply without what the contract leaves open. */
function comparable(command: Command, replies: Replies, after: Snapshot): Replies {
  if (command.do === 'insert') {
    const { results, enqueued } = replies[0] as InsertReply
    // Of a job that was discarded only the fact is remembered.
    const known = results.map((result, n) =>
      result.status === 'ok' && !after.has(command.jobs[n]?.id ?? '') ? { status: 'ok' } : result,
    )
    return [known, mergedHints(enqueued)]
  }
  if (command.do === 'change') {
    // A cursor is the store's own affair; that there is one is not.
    const reply = replies[0] as ChangeReply
    return [{ ...withHints(reply), cursor: reply.cursor === null ? null : 'some' }]
  }
  if (command.do === 'claim') return [withoutGuess(replies[0] as ClaimReply)]
  if (command.do === 'settle') {
    const reply = replies[0] as SettleReply
    return [{ ...withHints(reply), claimed: reply.claimed && withoutGuess(reply.claimed) }]
  }
  if (command.do === 'list')
    return (replies as readonly (readonly Job[])[]).map((jobs) => jobs.map(withoutArrival))
  if (command.do === 'lanes') return [withoutBlank(replies[0] as LanesReply)]
  return replies.map((reply) => (hasHints(reply) ? withHints(reply) : reply))
}

type Hinting = { readonly enqueued?: readonly Enqueued[] }

function hasHints(reply: unknown): reply is Hinting {
  return typeof reply === 'object' && reply !== null && 'enqueued' in reply
}

function withHints<Reply extends Hinting>(reply: Reply): Omit<Reply, 'enqueued'> & { enqueued: unknown } {
  return { ...reply, enqueued: mergedHints(reply.enqueued) }
}

/** When a store forgets a lane that has nothing to tell is its own affair, and a start in the past means now. */
function withoutBlank(reply: LanesReply): LanesReply {
  const { now } = reply
  const lanes = reply.lanes
    .filter(({ running, occupant, startsAt }) => running > 0 || occupant !== null || startsAt > now)
    .map((lane) => ({ ...lane, startsAt: Math.max(now, lane.startsAt) }))
  return { ...reply, lanes }
}

/** With limits, a store may tell people to look again earlier than need be. */
function withoutGuess(reply: ClaimReply): unknown {
  return reply.limited ? { ...reply, nextDueAt: null } : reply
}

/** Some of the groups, others at each step. */
function someOf(groups: readonly Group[], step: number): readonly Group[] {
  return groups.filter((_, n) => n % 5 === step % 5)
}

function idsOf(items: readonly { readonly id: string }[]): readonly string[] {
  return [...new Set(items.map(({ id }) => id))]
}

async function see(
  store: Store,
  ids: Readonly<Record<'jobs' | 'groups' | 'runs', readonly string[]>>,
): Promise<Seen> {
  return { jobs: await snapshot(store, ids.jobs), flows: await flowsOf(store, ids) }
}

async function snapshot(store: Store, ids: readonly string[]): Promise<Snapshot> {
  const found = new Map<string, Job>()
  for (const space of SPACES) {
    const { jobs } = await store.get({ space, ids })
    for (const job of jobs) if (job) found.set(job.id, job)
  }
  return found
}

async function checkCounts(store: Store, jobs: Snapshot, now: number): Promise<void> {
  for (const space of SPACES) {
    const { queues } = await store.counts({ space, now })
    for (const queue of QUEUES) {
      const real = [...jobs.values()].filter((job) => job.space === space && job.queue === queue)
      const expected = countedBy(queue, real, now)
      const counted = queues.find((entry) => entry.queue === queue) ?? countedBy(queue, [], now)
      assert.deepEqual(counted, expected, `I-25: the counts of ${space}/${queue}`)
    }
  }
}

import assert from 'node:assert/strict'
import type { ClaimedJob, Job } from '../../core/jobs/job.ts'
import { holdsQueue } from '../../core/lanes/holds.ts'
import { isInRange } from '../../core/lanes/key-range.ts'
import { DEFAULT_LANE } from '../../core/lanes/lanes.ts'
import { type LimitFields, laneLimitOf, overlaid, queueLimitsOf } from '../../core/lanes/limit-fields.ts'
import type { LimitTarget } from '../../store/limits.ts'
import type { ClaimReply, SettleReply, Source, Store } from '../../store/store.ts'
import type { Command, Replies } from './commands.ts'

/** What a command has claimed anew. */
function claimedBy(command: Command, replies: Replies): readonly ClaimedJob[] {
  if (command.do === 'claim' && !command.again) return (replies[0] as ClaimReply).jobs
  if (command.do === 'settle' && !command.claim?.again) return (replies[0] as SettleReply).claimed?.jobs ?? []
  return []
}

/** The sources of what a command has claimed. */
function sourcesOf(command: Command): readonly Source[] {
  if (command.do === 'claim') return command.sources
  return command.do === 'settle' ? (command.claim?.sources ?? []) : []
}

/** Checks what was claimed against the ranges of the claim, what is held (I-13) and what may run at once (I-11), as the store itself tells it. */
export async function checkClaimed(
  store: Store,
  command: Command,
  replies: Replies,
  after: ReadonlyMap<string, Job>,
  now: number,
): Promise<void> {
  const claimed = claimedBy(command, replies)
  if (claimed.length === 0) return
  for (const { id, space, queue, lane } of claimed) {
    const sources = sourcesOf(command).filter((source) => source.space === space && source.queue === queue)
    const isWanted = sources.some(({ keys }) => keys === undefined || isInRange(keys, lane))
    assert.ok(isWanted, `job ${id} was claimed although its key is in no range of the claim`)
  }
  const { holds } = await store.holds({ now })
  for (const { id, space, queue, lane } of claimed) {
    const held = holds.find(
      (hold) =>
        holdsQueue(hold, space, queue) ||
        (hold.space === space && hold.queue === queue && hold.lane === (lane ?? DEFAULT_LANE)),
    )
    assert.equal(held, undefined, `I-13: job ${id} was claimed although it is held`)
  }
  for (const space of new Set(claimed.map((job) => job.space))) {
    await checkRoom(store, space, claimed, [...after.values()])
  }
}

async function checkRoom(
  store: Store,
  space: string,
  claimed: readonly ClaimedJob[],
  jobs: readonly Job[],
): Promise<void> {
  const { limits } = await store.limits({ space })
  const said = (target: LimitTarget): LimitFields => {
    const record = limits.find((each) => sameTarget(each.target, target))
    return record ? overlaid(record.declared, record.changed) : {}
  }
  const sharedOf = (queue: string): string | null => queueLimitsOf(said({ queue })).shared
  const running = jobs.filter((job) => job.space === space && job.state === 'running')
  for (const { queue, lane } of claimed.filter((job) => job.space === space)) {
    const whole = queueLimitsOf(said({ queue }))
    const inQueue = running.filter((job) => job.queue === queue)
    const inLane = inQueue.filter((job) => job.lane === lane)
    const own = laneLimitOf(whole.lanes, said({ queue, lane: lane ?? DEFAULT_LANE }))
    atMost(inQueue.length, whole.concurrency, `queue ${queue}`)
    atMost(inLane.length, own.strict ? 1 : own.concurrency, `lane ${lane} of ${queue}`)
    if (whole.shared === null) continue
    const { concurrency } = queueLimitsOf(said({ shared: whole.shared }))
    const inAll = running.filter((job) => sharedOf(job.queue) === whole.shared)
    atMost(inAll.length, concurrency, `the shared limit ${whole.shared}`)
  }
}

function atMost(running: number, concurrency: number | null, what: string): void {
  if (concurrency === null) return
  assert.ok(running <= concurrency, `I-11: ${running} jobs run in ${what}, where ${concurrency} may`)
}

function sameTarget(a: LimitTarget, b: LimitTarget): boolean {
  if ('shared' in a || 'shared' in b) return 'shared' in a && 'shared' in b && a.shared === b.shared
  return a.queue === b.queue && a.lane === b.lane
}

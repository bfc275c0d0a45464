/**
 * Open issues, the worst first. Each rule is a pure function of what was read. A rule that is not sure reports nothing: false
 * alarms make a list useless.
 */

import { countText, manyText, matchesPattern, type QueueExplanation, spanText } from '../../index.ts'
import type { Attention, QueueSummary } from '../schema/outputs.ts'

const MINUTE = 60_000
/** A queue whose oldest job waits longer than this, and longer than before, is behind. */
const LONG_MS = 5 * MINUTE
/** Runs that failed, of those of the last ten minutes. */
const FAILING_SHARE = 0.2
const FAILING_RUNS = 10
const LAG_MS = 500
/** Two versions at once are a deploy; after this they are an accident. */
const SKEW_MS = 10 * MINUTE
/** More queues than this are reported together. */
const MOST_ALONE = 3
/** A slot that is later than this was not fired. */
const LATE_MS = 2 * MINUTE

/** What was read. */
export interface Sight {
  readonly now: number
  readonly queues: readonly QueueSummary[]
  /** Over the last ten minutes, by queue. */
  readonly ends: readonly { readonly queue: string; readonly done: number; readonly failed: number }[]
  /** How long the oldest job of each queue waited some time ago. */
  readonly before: ReadonlyMap<string, number>
  /** Why jobs wait, of the queues that are behind or have a lane that is held. */
  readonly explained: ReadonlyMap<string, QueueExplanation>
  /** How many jobs died within the last hour, queue by queue. */
  readonly died: ReadonlyMap<string, { readonly count: number; readonly isExact: boolean }>
  readonly workers: readonly {
    readonly id: string
    readonly host: string
    readonly isLive: boolean
    readonly isGone: boolean
    readonly running: number
    readonly lagMs: number | null
    readonly version: string | null
    readonly startedAt: number
  }[]
  readonly schedules: readonly {
    readonly id: string
    readonly nextAt: number | null
    readonly isPaused: boolean
  }[]
  readonly receivers: readonly {
    readonly name: string
    /** Names, or patterns. */
    readonly queues: readonly string[]
    readonly credits: number
    readonly unacked: number
    readonly oldestAt: number | null
  }[]
  readonly notifier: { readonly status: 'up' | 'down' | 'off'; readonly detail: string }
}

/** All that needs attention: what is critical first. */
export function attentionOf(sight: Sight): readonly Attention[] {
  const all = [
    ...noWorker(sight),
    ...sight.queues.flatMap((queue) => [
      ...held(queue),
      ...heldLanes(queue, sight),
      ...backlog(queue, sight),
      ...failing(queue, sight),
      ...dead(queue, sight),
    ]),
    ...goneWorkers(sight),
    ...laggingWorkers(sight),
    ...versions(sight),
    ...lateSchedules(sight),
    ...stuckReceivers(sight),
    ...notifier(sight),
  ]
  return all.toSorted((a, b) => Number(b.level === 'critical') - Number(a.level === 'critical'))
}

/** Each by itself while they are few; together when a deploy or an outage has left many alone. */
function noWorker({ queues }: Sight): Attention[] {
  // One that is held is not expected to run.
  const alone = queues.filter(({ unhandled, hold }) => unhandled > 0 && hold === null)
  if (alone.length > MOST_ALONE) {
    const named = alone.slice(0, MOST_ALONE).map(({ queue }) => queue)
    const ready = alone.reduce((sum, { unhandled }) => sum + unhandled, 0)
    const text = `No worker takes jobs of ${countText(alone.length)} queues (${named.join(', ')} and others), and ${waiting(ready)}.`
    return [{ level: 'critical', kind: 'no-worker', text, link: '/queues?only=unhandled' }]
  }
  return alone.map(({ queue, unhandled }) => ({
    level: 'critical',
    kind: 'no-worker',
    text: `No worker takes jobs of ${queue}, and ${waiting(unhandled)}.`,
    link: linkOf(queue),
  }))
}

function held({ queue, counts, hold, holds }: QueueSummary): Attention[] {
  if (hold === null || counts.ready === 0) return []
  const [first] = holds
  const who = first?.by == null ? '' : ` by ${first.by}`
  const why = first?.reason == null ? '' : ` (${first.reason})`
  const text = `${queue} is ${hold === 'pause' ? 'paused' : 'blocked'}${who}${why}, and ${waiting(counts.ready)}.`
  return [{ level: 'warning', kind: 'held', text, link: linkOf(queue) }]
}

/** Lanes that are paused or blocked and have jobs. Several of one queue are reported together. */
function heldLanes({ queue, hold }: QueueSummary, { explained }: Sight): Attention[] {
  const lanes = (explained.get(queue)?.causes ?? []).filter(
    ({ cause, lanes: of }) => cause === 'held' && of > 0,
  )
  const [first] = lanes
  // What holds all of the queue is said already.
  if (first === undefined || hold !== null) return []
  const link = linkOf(queue)
  if (lanes.length === 1 && first.lanes === 1) {
    const who = first.hold?.by == null ? '' : ` by ${first.hold.by}`
    const why = first.hold?.reason == null ? '' : ` (${first.hold.reason})`
    const what = first.hold?.kind === 'block' ? 'blocked' : 'paused'
    const name = first.lane === '' ? 'The default lane' : `Lane ${first.lane}`
    const text = `${name} of ${queue} is ${what}${who}${why}, and ${waiting(first.jobs)}.`
    return [{ level: 'warning', kind: 'held', text, link }]
  }
  const many = lanes.reduce((sum, one) => sum + one.lanes, 0)
  const text = `${countText(many)} lanes of ${queue} are paused or blocked, and ${waiting(lanes.reduce((sum, { jobs }) => sum + jobs, 0))}.`
  return [{ level: 'warning', kind: 'held', text, link }]
}

/** Whether a queue is behind, so that it is worth while to ask why. */
export function isBehind({ oldestMs, counts }: Pick<QueueSummary, 'oldestMs' | 'counts'>): boolean {
  return counts.ready > 0 && oldestMs !== null && oldestMs >= LONG_MS
}

/** Most of the jobs wait for this; what needs an operator first. */
function mainCause(explanation: QueueExplanation | undefined): string {
  const full = explanation?.causes.find(({ cause }) => NAMED_CAUSES.has(cause))
  return full === undefined ? '' : ` ${full.text.charAt(0).toUpperCase()}${full.text.slice(1)}`
}

/** Causes that are not said by a line of their own. */
const NAMED_CAUSES: ReadonlySet<string> = new Set([
  'lane-full',
  'occupied',
  'queue-full',
  'shared-full',
  'rate',
  'lane-waits',
  'workers-busy',
])

function backlog(
  { queue, counts, oldestMs, workers, hold }: QueueSummary,
  { before, explained }: Sight,
): Attention[] {
  const earlier = before.get(queue)
  const isGrowing = earlier !== undefined && oldestMs !== null && oldestMs > earlier
  if (oldestMs === null || oldestMs < LONG_MS || !isGrowing || workers === 0 || hold !== null) return []
  const text = `${queue} falls behind: its oldest job has waited ${spanText(oldestMs)}, and ${waiting(counts.ready)}.${mainCause(explained.get(queue))}`
  return [{ level: 'warning', kind: 'backlog', text, link: linkOf(queue) }]
}

function failing({ queue }: QueueSummary, { ends }: Sight): Attention[] {
  const end = ends.find((one) => one.queue === queue)
  const runs = (end?.done ?? 0) + (end?.failed ?? 0)
  if (end === undefined || runs < FAILING_RUNS || end.failed / runs <= FAILING_SHARE) return []
  const percent = Math.round((end.failed / runs) * 100)
  const text = `${percent} % of the ${countText(runs)} runs of ${queue} in the last 10 minutes failed.`
  const level = end.failed / runs > 0.5 ? 'critical' : 'warning'
  return [{ level, kind: 'failing', text, link: `/errors?queue=${encodeURIComponent(queue)}` }]
}

function dead({ queue }: QueueSummary, { died }: Sight): Attention[] {
  const { count = 0, isExact = true } = died.get(queue) ?? {}
  if (count === 0) return []
  const some = isExact ? manyText(count, 'job') : `${countText(count)} jobs or more`
  const text = `${some} of ${queue} died within the last hour.`
  const query = encodeURIComponent(`state:dead queue:${queue} since:1h`)
  return [{ level: 'warning', kind: 'dead', text, link: `/jobs?q=${query}` }]
}

function goneWorkers({ workers }: Sight): Attention[] {
  return workers
    .filter(({ isGone, running }) => isGone && running > 0)
    .map(({ id, host, running }) => ({
      level: 'warning',
      kind: 'worker-gone',
      text: `A worker on ${host} is gone with ${manyText(running, 'job')}, which others take over.`,
      link: `/workers?id=${encodeURIComponent(id)}`,
    }))
}

function laggingWorkers({ workers }: Sight): Attention[] {
  return workers
    .filter(({ isLive, lagMs }) => isLive && lagMs !== null && lagMs >= LAG_MS)
    .map(({ id, host, lagMs }) => ({
      level: 'warning',
      kind: 'worker-lagging',
      text: `The event loop of a worker on ${host} is ${spanText(lagMs as number)} late: a handler blocks it.`,
      link: `/workers?id=${encodeURIComponent(id)}`,
    }))
}

function versions({ workers, now }: Sight): Attention[] {
  const live = workers.filter(({ isLive, version }) => isLive && version !== null)
  const found = [...new Set(live.map(({ version }) => version as string))]
  if (found.length < 2) return []
  // A deploy is over when the newest version has been there for long.
  const youngest = Math.max(
    ...found.map((version) =>
      Math.min(...live.filter((one) => one.version === version).map((one) => one.startedAt)),
    ),
  )
  const forMs = now - youngest
  if (forMs < SKEW_MS) return []
  const text = `Workers of ${found.length} versions (${found.slice(0, 3).join(', ')}) have run side by side for ${spanText(forMs)}.`
  return [{ level: 'warning', kind: 'version-skew', text, link: '/workers' }]
}

function lateSchedules({ schedules, now }: Sight): Attention[] {
  return schedules
    .filter(({ nextAt, isPaused }) => !isPaused && nextAt !== null && now - nextAt > LATE_MS)
    .map(({ id, nextAt }) => ({
      level: 'warning',
      kind: 'schedule-late',
      text: `The schedule ${id} is ${spanText(now - (nextAt as number))} late: no worker fires it.`,
      link: `/schedules/${encodeURIComponent(id)}`,
    }))
}

/** A receiver that has used all credits for long. Its stream is alive, so its jobs are not handed to others. */
function stuckReceivers({ receivers, queues, now }: Sight): Attention[] {
  return receivers.flatMap(({ name, queues: served, credits, unacked, oldestAt }): Attention[] => {
    const forMs = oldestAt === null ? 0 : now - oldestAt
    const ready = queues
      .filter(({ queue, hold }) => hold === null && served.some((pattern) => matchesPattern(pattern, queue)))
      .reduce((sum, { counts }) => sum + counts.ready, 0)
    if (unacked < credits || forMs < LONG_MS || ready === 0) return []
    const had = unacked === 1 ? 'its job' : `a job of its ${countText(unacked)}`
    const text = `The receiver ${name} has not answered for ${had} for ${spanText(forMs)}, takes no more, and ${waiting(ready)}.`
    return [{ level: 'warning', kind: 'receiver', text, link: '/receivers' }]
  })
}

function notifier({ notifier: { status, detail } }: Sight): Attention[] {
  if (status !== 'down') return []
  const text = `The notifier is down (${detail}). Jobs still run, found by polling, a little later.`
  return [{ level: 'warning', kind: 'notifier', text, link: '/system' }]
}

function waiting(ready: number): string {
  return ready === 1 ? '1 job waits' : `${countText(ready)} jobs wait`
}

function linkOf(queue: string): string {
  return `/queues/${encodeURIComponent(queue)}`
}

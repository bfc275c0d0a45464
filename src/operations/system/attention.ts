/**
 * The issues under "Needs attention", critical ones first. Each rule is a pure function of a snapshot and
 * does no I/O. A rule reports nothing when in doubt: a list with false alarms is not read.
 */

import { countText, manyText, matchesPattern, type QueueExplanation, spanText } from '../../index.ts'
import type { Attention, QueueSummary } from '../schema/outputs.ts'

const MINUTE = 60_000
/**
 * A queue has a backlog if its oldest job has waited longer than this, and longer than in the previous
 * snapshot.
 */
const LONG_MS = 5 * MINUTE
/** The share of failed attempts in the last ten minutes, and the minimum number of attempts. */
const FAILING_SHARE = 0.2
const FAILING_MIN = 10
const LAG_MS = 500
/** Two versions at once are a deploy; after this long they are reported. */
const SKEW_MS = 10 * MINUTE
/** More queues than this are reported in one line. */
const MAX_LISTED = 3
/** A slot overdue by this much is reported. */
const LATE_MS = 2 * MINUTE

/** The state that the rules look at. */
export interface Snapshot {
  readonly now: number
  readonly queues: readonly QueueSummary[]
  /** Completed attempts of the last ten minutes, per queue. */
  readonly ends: readonly { readonly queue: string; readonly done: number; readonly failed: number }[]
  /** How long the oldest job of each queue had waited in an earlier snapshot. */
  readonly before: ReadonlyMap<string, number>
  /** Why jobs wait, for queues with a backlog or a paused or blocked lane. */
  readonly explained: ReadonlyMap<string, QueueExplanation>
  /** The number of jobs that died in the last hour, per queue. */
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
    /** Queue names or patterns. */
    readonly queues: readonly string[]
    readonly credits: number
    readonly unacked: number
    readonly oldestAt: number | null
  }[]
  readonly notifier: { readonly status: 'up' | 'down' | 'off'; readonly detail: string }
}

/** All issues, critical ones first. */
export function attentionOf(snapshot: Snapshot): readonly Attention[] {
  const all = [
    ...noWorker(snapshot),
    ...snapshot.queues.flatMap((queue) => [
      ...held(queue),
      ...heldLanes(queue, snapshot),
      ...backlog(queue, snapshot),
      ...failing(queue, snapshot),
      ...dead(queue, snapshot),
    ]),
    ...goneWorkers(snapshot),
    ...laggingWorkers(snapshot),
    ...versions(snapshot),
    ...lateSchedules(snapshot),
    ...stuckReceivers(snapshot),
    ...notifier(snapshot),
  ]
  return all.toSorted((a, b) => Number(b.level === 'critical') - Number(a.level === 'critical'))
}

/** One line per queue while there are few; a single line when a deploy or an outage affects many. */
function noWorker({ queues }: Snapshot): Attention[] {
  // A paused or blocked queue needs no worker.
  const unserved = queues.filter(({ unhandled, hold }) => unhandled > 0 && hold === null)
  if (unserved.length > MAX_LISTED) {
    const named = unserved.slice(0, MAX_LISTED).map(({ queue }) => queue)
    const ready = unserved.reduce((sum, { unhandled }) => sum + unhandled, 0)
    const text = `No worker for ${countText(unserved.length)} queues (${named.join(', ')} and others): ${waiting(ready)}.`
    return [{ level: 'critical', kind: 'no-worker', text, link: '/queues?only=unhandled' }]
  }
  return unserved.map(({ queue, unhandled }) => ({
    level: 'critical',
    kind: 'no-worker',
    text: `No worker for ${queue}: ${waiting(unhandled)}.`,
    link: linkOf(queue),
  }))
}

function held({ queue, counts, hold, holds }: QueueSummary): Attention[] {
  if (hold === null || counts.ready === 0) return []
  const [first] = holds
  const who = first?.by == null ? '' : ` by ${first.by}`
  const why = first?.reason == null ? '' : ` (${first.reason})`
  const text = `${queue} is ${hold === 'pause' ? 'paused' : 'blocked'}${who}${why}: ${waiting(counts.ready)}.`
  return [{ level: 'warning', kind: 'held', text, link: linkOf(queue) }]
}

/** Paused or blocked lanes with waiting jobs. Several lanes of a queue share one line. */
function heldLanes({ queue, hold }: QueueSummary, { explained }: Snapshot): Attention[] {
  const lanes = (explained.get(queue)?.causes ?? []).filter(
    ({ cause, lanes: of }) => cause === 'held' && of > 0,
  )
  const [first] = lanes
  // A hold on the whole queue has its own line.
  if (first === undefined || hold !== null) return []
  const link = linkOf(queue)
  if (lanes.length === 1 && first.lanes === 1) {
    const who = first.hold?.by == null ? '' : ` by ${first.hold.by}`
    const why = first.hold?.reason == null ? '' : ` (${first.hold.reason})`
    const what = first.hold?.kind === 'block' ? 'blocked' : 'paused'
    const name = first.lane === '' ? 'The default lane' : `Lane ${first.lane}`
    const text = `${name} of ${queue} is ${what}${who}${why}: ${waiting(first.jobs)}.`
    return [{ level: 'warning', kind: 'held', text, link }]
  }
  const many = lanes.reduce((sum, one) => sum + one.lanes, 0)
  const text = `${countText(many)} lanes of ${queue} are paused or blocked: ${waiting(lanes.reduce((sum, { jobs }) => sum + jobs, 0))}.`
  return [{ level: 'warning', kind: 'held', text, link }]
}

/** Whether a queue has a backlog that is worth explaining. */
export function isBehind({ oldestMs, counts }: Pick<QueueSummary, 'oldestMs' | 'counts'>): boolean {
  return counts.ready > 0 && oldestMs !== null && oldestMs >= LONG_MS
}

/** The main cause of a backlog. */
function mainCause(explanation: QueueExplanation | undefined): string {
  const main = explanation?.causes.find(({ cause }) => NAMED_CAUSES.has(cause))
  return main === undefined ? '' : ` ${main.text.charAt(0).toUpperCase()}${main.text.slice(1)}`
}

/** Causes without a line of their own. */
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
  { before, explained }: Snapshot,
): Attention[] {
  const earlier = before.get(queue)
  const isGrowing = earlier !== undefined && oldestMs !== null && oldestMs > earlier
  if (oldestMs === null || oldestMs < LONG_MS || !isGrowing || workers === 0 || hold !== null) return []
  const text = `${queue} has a growing backlog of ${waiting(counts.ready)}, the oldest for ${spanText(oldestMs)}.${mainCause(explained.get(queue))}`
  return [{ level: 'warning', kind: 'backlog', text, link: linkOf(queue) }]
}

function failing({ queue }: QueueSummary, { ends }: Snapshot): Attention[] {
  const end = ends.find((one) => one.queue === queue)
  const attempts = (end?.done ?? 0) + (end?.failed ?? 0)
  if (end === undefined || attempts < FAILING_MIN || end.failed / attempts <= FAILING_SHARE) return []
  const percent = Math.round((end.failed / attempts) * 100)
  const text = `${queue}: ${percent} % of ${countText(attempts)} attempts failed in the last 10 minutes.`
  const level = end.failed / attempts > 0.5 ? 'critical' : 'warning'
  return [{ level, kind: 'failing', text, link: `/errors?queue=${encodeURIComponent(queue)}` }]
}

function dead({ queue }: QueueSummary, { died }: Snapshot): Attention[] {
  const { count = 0, isExact = true } = died.get(queue) ?? {}
  if (count === 0) return []
  const jobs = isExact ? manyText(count, 'job') : `at least ${countText(count)} jobs`
  const text = `${queue}: ${jobs} died in the last hour.`
  const query = encodeURIComponent(`state:dead queue:${queue} since:1h`)
  return [{ level: 'warning', kind: 'dead', text, link: `/jobs?q=${query}` }]
}

function goneWorkers({ workers }: Snapshot): Attention[] {
  return workers
    .filter(({ isGone, running }) => isGone && running > 0)
    .map(({ id, host, running }) => ({
      level: 'warning',
      kind: 'worker-gone',
      text: `Worker on ${host} lost with ${manyText(running, 'running job')}. Other workers take over.`,
      link: `/workers?id=${encodeURIComponent(id)}`,
    }))
}

function laggingWorkers({ workers }: Snapshot): Attention[] {
  return workers
    .filter(({ isLive, lagMs }) => isLive && lagMs !== null && lagMs >= LAG_MS)
    .map(({ id, host, lagMs }) => ({
      level: 'warning',
      kind: 'worker-lagging',
      text: `Worker on ${host} has an event-loop lag of ${spanText(lagMs as number)}: a handler blocks it.`,
      link: `/workers?id=${encodeURIComponent(id)}`,
    }))
}

function versions({ workers, now }: Snapshot): Attention[] {
  const live = workers.filter(({ isLive, version }) => isLive && version !== null)
  const found = [...new Set(live.map(({ version }) => version as string))]
  if (found.length < 2) return []
  // The skew starts when the newest version appears.
  const youngest = Math.max(
    ...found.map((version) =>
      Math.min(...live.filter((one) => one.version === version).map((one) => one.startedAt)),
    ),
  )
  const forMs = now - youngest
  if (forMs < SKEW_MS) return []
  const text = `Workers have run ${found.length} different versions (${found.slice(0, 3).join(', ')}) for ${spanText(forMs)}.`
  return [{ level: 'warning', kind: 'version-skew', text, link: '/workers' }]
}

function lateSchedules({ schedules, now }: Snapshot): Attention[] {
  return schedules
    .filter(({ nextAt, isPaused }) => !isPaused && nextAt !== null && now - nextAt > LATE_MS)
    .map(({ id, nextAt }) => ({
      level: 'warning',
      kind: 'schedule-late',
      text: `Schedule ${id} is ${spanText(now - (nextAt as number))} late: no worker fires it.`,
      link: `/schedules/${encodeURIComponent(id)}`,
    }))
}

/**
 * A receiver at its credit limit that has not acknowledged for long while jobs wait. Its stream is alive, so
 * its leases are renewed.
 */
function stuckReceivers({ receivers, queues, now }: Snapshot): Attention[] {
  return receivers.flatMap(({ name, queues: served, credits, unacked, oldestAt }): Attention[] => {
    const forMs = oldestAt === null ? 0 : now - oldestAt
    const ready = queues
      .filter(({ queue, hold }) => hold === null && served.some((pattern) => matchesPattern(pattern, queue)))
      .reduce((sum, { counts }) => sum + counts.ready, 0)
    if (unacked < credits || forMs < LONG_MS || ready === 0) return []
    const text = `Receiver ${name} is stuck: ${manyText(unacked, 'unacknowledged job')}, the oldest for ${spanText(forMs)}, while ${waiting(ready)} cannot be delivered.`
    return [{ level: 'warning', kind: 'receiver', text, link: '/receivers' }]
  })
}

function notifier({ notifier: { status, detail } }: Snapshot): Attention[] {
  if (status !== 'down') return []
  const text = `The notifier is down (${detail}). Workers find jobs by polling, with some delay.`
  return [{ level: 'warning', kind: 'notifier', text, link: '/system' }]
}

function waiting(ready: number): string {
  return manyText(ready, 'waiting job')
}

function linkOf(queue: string): string {
  return `/queues/${encodeURIComponent(queue)}`
}

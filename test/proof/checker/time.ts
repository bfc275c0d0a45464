import type { AuditEntry, EnqueueRecord, Violation } from '../history.ts'
import {
  claimsLease,
  commanded,
  type Invariant,
  type JobView,
  releasesLease,
  type View,
  waits,
} from './view.ts'

/** I-9: nothing starts before its time, neither by the store's clock nor by the clock of whoever enqueued it. */
export const notEarly: Invariant = function* (view) {
  const sharers = sharersOfKeys(view)
  const clock = latestTimes(view)
  for (const job of view.jobs.values()) {
    for (const entry of job.audit) {
      const why =
        claimedEarly(view, entry, clock.get(entry) as number) ??
        dueEarly(view, entry) ??
        broughtForward(view, job, entry)
      if (why !== null) yield early(job.id, why)
    }
    const why = startedEarly(view, job, sharers)
    if (why !== null) yield early(job.id, why)
  }
}

/** The latest time the store's clock had shown at each change: a job that was due stays so when the clock goes back. */
function latestTimes(view: View): ReadonlyMap<AuditEntry, number> {
  const times = new Map<AuditEntry, number>()
  let latest = -Infinity
  for (const entry of view.audit) {
    latest = Math.max(latest, entry.at)
    times.set(entry, latest)
  }
  return times
}

function claimedEarly(view: View, entry: AuditEntry, latest: number): string | null {
  const { before } = entry
  if (before === null || !claimsLease(entry)) return null
  const ms = before.dueAt - latest
  return ms > view.facts.slackMs ? `It was claimed ${ms} ms before it was due.` : null
}

/** After a failure it waits at least as long as the policy says. */
function dueEarly(view: View, entry: AuditEntry): string | null {
  const { at, before, after } = entry
  if (!releasesLease(entry) || !waits(after?.state)) return null
  const facts = view.facts.queues[after?.queue ?? '']
  const [was, is] = [before?.counters, after?.counters]
  if (!facts || !was || !is || !after) return null
  for (const name of ['errors', 'timeouts', 'lost'] as const) {
    const missing = at + facts.backoffMs[name] - after.dueAt
    if (is[name] > was[name] && missing > view.facts.slackMs) {
      return `After one of its ${name} it is due ${missing} ms too early.`
    }
  }
  return null
}

/** Only a promote, or another job with the same unique key, brings a waiting job forward. */
function broughtForward(view: View, job: JobView, entry: AuditEntry): string | null {
  const { before, after } = entry
  if (!before || !after || !waits(before.state) || !waits(after.state) || before.unique) return null
  if (after.dueAt >= before.dueAt || commanded(view, job, 'promote', entry)) return null
  return `It was brought forward by ${before.dueAt - after.dueAt} ms, and nobody asked for it.`
}

function startedEarly(view: View, job: JobView, sharers: ReadonlyMap<string, number>): string | null {
  const asked = job.enqueues[0]?.invoke
  // A retried, promoted or replaced job has another time than the one it was enqueued with.
  if (asked === undefined || job.commands.some(({ invoke }) => invoke.action === 'promote')) return null
  if (asked.unique && (sharers.get(keyOf(asked)) ?? 0) > 1) return null
  for (const start of job.starts) {
    const ms = asked.notBefore - start.at
    if (start.generation === 0 && ms > view.facts.slackMs) return `It started ${ms} ms too early.`
  }
  return null
}

/** How many enqueues there were of each unique key: with more than one, times and payloads may be taken over. */
export function sharersOfKeys(view: View): ReadonlyMap<string, number> {
  const sharers = new Map<string, number>()
  for (const { enqueues } of view.jobs.values()) {
    for (const { invoke } of enqueues) {
      if (invoke.unique) sharers.set(keyOf(invoke), (sharers.get(keyOf(invoke)) ?? 0) + 1)
    }
  }
  return sharers
}

export function keyOf({ queue, unique }: EnqueueRecord): string {
  return JSON.stringify([queue, unique?.key])
}

function early(about: string, message: string): Violation {
  return { invariant: 'I-9', kind: 'early-start', about, message }
}

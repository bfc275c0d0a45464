import type { AuditEntry, AuditRow } from '../history.ts'
import { claimsLease, ends, type Invariant, type JobView, retries, type View } from './view.ts'

/** I-3: a unique key is held by one job at a time, and a duplicate is a duplicate of a job with that very key. */
export const uniqueKeys: Invariant = function* (view) {
  yield* holders(view)
  yield* duplicates(view)
}

interface Hold {
  readonly id: string
  /** Null: until its job starts or ends. */
  readonly until: number | null
}

function* holders(view: View): ReturnType<Invariant> {
  const holds = new Map<string, Hold>()
  // A window that was over stays over when the store's clock goes back.
  let latest = -Infinity
  for (const entry of view.audit) {
    latest = Math.max(latest, entry.at)
    const row = entry.after ?? (entry.before as AuditRow)
    if (!row.unique) continue
    const key = keyOf(row.queue, row.unique.key)
    const held = holds.get(key)

    if (takes(entry)) {
      if (held && held.id !== entry.id && lasts(held, latest + view.facts.slackMs)) {
        yield {
          invariant: 'I-3',
          kind: 'unique-broken',
          about: row.unique.key,
          message: `Job ${entry.id} took the key while job ${held.id} held it.`,
        }
      }
      holds.set(key, { id: entry.id, until: until(view, entry, row) })
    } else if (held?.id === entry.id && lets(entry, row)) holds.delete(key)
  }
}

function takes(entry: AuditEntry): boolean {
  const scope = (entry.after ?? entry.before)?.unique?.scope
  return entry.before === null || (retries(entry) && scope !== 'window')
}

function lets(entry: AuditEntry, row: AuditRow): boolean {
  if (row.unique?.scope === 'window') return false
  if (entry.after === null || ends(entry.after.state)) return true
  return row.unique?.scope === 'queued' && claimsLease(entry)
}

function lasts(hold: Hold, at: number): boolean {
  return hold.until === null || hold.until > at
}

function until(view: View, entry: AuditEntry, row: AuditRow): number | null {
  if (row.unique?.scope !== 'window') return null
  const windows = view.jobs.get(entry.id)?.enqueues.map(({ invoke }) => invoke.unique?.windowMs ?? 0) ?? []
  return entry.at + Math.max(0, ...windows)
}

function* duplicates(view: View): ReturnType<Invariant> {
  for (const job of view.jobs.values()) {
    for (const { invoke, answer } of job.enqueues) {
      if (answer?.type !== 'ok' || answer.duplicateOf === undefined) continue
      const why = wrongDuplicate(view, job, invoke.queue, invoke.unique?.key, answer.duplicateOf)
      if (why !== null) yield { invariant: 'I-3', kind: 'unique-broken', about: job.id, message: why }
    }
  }
}

function wrongDuplicate(
  view: View,
  job: JobView,
  queue: string,
  key: string | undefined,
  other: string,
): string | null {
  if (job.audit.length > 0) return `It was said to be a duplicate of job ${other}, but it is there as well.`
  const holder = view.jobs.get(other)
  const hasKey = (holder?.enqueues ?? []).some(
    ({ invoke }) => invoke.queue === queue && invoke.unique?.key === key,
  )
  const row = holder?.audit[0]?.after
  if (key === undefined || !(hasKey || (row?.queue === queue && row.unique?.key === key))) {
    return `It was said to be a duplicate of job ${other}, which has another key.`
  }
  return null
}

function keyOf(queue: string, key: string): string {
  return JSON.stringify([queue, key])
}

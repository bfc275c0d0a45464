import { JOB_STATES, type JobState } from '../../../src/core/jobs/job.ts'
import type { QueueCounts } from '../../../src/store/store.ts'
import type { AuditEntry, AuditRow, CountsRecord } from '../history.ts'
import { entryOf, type Invariant, type View } from './view.ts'

/** I-25: the numbers that people see are the numbers of jobs there are. */
export const countsAgree: Invariant = function* (view) {
  const { counts } = view.facts
  if (counts === undefined) return
  const tally = tallyOf(view)
  for (const queue of new Set([...Object.keys(counts), ...tally.keys()])) {
    for (const state of JOB_STATES) {
      const said = counts[queue]?.[state] ?? 0
      const is = tally.get(queue)?.get(state) ?? 0
      if (said === is) continue
      const message = `${said} jobs are said to be ${state}; ${is} are.`
      yield { invariant: 'I-25', kind: 'miscounted', about: queue, message }
    }
  }
}

/**
 * I-25: whoever asks in between is told how many jobs are in each state by the clock, and since when the oldest has waited, as it
 * was at some moment between the question and the answer. A transaction of a program may be open meanwhile: what it has changed
 * is in the audit, and shows later. Only where one order covers everything.
 */
export const countsGoByTheClock: Invariant = function* (view) {
  if (!view.order.total) return
  const rows = new Map<string, AuditRow>()
  let at = 0
  const goTo = (end: number): void => {
    for (; at < end; at++) apply(rows, view.audit[at] as AuditEntry)
  }
  const looks = view.looks.filter(({ answer }) => answer?.type === 'ok')
  for (const { invoke, answer } of looks.toSorted((a, b) => a.invoke.n - b.invoke.n)) {
    const { now, counts } = answer as Required<CountsRecord>
    const isBefore = (entry: AuditEntry | undefined): boolean =>
      entry !== undefined && view.order.isAfter(invoke, entry)
    let first = at
    while (isBefore(view.audit[first])) first++
    // The moments are looked through from a little before the question on.
    goTo(Math.max(at, first - IN_OPEN_TRANSACTIONS))
    const seen = new Map(rows)
    const said = counts.filter(hasJobs).map(textOf)
    let isTrue = saysSo(seen, now, said)
    for (let next = at; !isTrue; next++) {
      const entry = view.audit[next]
      if (entry === undefined || view.order.isBefore(answer as CountsRecord, entry)) break
      apply(seen, entry)
      isTrue = saysSo(seen, now, said)
    }
    if (isTrue) continue
    const message = `At ${now} it was told ${said.join('; ')}, and that was never so.`
    yield { invariant: 'I-25', kind: 'not-by-the-clock', about: invoke.proc, message }
  }
}

/** So many changes a transaction of a program makes at most before it commits, with those of others beside it. */
const IN_OPEN_TRANSACTIONS = 20

function apply(rows: Map<string, AuditRow>, { id, after }: AuditEntry): void {
  // The recorder writes down looks at the usual space.
  if (after && (after.space ?? 'default') === 'default') rows.set(id, after)
  else rows.delete(id)
}

function saysSo(rows: ReadonlyMap<string, AuditRow>, now: number, said: readonly string[]): boolean {
  const queues = new Map<string, AuditRow[]>()
  for (const row of rows.values()) entryOf(queues, row.queue, () => []).push(row)
  const real = [...queues]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([queue, own]) => textOf(countedOf(queue, own, now)))
  return real.length === said.length && real.every((text, n) => text === said[n])
}

/** Written apart from the stores and their suite: what the figures of a queue with these jobs have to be. */
function countedOf(queue: string, rows: readonly AuditRow[], now: number): QueueCounts {
  const states = Object.fromEntries(JOB_STATES.map((state) => [state, 0])) as Record<JobState, number>
  let overdue = 0
  let oldestDueAt: number | null = null
  for (const { state, dueAt } of rows) {
    const isOverdue = state === 'delayed' && dueAt <= now
    if (isOverdue) overdue++
    states[isOverdue ? 'ready' : state]++
    if (isOverdue || state === 'ready') oldestDueAt = Math.min(dueAt, oldestDueAt ?? dueAt)
  }
  return { queue, states, overdue, oldestDueAt }
}

function hasJobs({ states }: QueueCounts): boolean {
  return Object.values(states).some((count) => count > 0)
}

function textOf({ queue, states, overdue, oldestDueAt }: QueueCounts): string {
  const numbers = JOB_STATES.filter((state) => states[state] > 0).map((state) => `${states[state]} ${state}`)
  return `${queue}: ${numbers.join(', ')}, ${overdue} overdue, oldest ${oldestDueAt}`
}

function tallyOf(view: View): Map<string, Map<JobState, number>> {
  const tally = new Map<string, Map<JobState, number>>()
  const { countedAt = -Infinity } = view.facts
  for (const { queue, state: stored, dueAt } of view.final.values()) {
    // By the clock: a delayed job is ready when it is due, although no claim has moved it.
    const state = stored === 'delayed' && dueAt <= countedAt ? 'ready' : stored
    const states = entryOf(tally, queue, () => new Map<JobState, number>())
    states.set(state, (states.get(state) ?? 0) + 1)
  }
  return tally
}

import type { AuditEntry, Violation } from '../history.ts'
import { keyOf } from './time.ts'
import { entryOf, type Invariant, type JobView, type LeaseView, type View } from './view.ts'

/** I-18: the stored result is what the run that succeeded returned, and that is what everybody is told. */
export const rightResult: Invariant = function* (view) {
  for (const job of view.jobs.values()) {
    for (const lease of job.leases) {
      const why = wrongSaved(lease) ?? wrongTold(lease)
      if (why !== null) yield wrong(job.id, why)
    }
    const why = wrongAnswer(job) ?? wrongInTheEnd(view, job)
    if (why !== null) yield wrong(job.id, why)
  }
}

/** I-19: a handler gets the payload that was enqueued, byte by byte. */
export const rightPayload: Invariant = function* (view) {
  const byKey = payloadsByKey(view)
  for (const { id, enqueues, starts } of view.jobs.values()) {
    if (enqueues.length === 0) continue
    const allowed = new Set(
      enqueues.flatMap(({ invoke }) => [
        invoke.payload,
        // Another job with the same key may have replaced this one's payload.
        ...(invoke.unique ? (byKey.get(keyOf(invoke)) ?? []) : []),
      ]),
    )
    const bad = starts.find(({ payload }) => !allowed.has(payload))
    if (bad) {
      const message = `Its handler got ${short(bad.payload)} instead of ${short(enqueues[0]?.invoke.payload)}.`
      yield { invariant: 'I-19', kind: 'wrong-payload', about: id, message }
    }
  }
}

function payloadsByKey(view: View): Map<string, Set<string>> {
  const byKey = new Map<string, Set<string>>()
  for (const { enqueues } of view.jobs.values()) {
    for (const { invoke } of enqueues) {
      if (invoke.unique) entryOf(byKey, keyOf(invoke), () => new Set<string>()).add(invoke.payload)
    }
  }
  return byKey
}

function wrongSaved({ release, settles, ends }: LeaseView): string | null {
  const result = resultOf(release)
  if (result === undefined) return null
  const sent = settles.map(({ invoke }) => invoke).filter(({ to }) => to === 'done')
  if (sent.length > 0 && !sent.some(({ value }) => value === result)) {
    return `Its result is ${short(result)}, but ${short(sent[0]?.value)} was sent.`
  }
  const returned = ends.find(({ how }) => how === 'returned')
  // A handler that saves its own success does so before it returns, and may then return anything.
  const isOwn = returned && sent.some(({ proc, n }) => proc === returned.proc && n < returned.n)
  return returned && !isOwn && returned.value !== result
    ? `Its result is ${short(result)}, but its handler returned ${short(returned.value)}.`
    : null
}

function wrongTold({ release, told }: LeaseView): string | null {
  const result = resultOf(release)
  if (result === undefined) return null
  // Whoever learns only afterwards that the job was done does not know the result.
  const bad = told.find(({ event, value }) => event === 'finished' && value !== null && value !== result)
  return bad ? `A listener heard of ${short(bad.value)}, but its result is ${short(result)}.` : null
}

/** Somebody waited for the result and got one that the job never had. */
function wrongAnswer({ audit, told }: JobView): string | null {
  const answers = told.filter(({ event }) => event === 'result')
  if (answers.length === 0) return null
  const results = audit.map(resultOf).filter((result) => result !== undefined)
  const isKnown = audit.some(({ after }) => after?.state === 'done' && after.result !== undefined)
  const isDone = audit.some(({ after }) => after === null || after.state === 'done')
  if (!isDone) return 'Somebody got a result, but it was never done.'
  const bad = isKnown ? answers.find(({ value }) => !results.includes(value)) : undefined
  return bad ? `Somebody got ${short(bad.value)}, but its result is ${short(results[0])}.` : null
}

function wrongInTheEnd(view: View, { id, audit }: JobView): string | null {
  const saved = audit.at(-1)?.after?.result
  const kept = view.final.get(id)?.result
  return saved === undefined || kept === undefined || saved === kept
    ? null
    : `Its result was ${short(saved)}, and is ${short(kept)} in the end.`
}

function resultOf(entry: AuditEntry | null): string | null | undefined {
  return entry?.after?.state === 'done' ? entry.after.result : undefined
}

function short(text: string | null | undefined): string {
  if (text === null || text === undefined) return 'nothing'
  return text.length > 60 ? `${text.slice(0, 60)}… (${text.length} characters)` : text
}

function wrong(about: string, message: string): Violation {
  return { invariant: 'I-18', kind: 'wrong-result', about, message }
}

import type { AuditEntry, JoinFact } from '../history.ts'
import { ends, entryOf, type Invariant, type View, waits } from './view.ts'

/** I-16: a join fires once, not before the last of its children has ended, and not never. */
export const joinsFireOnce: Invariant = function* (view) {
  const { joins } = view.facts
  if (joins === undefined) return
  const fired = firedJoins(view)
  for (const join of joins) {
    const about = keyOf(join)
    const jobs = fired.get(about) ?? new Map<string, AuditEntry>()
    if (jobs.size > 1) {
      const message = `It fired as jobs ${[...jobs.keys()].join(' and ')}.`
      yield { invariant: 'I-16', kind: 'join-duplicate', about, message }
    }
    if (jobs.size === 0) yield { invariant: 'I-16', kind: 'join-stuck', about, message: 'It never fired.' }
    const [first] = jobs.values()
    const open = first && join.children.find((child) => !hadEnded(view, child, first))
    if (open !== undefined) {
      const message = `It fired before child ${open} had ended.`
      yield { invariant: 'I-16', kind: 'join-early', about, message }
    }
  }
}

/** For each join the jobs it became, and when each could first run. */
function firedJoins(view: View): Map<string, Map<string, AuditEntry>> {
  const fired = new Map<string, Map<string, AuditEntry>>()
  for (const entry of view.audit) {
    const { id, after } = entry
    if (!after?.join || !(waits(after.state) || after.state === 'running')) continue
    const jobs = entryOf(fired, keyOf(after.join), () => new Map<string, AuditEntry>())
    if (!jobs.has(id)) jobs.set(id, entry)
  }
  return fired
}

function hadEnded(view: View, child: string, fire: AuditEntry): boolean {
  const end = view.jobs.get(child)?.audit.find(({ after }) => after === null || ends(after.state))
  return end !== undefined && end.seq <= fire.seq
}

function keyOf({ run, node }: Pick<JoinFact, 'run' | 'node'>): string {
  return `${run}/${node}`
}

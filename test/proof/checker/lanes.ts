import type { AuditEntry, AuditRow, Violation } from '../history.ts'
import { claimsLease, ends, type Invariant, redrives, releasesLease } from './view.ts'

/** I-10: the jobs of a strict lane run one at a time, each after the end of all that were enqueued before it. */
export const lanesInOrder: Invariant = function* (view) {
  const lanes = new Map((view.facts.order ?? []).map((name) => [name, new Lane()]))
  if (lanes.size === 0) return
  for (const entry of view.audit) {
    const { queue, lane } = (entry.after ?? entry.before) as AuditRow
    const why = lanes.get(`${queue}/${lane ?? ''}`)?.follow(entry) ?? null
    if (why !== null) yield outOfOrder(entry.id, why)
  }
}

class Lane {
  /** In the order in which they came; those before `#head` have all ended. */
  readonly #line: string[] = []
  readonly #ended = new Set<string>()
  readonly #running = new Set<string>()
  #head = 0

  follow(entry: AuditEntry): string | null {
    const { id, before, after } = entry
    let why: string | null = null
    // A redriven job comes again, behind all that wait.
    if (before === null || redrives(entry)) this.#line.push(arrivalOf(id, after))
    if (releasesLease(entry)) this.#running.delete(id)
    if (claimsLease(entry)) {
      why = this.#wrongStart(id, after)
      this.#running.add(id)
    }
    if (after === null || ends(after.state)) this.#ended.add(arrivalOf(id, after ?? before))
    return why
  }

  #wrongStart(id: string, row: AuditRow | null): string | null {
    const [other] = this.#running
    if (other !== undefined) return `It started while job ${other} of the same lane ran.`
    while (this.#ended.has(this.#line[this.#head] ?? '')) this.#head++
    const first = this.#line[this.#head]
    return first === arrivalOf(id, row)
      ? null
      : `It started before job ${first?.split(' ')[0]} of the same lane had ended.`
  }
}

function arrivalOf(id: string, row: AuditRow | null): string {
  return `${id} ${row?.generation ?? 0}`
}

function outOfOrder(about: string, message: string): Violation {
  return { invariant: 'I-10', kind: 'order-break', about, message }
}

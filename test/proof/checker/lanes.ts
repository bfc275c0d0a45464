import type { AuditEntry, Violation } from '../history.ts'
import { claimsLease, ends, type Invariant, redrives, releasesLease } from './view.ts'

/** I-10: the jobs of a strict lane run one at a time, each after the end of all that were enqueued before it. */
export const lanesInOrder: Invariant = function* (view) {
  const lanes = new Map((view.facts.order ?? []).map((name) => [name, new Lane()]))
  if (lanes.size === 0) return
  for (const entry of view.audit) {
    const lane = lanes.get((entry.after ?? entry.before)?.lane ?? '')
    const why = lane?.follow(entry) ?? null
    if (why !== null) yield outOfOrder(entry.id, why)
  }
}

class Lane {
  /** In the order of their enqueues; those before `#head` have all ended. */
  readonly #line: string[] = []
  readonly #ended = new Set<string>()
  /** Redriven jobs have no place in the line any more. */
  readonly #redriven = new Set<string>()
  readonly #running = new Set<string>()
  #head = 0

  follow(entry: AuditEntry): string | null {
    const { id, before, after } = entry
    let why: string | null = null
    if (before === null) this.#line.push(id)
    if (redrives(entry)) this.#redriven.add(id)
    if (releasesLease(entry)) this.#running.delete(id)
    if (claimsLease(entry)) {
      why = this.#wrongStart(id)
      this.#running.add(id)
    }
    if (after === null || ends(after.state)) this.#ended.add(id)
    return why
  }

  #wrongStart(id: string): string | null {
    const [other] = this.#running
    if (other !== undefined) return `It started while job ${other} of the same lane ran.`
    if (this.#redriven.has(id)) return null
    while (this.#ended.has(this.#line[this.#head] ?? '')) this.#head++
    const first = this.#line[this.#head]
    return first === id ? null : `It started before job ${first} of the same lane had ended.`
  }
}

function outOfOrder(about: string, message: string): Violation {
  return { invariant: 'I-10', kind: 'order-break', about, message }
}

import type { AuditEntry, AuditRow, Violation } from '../history.ts'
import { claimsLease, ends, type Invariant, redrives, releasesLease, type View } from './view.ts'

/** I-10: the jobs of a strict lane run one at a time, each after the end of all that were enqueued before it. */
export const lanesInOrder: Invariant = function* (view) {
  const isBefore = view.facts.overlapping ? surelyBefore(view) : () => true
  const lanes = new Map((view.facts.order ?? []).map((name) => [name, new Lane(isBefore)]))
  if (lanes.size === 0) return
  for (const entry of view.audit) {
    const { queue, lane } = (entry.after ?? entry.before) as AuditRow
    const why = lanes.get(`${queue}/${lane ?? ''}`)?.follow(entry) ?? null
    if (why !== null) yield outOfOrder(entry.id, why)
  }
}

/** One arrival of a job: a redriven one arrives again. */
interface Arrival {
  readonly id: string
  readonly generation: number
}

/** Whether the first came before the second, of two of which the audit saw the first earlier. */
type IsBefore = (first: Arrival, second: Arrival) => boolean

class Lane {
  readonly #isBefore: IsBefore
  /** Those that have not ended, by job and generation, in the order in which the audit saw them come. */
  readonly #line = new Map<string, Arrival>()
  readonly #running = new Set<string>()
  /** The one that has started and has not ended: it keeps the lane while it waits for its next try. */
  #occupant: string | null = null

  constructor(isBefore: IsBefore) {
    this.#isBefore = isBefore
  }

  follow(entry: AuditEntry): string | null {
    const { id, before, after } = entry
    let why: string | null = null
    if (after !== null && (before === null || redrives(entry))) {
      this.#line.set(keyOf(id, after), { id, generation: after.generation })
    }
    if (releasesLease(entry)) this.#running.delete(id)
    if (claimsLease(entry)) {
      why = this.#wrongStart(id, after as AuditRow)
      this.#running.add(id)
      this.#occupant = keyOf(id, after as AuditRow)
    }
    if (after === null || ends(after.state)) {
      const key = keyOf(id, (after ?? before) as AuditRow)
      this.#line.delete(key)
      if (this.#occupant === key) this.#occupant = null
    }
    return why
  }

  #wrongStart(id: string, row: AuditRow): string | null {
    const [other] = this.#running
    if (other !== undefined) return `It started while job ${other} of the same lane ran.`
    const key = keyOf(id, row)
    if (this.#occupant !== null && this.#occupant !== key) return tooEarly(this.#occupant)
    const own = this.#line.get(key)
    if (own === undefined) return 'It started in a lane to which it had not come.'
    for (const [earlier, arrival] of this.#line) {
      if (earlier === key) return null
      if (this.#isBefore(arrival, own)) return tooEarly(earlier)
    }
    return null
  }
}

/** By what the callers were told. When a redriven job came again nobody can tell so exactly. */
function surelyBefore({ jobs, order }: View): IsBefore {
  return (first, second) => {
    if (first.generation + second.generation > 0) return false
    const asked = jobs.get(second.id)?.enqueues ?? []
    const answered = (jobs.get(first.id)?.enqueues ?? []).flatMap(({ answer }) =>
      answer?.type === 'ok' ? [answer] : [],
    )
    return asked.length > 0 && answered.some((ok) => asked.every(({ invoke }) => order.follows(invoke, ok)))
  }
}

function keyOf(id: string, { generation }: AuditRow): string {
  return `${id} ${generation}`
}

function tooEarly(earlier: string): string {
  return `It started before job ${earlier.split(' ')[0]} of the same lane had ended.`
}

function outOfOrder(about: string, message: string): Violation {
  return { invariant: 'I-10', kind: 'order-break', about, message }
}

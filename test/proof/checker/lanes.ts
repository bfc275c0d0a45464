import type { AuditEntry, AuditRow, Violation } from '../history.ts'
import { claimsLease, ends, type Invariant, type JobView, releasesLease, retries, type View } from './view.ts'

/**
 * I-10: the jobs of a strict lane run one at a time, each after the end of all that were enqueued before it. A retried job comes
 * again, and those of one retry come in the order of their enqueues, whatever the order in which the store wrote them.
 */
export const lanesInOrder: Invariant = function* (view) {
  const isBefore = view.facts.overlapping ? surelyBefore(view) : () => true
  const lanes = new Map((view.facts.order ?? []).map((name) => [name, new Lane(view, isBefore)]))
  if (lanes.size === 0) return
  for (const entry of view.audit) {
    const { queue, lane } = (entry.after ?? entry.before) as AuditRow
    const why = lanes.get(`${queue}/${lane ?? ''}`)?.follow(entry) ?? null
    if (why !== null) yield outOfOrder(entry.id, why)
  }
}

/** One arrival of a job: a retried one arrives again. */
interface Arrival {
  readonly id: string
  readonly generation: number
  /** The store's time at its enqueue. */
  readonly bornAt: number
  /** The retry that made it come again, if that is sure. */
  readonly retry: string | null
}

/** Whether the first came before the second, of two of which the audit saw the first earlier. */
type IsBefore = (first: Arrival, second: Arrival) => boolean

class Lane {
  readonly #view: View
  readonly #isBefore: IsBefore
  /** Those that have not ended, by job and generation, in the order in which the audit saw them come. */
  readonly #line = new Map<string, Arrival>()
  readonly #running = new Set<string>()
  /** The one that has started and has not ended: it keeps the lane while it waits for its next try. */
  #occupant: string | null = null

  constructor(view: View, isBefore: IsBefore) {
    this.#view = view
    this.#isBefore = isBefore
  }

  follow(entry: AuditEntry): string | null {
    const { id, before, after } = entry
    let why: string | null = null
    if (after !== null && (before === null || retries(entry))) {
      this.#line.set(keyOf(id, after), this.#arrival(entry, after))
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
    let isBehind = false
    for (const [other, arrival] of this.#line) {
      if (other === key) {
        // What is behind it in the line cannot be before it, unless they came together.
        if (own.retry === null) return null
        isBehind = true
      } else if (own.retry !== null && arrival.retry === own.retry) {
        if (arrival.bornAt + this.#slackMs < own.bornAt) return tooEarly(other)
      } else if (!isBehind && this.#isBefore(arrival, own)) return tooEarly(other)
    }
    return null
  }

  #arrival(entry: AuditEntry, { generation }: AuditRow): Arrival {
    const { id, at } = entry
    const job = this.#view.jobs.get(id)
    return { id, generation, bornAt: job?.audit[0]?.at ?? at, retry: retryOf(this.#view, job, entry) }
  }

  get #slackMs(): number {
    return this.#view.order.total ? 0 : this.#view.facts.slackMs
  }
}

/** The call that retried a job, if only one can have done it. A call that was not answered may have done it at any time. */
export function retryOf({ order }: View, job: JobView | undefined, entry: AuditEntry): string | null {
  const calls = (job?.commands ?? []).filter(
    ({ invoke, answer }) =>
      invoke.action === 'retry' &&
      answer?.result !== 'refused' &&
      answer?.type !== 'fail' &&
      !order.isAfter(invoke, entry) &&
      !(answer?.type === 'ok' && order.isBefore(answer, entry)),
  )
  const [only] = calls
  if (entry.before === null || only === undefined || calls.length > 1 || only.answer?.type !== 'ok')
    return null
  return only.invoke.call === undefined ? null : `${only.invoke.proc} ${only.invoke.call}`
}

/** By what the callers were told. When a retried job came again nobody can tell so exactly. */
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

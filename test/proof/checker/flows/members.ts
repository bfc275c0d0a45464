import type { FinalState } from '../../../../src/core/job.ts'
import type { FlowHistory, RunEntry } from '../../flows/history.ts'
import type { AuditEntry } from '../../history.ts'
import { causesOf, ends, type View } from '../view.ts'

/** How a member ended, or null while it has not. */
export interface End {
  readonly n: number
  readonly state: FinalState | null
  /** JSON text, or null. */
  readonly result: string | null
}

/** All that ever became of the members of groups, from the changes of jobs and runs alone. */
export class Members {
  readonly #view: View
  readonly #flows: FlowHistory
  readonly #runs = new Map<string, RunEntry[]>()
  readonly #ends = new Map<string, readonly End[]>()

  constructor(view: View, flows: FlowHistory) {
    this.#view = view
    this.#flows = flows
    for (const entry of flows.runs) {
      const own = this.#runs.get(entry.after.id)
      if (own) own.push(entry)
      else this.#runs.set(entry.after.id, [entry])
    }
  }

  runs(id: string): readonly RunEntry[] {
    return this.#runs.get(id) ?? []
  }

  /** The ends of a member and the times it was opened again, in order. */
  ends(group: string, n: number): readonly End[] {
    const key = `${group} ${n}`
    const known = this.#ends.get(key)
    if (known) return known
    const found = this.#find(group, n)
    this.#ends.set(key, found)
    return found
  }

  /** What had become of a member by then. */
  at(group: string, n: number, place: number): End | null {
    const end = this.ends(group, n).findLast((one) => one.n <= place)
    return end && end.state !== null ? end : null
  }

  #find(group: string, n: number): readonly End[] {
    const member = this.#flows.members.get(group)?.get(n)
    if (!member) {
      const told = this.#flows.tells.filter((tell) => tell.group === group && n === 0)
      return told.map((tell) => ({ n: tell.n, state: 'done', result: tell.result }))
    }
    if (member.kind === 'run') {
      // One that was done stays so until it ends again.
      return this.runs(member.id)
        .filter(({ before, after }) => after.status !== 'running' || before?.status !== 'done')
        .map(({ n: place, after }) => ({
          n: place,
          state: after.status === 'running' ? null : after.status,
          result: after.result,
        }))
    }
    const kept = this.#flows.final.get(group)?.outcomes.find((outcome) => outcome.n === n)
    const ids = [member.id, ...member.later].filter((id) => this.#auditOf(id).length > 0)
    return ids.flatMap((id, place) => {
      const found = this.#auditOf(id).flatMap((entry) => this.#endOf(entry, kept?.state))
      // One that handed its place on is a member no more from then on, and has not ended.
      const handedOn = place < ids.length - 1 ? found.findIndex(({ state }) => state === 'done') : -1
      return handedOn < 0 ? found : found.slice(0, handedOn)
    })
  }

  #auditOf(id: string): readonly AuditEntry[] {
    return this.#view.jobs.get(id)?.audit ?? []
  }

  /** `kept`: what the store says of it, for one that is gone and of which several who ended it do not know whether they did. */
  #endOf(entry: AuditEntry, kept: FinalState | undefined): readonly End[] {
    const { id, before, after } = entry
    const place = entry.n ?? entry.seq
    if (after !== null) {
      const isOpened = ends(before?.state) && before?.state !== 'done'
      if (!ends(after.state)) return isOpened ? [{ n: place, state: null, result: null }] : []
      return [{ n: place, state: after.state as FinalState, result: after.result ?? null }]
    }
    // What has ended stays so when it is removed.
    if (before === null || ends(before.state)) return []
    if (before.state !== 'running') return [{ n: place, state: 'cancelled', result: null }]
    const lease = this.#view.leaseOf(id, before.token ?? '')
    const causes = lease ? causesOf(this.#view, lease) : []
    const cause = causes.find(({ to }) => to === kept) ?? causes[0]
    return [{ n: place, state: (cause?.to ?? 'cancelled') as FinalState, result: cause?.value ?? null }]
  }
}

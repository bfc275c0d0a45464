import { isOpen, type NewGroup } from '../../../../src/core/flows/groups.ts'
import type { FinalState } from '../../../../src/core/jobs/job.ts'
import type { FlowHistory, RunEntry } from '../../flows/history.ts'
import type { AuditEntry } from '../../history.ts'
import { causesOf, ends, type View } from '../view.ts'
import { asAt } from './open.ts'

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
  readonly #successes = new Map<string, number>()

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
    const found = this.#heeded(group, this.#find(group, n))
    this.#ends.set(key, found)
    return found
  }

  /** When a group has succeeded, its members that are done stay so, whatever becomes of them. */
  #heeded(group: string, all: readonly End[]): readonly End[] {
    const succeeded = this.#succeeded(group)
    const heeded: End[] = []
    for (const end of all) {
      const isKept = heeded.at(-1)?.state === 'done' && end.state !== 'done' && end.n > succeeded
      if (!isKept) heeded.push(end)
    }
    return heeded
  }

  /** Where as many were done as the group needs. */
  #succeeded(group: string): number {
    const known = this.#successes.get(group)
    if (known !== undefined) return known
    const entry = this.#flows.groups.get(group)
    const made = entry && asAt(this.#flows, entry.made, Infinity)
    const place = made && !isOpen(made) && made.need > 0 ? this.#firstWith(group, made) : Infinity
    this.#successes.set(group, place)
    return place
  }

  #firstWith(group: string, { size, need }: NewGroup): number {
    const all = Array.from({ length: size }, (_, n) =>
      this.#find(group, n).map((end) => ({ ...end, member: n })),
    ).flat()
    const done = new Set<number>()
    for (const { n, member, state } of all.toSorted((a, b) => a.n - b.n)) {
      if (state === 'done') done.add(member)
      else done.delete(member)
      if (done.size >= need) return Math.max(n, this.#flows.seals.get(group)?.n ?? n)
    }
    return Infinity
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

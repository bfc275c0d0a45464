import { type GroupEvent, isOpen, memberCount, type NewGroup } from '../../../../src/core/flows/groups.ts'
import type { FlowHistory } from '../../flows/history.ts'
import type { AuditEntry, Violation } from '../../history.ts'
import type { Invariant, View } from '../view.ts'
import { Members } from './members.ts'
import { asAt } from './open.ts'

/** I-16: what a group enqueues exists once, not before its time has come, and not never. */
export const groupsFireOnce: Invariant = function* (view) {
  const { flows } = view
  if (!flows) return
  const members = new Members(view, flows)
  for (const { made } of flows.groups.values()) {
    for (const event of EVENTS) yield* judge(view, members, flows, made, event)
    yield* endsRight(flows, members, asAt(flows, made, Infinity))
    yield* staysSealed(flows, made)
  }
  for (const what of flows.mended) yield stuck(what, 'The audit had to mend it.')
  yield* wholeOrNothing(view, flows)
}

const EVENTS = ['success', 'failure', 'settled'] as const

function* judge(
  view: View,
  members: Members,
  flows: FlowHistory,
  made: NewGroup,
  event: GroupEvent,
): ReturnType<Invariant> {
  const job = made.jobs[event]
  const about = `${made.id} ${event}`
  const fires = job ? insertsOf(view, job.id) : []
  if (fires.length > 1) yield violation('join-duplicate', about, `It fired ${fires.length} times.`)
  const [fire] = fires
  if (fire) {
    const place = fire.n ?? fire.seq
    const group = asAt(flows, made, place)
    const count = countAt(members, group, place)
    const open = isOpen(group) ? ' before it was sealed' : ''
    if (!isTrue(event, group, count))
      yield violation('join-early', about, `It fired with ${told(count)}${open}.`)
  }
  const group = asAt(flows, made, Infinity)
  const end = countAt(members, group, Infinity)
  if (job && !fire && isTrue(event, group, end)) yield stuck(about, `It never fired, with ${told(end)}.`)
}

/** What is kept of a group agrees with what became of its members. */
function* endsRight({ final }: FlowHistory, members: Members, made: NewGroup): ReturnType<Invariant> {
  const kept = final.get(made.id)
  if (!kept) {
    yield violation('lost', made.id, 'The group is gone.')
    return
  }
  const { group, outcomes } = kept
  const count = countAt(members, made, Infinity)
  if (group.done !== count.done || group.failed !== count.failed)
    yield violation('miscounted', made.id, `It counts ${told(group)}, and has ${told(count)}.`)
  const missing = EVENTS.find((event) => isTrue(event, made, count) && !group.fired.includes(event))
  if (missing) yield stuck(made.id, `Its ${missing} is due and has not fired.`)
  for (let n = 0; n < memberCount(made); n++) {
    const end = members.at(made.id, n, Infinity)
    const outcome = outcomes.find((one) => one.n === n)
    if (end?.state !== outcome?.state || (end?.state === 'done' && end.result !== outcome?.result)) {
      const message = `Its member ${n} is ${end?.state ?? 'open'}, and kept as ${outcome?.state ?? 'open'}.`
      yield violation('wrong-result', made.id, message)
    }
  }
}

/** Nobody joins a group that was sealed, and whoever joined before is a member. */
function* staysSealed({ final, members, seals }: FlowHistory, made: NewGroup): ReturnType<Invariant> {
  const kept = final.get(made.id)?.group
  if (!isOpen(made) || !kept) return
  const known = members.get(made.id)?.size ?? 0
  const size = seals.get(made.id)?.size ?? known
  if (memberCount(kept) !== size || known !== size)
    yield violation(
      'miscounted',
      made.id,
      `It has ${memberCount(kept)} members; ${known} joined it, ${size} before the seal.`,
    )
}

/** What is made in one call is there as a whole, or not at all. */
function* wholeOrNothing(view: View, { calls, groups, runs }: FlowHistory): ReturnType<Invariant> {
  const started = new Set(runs.map(({ after }) => after.id))
  for (const call of calls) {
    const is = [
      ...call.runs.map((id) => started.has(id)),
      ...call.groups.map((id) => groups.has(id)),
      ...call.jobs.map((id) => insertsOf(view, id).length > 0),
    ]
    if (new Set(is).size < 2) continue
    const message = `Of ${is.length} things that were made together ${is.filter((there) => there).length} are there.`
    yield violation('not-atomic', call.runs[0] ?? call.groups[0] ?? '', message)
  }
}

interface Count {
  readonly done: number
  readonly failed: number
}

function countAt(members: Members, { id, size }: NewGroup, place: number): Count {
  const states = Array.from(
    { length: memberCount({ size }) },
    (_, n) => members.at(id, n, place)?.state ?? null,
  )
  const done = states.filter((state) => state === 'done').length
  return { done, failed: states.filter((state) => state !== null).length - done }
}

function isTrue(event: GroupEvent, { size, need, failing }: NewGroup, { done, failed }: Count): boolean {
  const isOver = done + failed === size
  if (event === 'settled') return isOver
  if (event === 'success') return done >= need
  if (done >= need) return false
  return failing === 'first' ? failed > 0 : failing === 'hopeless' ? size - failed < need : isOver
}

function insertsOf(view: View, id: string): AuditEntry[] {
  return (view.jobs.get(id)?.audit ?? []).filter(({ before }) => before === null)
}

function told({ done, failed }: Count): string {
  return `${done} done and ${failed} not`
}

function stuck(about: string, message: string): Violation {
  return violation('join-stuck', about, message)
}

function violation(kind: Violation['kind'], about: string, message: string): Violation {
  return { invariant: 'I-16', kind, about, message }
}

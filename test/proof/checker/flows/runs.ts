import type { NewGroup } from '../../../../src/core/flows/groups.ts'
import { readPosition } from '../../../../src/flows/position.ts'
import { signalGroup } from '../../../../src/flows/signals.ts'
import type { FlowHistory, RunEntry } from '../../flows/history.ts'
import type { FlowShape, State } from '../../flows/shape.ts'
import { shapesIn } from '../../flows/walk.ts'
import type { Violation } from '../../history.ts'
import type { Invariant, View } from '../view.ts'
import { type Ends, goTo, interpret, type Story, type Wait, WrongStateError } from './interpret.ts'
import { Members } from './members.ts'
import { same } from './same.ts'

/**
 * I-16: a run does what a plain reading of its shape says, with what its members gave; what it undoes is the reverse of
 * what it did; and it does not stand still while nothing is open that it waits for.
 */
export const runsFollowTheirShape: Invariant = function* (view) {
  const { flows } = view
  if (!flows) return
  const members = new Members(view, flows)
  const shapes = shapesIn(flows.shapes)
  const groups = new Map<string, NewGroup[]>()
  for (const { made, revision } of flows.groups.values()) {
    const key = `${made.run} ${revision}`
    groups.set(key, [...(groups.get(key) ?? []), made])
  }
  for (const id of new Set(flows.runs.map(({ after }) => after.id))) {
    const entries = members.runs(id)
    const [first] = entries
    const shape = first && shapes.get(`${first.after.flow} ${first.after.version}`)
    if (!first || !shape) continue
    try {
      new Reading({ view, flows, members, groups, shape }).read(entries)
    } catch (error) {
      if (!(error instanceof WrongStateError)) throw error
      yield violation('wrong-result', id, error.message)
    }
    const why = stuck(view, flows, entries)
    if (why !== null) yield violation('join-stuck', id, why)
  }
  for (const { run, value } of flows.results) {
    const results = members.runs(run).map(({ after }) => after.result)
    const isKnown = results.some((text) => text !== null && same(JSON.parse(text), JSON.parse(value)))
    if (!isKnown) yield violation('wrong-result', run, `Somebody was given ${value}.`)
  }
}

/** Why a run does not go on although it should. */
function stuck(view: View, { groups }: FlowHistory, entries: readonly RunEntry[]): string | null {
  const { status, position } = (entries.at(-1) as RunEntry).after
  const { waits, failure } = readPosition(position)
  if (status === 'running') return `It is running in the end, and waits for ${waits?.id ?? 'nothing'}.`
  const success = groups.get(waits?.id ?? '')?.made.jobs.success
  if (status === 'failed' && failure === null && success && isThere(view, success.id))
    return 'It has failed, and what it waited for has succeeded.'
  return null
}

interface ReadingParts {
  readonly view: View
  readonly flows: FlowHistory
  readonly members: Members
  /** By run and revision. */
  readonly groups: ReadonlyMap<string, readonly NewGroup[]>
  readonly shape: FlowShape
}

/** One run, read along its shape. */
class Reading {
  readonly #parts: ReadingParts
  readonly #story: Story = { state: {}, seek: null, rounds: new Map(), signals: new Map(), done: [] }
  #steps: ReturnType<typeof interpret>
  #wait: Wait | null = null
  /** fresh: it has not begun, or not from there. again: it has not begun once more what it stood at. */
  #stage: 'fresh' | 'again' | 'on' | 'undoing' = 'fresh'
  #group: NewGroup | null = null

  constructor(parts: ReadingParts) {
    this.#parts = parts
    this.#steps = interpret(parts.shape.parts, this.#story)
  }

  read(entries: readonly RunEntry[]): void {
    const [first, ...rest] = entries as [RunEntry, ...RunEntry[]]
    this.#story.state = inputOf(first)
    if (readPosition(first.after.position).waits?.id !== 'begin') this.#begin(first)
    else this.#assertState(first)
    for (const entry of rest) this.#move(entry)
  }

  #move(entry: RunEntry): void {
    const { before, after } = entry
    const { waits, from } = readPosition(after.position)
    const isRetry = before?.status !== 'running' && after.status === 'running' && waits?.id === 'begin'
    if (after.status === 'cancelled') this.#assertState(entry)
    else if (isRetry) this.#retry(from)
    else if (this.#stage === 'fresh' || this.#stage === 'again') this.#begin(entry)
    else if (this.#stage === 'undoing' || isFailure(entry)) this.#undo(entry)
    else this.#goOn(entry)
  }

  #goOn(entry: RunEntry): void {
    this.#assertFired(entry, ['success', 'settled'])
    this.#assertTold(entry)
    this.#arrive(this.#steps.next({ after: stateOf(entry), ends: this.#ends(entry) }), entry)
  }

  #retry(from: string | undefined): void {
    const { shape } = this.#parts
    if (from !== undefined) {
      goTo(shape.parts, this.#story, from, true)
      this.#steps = interpret(shape.parts, this.#story)
      this.#stage = 'fresh'
    } else if (this.#stage !== 'fresh') this.#stage = 'again'
  }

  #begin(entry: RunEntry): void {
    const isOver = this.#stage === 'again' && this.#wait === null
    const next = this.#steps.next('again')
    this.#stage = 'on'
    this.#arrive(isOver ? { done: true, value: undefined } : next, entry)
  }

  /** It has come to where it must wait, or to its end. */
  #arrive(next: IteratorResult<Wait, void>, entry: RunEntry): void {
    this.#assertState(entry)
    const { status, result } = entry.after
    this.#wait = next.done ? null : next.value
    this.#group = this.#made(entry)
    if (this.#wait === null) {
      if (status !== 'done') throw wrong(entry, `is ${status} at its end`)
      if (!same(JSON.parse(result ?? 'null'), this.#story.state)) throw wrong(entry, `gave ${result}`)
      return
    }
    if (status !== 'running') throw wrong(entry, `is ${status} before its end`)
    this.#assertGroup(entry, this.#wait)
  }

  #assertGroup(entry: RunEntry, wait: Wait): void {
    const group = this.#group
    if (wait.kind === 'sleep') {
      if (group !== null) throw wrong(entry, 'waits for a group where it shall sleep')
      return
    }
    if (group === null) throw wrong(entry, `has nothing to wait for at a ${wait.kind}`)
    if (wait.kind === 'signal') {
      const isIt = group.id === signalGroup(entry.after.id, wait.name, wait.nth)
      if (!isIt || group.size !== (wait.isTimed ? 2 : 1) || group.need !== 1)
        throw wrong(entry, `waits for something else than signal ${wait.name} for the ${wait.nth}th time`)
      return
    }
    const { members, need, failing } = wait
    if (group.size !== members.length || group.need !== need || group.failing !== failing)
      throw wrong(entry, `waits for ${group.need} of ${group.size} (${group.failing})`)
    for (const [n, { work, input }] of members.entries()) {
      const isIt = 'queue' in work ? this.#isJob(group, n, work.queue, input) : this.#isRun(group, n, input)
      if (!isIt) throw wrong(entry, `has another member ${n} than it shall`)
    }
  }

  #isJob(group: NewGroup, n: number, queue: string, input: unknown): boolean {
    const { view, flows } = this.#parts
    const member = flows.members.get(group.id)?.get(n)
    const [enqueue] = view.jobs.get(member?.id ?? '')?.enqueues ?? []
    return enqueue?.invoke.queue === queue && same(JSON.parse(enqueue.invoke.payload), input)
  }

  #isRun(group: NewGroup, n: number, input: State): boolean {
    const member = this.#parts.flows.members.get(group.id)?.get(n)
    const [first] = member ? this.#parts.members.runs(member.id) : []
    return first !== undefined && same(JSON.parse(first.after.state), input)
  }

  /** A failed run, or one that undoes the last thing that was done. */
  #undo(entry: RunEntry): void {
    const { done } = this.#story
    this.#assertState(entry)
    if (this.#stage === 'undoing') {
      this.#assertFired(entry, ['settled'])
      const undone = done.pop()
      if (undone) {
        goTo(this.#parts.shape.parts, this.#story, undone.part, false)
        this.#steps = interpret(this.#parts.shape.parts, this.#story)
      }
    } else {
      this.#assertFired(entry, ['failure'])
    }
    const last = done.at(-1)
    if (last === undefined) {
      if (entry.after.status !== 'failed') throw wrong(entry, `is ${entry.after.status} after it failed`)
      // What was undone is done again, should somebody retry it.
      const wasUndone = this.#stage === 'undoing'
      this.#stage = wasUndone ? 'fresh' : 'on'
      return
    }
    this.#stage = 'undoing'
    this.#group = this.#made(entry)
    if (this.#group === null || !this.#isJob(this.#group, 0, 'undone', last.result))
      throw wrong(entry, `does not undo ${last.part}`)
  }

  /** What it waited for had fired. */
  #assertFired(entry: RunEntry, events: readonly ('success' | 'failure' | 'settled')[]): void {
    const group = this.#group
    if (group === null) return
    const jobs = events.flatMap((event) => group.jobs[event] ?? [])
    if (!jobs.some(({ id }) => isThere(this.#parts.view, id, entry.n)))
      throw wrong(entry, `moved on without the ${events.join(' or ')} of ${group.id}`)
  }

  /** A signal gives what was sent to it, or nothing when its time was over. */
  #assertTold(entry: RunEntry): void {
    const wait = this.#wait
    if (wait?.kind !== 'signal') return
    const value = stateOf(entry)[wait.name]
    const told = this.#parts.flows.tells.filter(({ group }) => group === this.#group?.id)
    const isIt =
      value === null ? wait.isTimed : told.some(({ result }) => same(JSON.parse(result ?? 'null'), value))
    if (!isIt) throw wrong(entry, `was told ${JSON.stringify(value)} by signal ${wait.name}`)
  }

  #ends({ n: place }: RunEntry): Ends {
    const { members } = this.#parts
    const id = this.#group?.id ?? ''
    const until = (n: number): ReturnType<Members['ends']> =>
      members.ends(id, n).filter((end) => end.n <= place)
    return {
      done: (n) =>
        until(n).flatMap(({ state, result }) =>
          state === 'done' ? [result === null ? null : (JSON.parse(result) as unknown)] : [],
        ),
      others: (n) => until(n).flatMap(({ state }) => (state === null || state === 'done' ? [] : [state])),
    }
  }

  #made({ after }: RunEntry): NewGroup | null {
    return this.#parts.groups.get(`${after.id} ${after.revision}`)?.[0] ?? null
  }

  #assertState(entry: RunEntry): void {
    if (same(stateOf(entry), this.#story.state)) return
    throw wrong(entry, `has the state ${entry.after.state} and not ${JSON.stringify(this.#story.state)}`)
  }
}

function isFailure({ after }: RunEntry): boolean {
  return after.status === 'failed' || readPosition(after.position).failure !== null
}

/** What a run began with. */
function inputOf({ after }: RunEntry): State {
  if (after.member !== null) return JSON.parse(after.state) as State
  const [attribute = ''] = after.attributes
  return { n: Number(attribute.slice(attribute.indexOf(':') + 1)) }
}

function stateOf({ after }: RunEntry): State {
  return JSON.parse(after.state) as State
}

function isThere(view: View, job: string, before = Infinity): boolean {
  return (view.jobs.get(job)?.audit ?? []).some((entry) => (entry.n ?? entry.seq) < before)
}

function wrong({ after }: RunEntry, what: string): WrongStateError {
  return new WrongStateError(`At revision ${after.revision} it ${what}.`)
}

function violation(kind: Violation['kind'], about: string, message: string): Violation {
  return { invariant: 'I-16', kind, about, message }
}

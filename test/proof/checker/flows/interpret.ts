import {
  type EachPart,
  goesRound,
  isTaken,
  itemOf,
  type ParallelPart,
  type Part,
  payloadOf,
  type RepeatPart,
  type SleepPart,
  type State,
  type StepPart,
  type Work,
} from '../../flows/shape.ts'
import { insideOf, nameOf } from '../../flows/walk.ts'
import { same } from './same.ts'

/** What a run has to wait for at a part of its shape. */
export type Wait =
  | SleepPart
  | { readonly kind: 'signal'; readonly name: string; readonly nth: number; readonly isTimed: boolean }
  | {
      readonly kind: 'work'
      readonly members: readonly {
        readonly work: Work | { readonly branch: string }
        readonly input: State
      }[]
      readonly need: number
      readonly failing: 'first' | 'hopeless' | 'end'
      readonly hasUndo: boolean
    }

/** What has happened: the run shall wait for the same once more, or it went on and has this state now. */
export type Answer = 'again' | { readonly after: State; readonly ends: Ends }

/** What ever became of a member until then. */
export interface Ends {
  done(n: number): readonly unknown[]
  /** States other than done. */
  others(n: number): readonly string[]
}

/** Where a run stands, as a plain reading of its shape has it. */
export interface Story {
  state: State
  /** The part from which it shall go on. */
  seek: string | null
  readonly rounds: Map<RepeatPart, number>
  readonly signals: Map<string, number>
  /** What was done and can be undone, the last one last. */
  readonly done: { readonly part: string; readonly result: unknown }[]
}

/** A state that the shape and the outcomes do not lead to. */
export class WrongStateError extends Error {}

/** Goes through a shape, one part after the other, and stops where there is something to wait for. */
export function* interpret(parts: readonly Part[], story: Story): Generator<Wait, void, Answer> {
  for (const part of parts) {
    if (story.seek !== null) {
      if (!contains(part, story.seek)) continue
      if (nameOf(part) === story.seek) story.seek = null
    }
    yield* enter(part, story)
  }
}

function* enter(part: Part, story: Story): Generator<Wait, void, Answer> {
  switch (part.kind) {
    case 'step':
      return yield* step(part, story)
    case 'each':
      return yield* each(part, story)
    case 'parallel':
      return yield* parallel(part, story)
    case 'when': {
      const { seek } = story
      const yes = seek === null ? isTaken(part, story.state) : part.yes.some((one) => contains(one, seek))
      return yield* interpret((yes ? part.yes : part.no) ?? [], story)
    }
    case 'repeat':
      return yield* repeat(part, story)
    case 'sleep':
      yield* until(() => part)
      return
    case 'signal': {
      const { after } = yield* until(() => {
        const nth = story.signals.get(part.name) ?? 0
        story.signals.set(part.name, nth + 1)
        return { kind: 'signal', name: part.name, nth, isTimed: part.timeoutMs !== null }
      })
      // What it was told is compared with what was sent to this very group.
      story.state = { ...story.state, [part.name]: after[part.name] }
    }
  }
}

/** Waits until it goes on; each time it is tried again there is something new to wait for. */
function* until(wait: () => Wait): Generator<Wait, Exclude<Answer, 'again'>, Answer> {
  for (;;) {
    const answer = yield wait()
    if (answer !== 'again') return answer
  }
}

function* repeat(part: RepeatPart, story: Story): Generator<Wait, void, Answer> {
  for (;;) {
    if (story.seek === null) {
      const round = story.rounds.get(part) ?? 0
      if (!goesRound(part, story.state, round)) break
      story.rounds.set(part, round + 1)
    }
    yield* interpret(part.body, story)
  }
  story.rounds.delete(part)
}

function* step(part: StepPart, story: Story): Generator<Wait, void, Answer> {
  const { after, ends } = yield* until(() => ({
    kind: 'work',
    members: [{ work: part.work, input: payloadOf(part, story.state) }],
    need: 1,
    failing: 'end',
    hasUndo: part.undo,
  }))
  const adds = (result: unknown): State =>
    part.as !== null ? { [part.as]: result } : isObject(result) ? result : {}
  const result = ends
    .done(0)
    .find((one) => Object.entries(adds(one)).every(([key, value]) => same(after[key], value)))
  if (result === undefined) throw new WrongStateError(`Nothing that step ${part.name} gave is in its state.`)
  story.state = { ...story.state, ...adds(result) }
  if (part.undo) story.done.push({ part: part.name, result })
}

function* each(part: EachPart, story: Story): Generator<Wait, void, Answer> {
  if (part.items === 0) {
    story.state = { ...story.state, [part.name]: [] }
    return
  }
  const items = Array.from({ length: part.items }, (_, n) => itemOf(n))
  const { after, ends } = yield* until(() => ({
    kind: 'work',
    members: items.map((input) => ({ work: part.work, input })),
    need: part.join === 'settled' ? 0 : part.join === 'first' ? part.need : part.items,
    failing: part.join === 'failFast' ? 'first' : part.join === 'first' ? 'hopeless' : 'end',
    hasUndo: false,
  }))
  const got = after[part.name]
  if (!Array.isArray(got) || !isPossible(part, got, ends))
    throw new WrongStateError(`Step ${part.name} has collected what its members did not give.`)
  story.state = { ...story.state, [part.name]: got }
}

function isPossible({ join, items, need }: EachPart, got: readonly unknown[], ends: Ends): boolean {
  const gave = (n: number, value: unknown): boolean => ends.done(n).some((one) => same(one, value))
  if (join === 'first') {
    let n = 0
    for (const value of got) {
      while (n < items && !gave(n, value)) n++
      if (n++ >= items) return false
    }
    return got.length === need
  }
  if (got.length !== items) return false
  if (join !== 'settled') return got.every((value, n) => gave(n, value))
  return got.every((one, n) => {
    const { ok, result, state } = one as { ok: boolean; result: unknown; state: string }
    // Somebody may have retried it; then the step was decided without it.
    return ok ? gave(n, result) : state === 'cancelled' || ends.others(n).includes(state)
  })
}

function* parallel(part: ParallelPart, story: Story): Generator<Wait, void, Answer> {
  const { after, ends } = yield* until(() => ({
    kind: 'work',
    members: part.branches.map(({ name, work }) => ({
      work: 'parts' in work ? { branch: name } : work,
      input: story.state,
    })),
    need: part.branches.length,
    failing: part.join === 'failFast' ? 'first' : 'end',
    hasUndo: false,
  }))
  for (const [n, { name }] of part.branches.entries()) {
    if (!ends.done(n).some((one) => same(one, after[name])))
      throw new WrongStateError(`Under ${name} is not what that branch gave.`)
    story.state = { ...story.state, [name]: after[name] }
  }
}

export function contains(part: Part, name: string): boolean {
  if (nameOf(part) === name) return true
  return insideOf(part).some((parts) => parts.some((one) => contains(one, name)))
}

/** Goes on from a part: loops around it are in their first round, or in the one in which they are, and all others begin anew. */
export function goTo(parts: readonly Part[], story: Story, name: string, keepsRound: boolean): void {
  const before = new Map(story.rounds)
  story.rounds.clear()
  story.seek = name
  const around = (all: readonly Part[]): void => {
    for (const part of all) {
      if (!contains(part, name)) continue
      if (part.kind === 'repeat')
        story.rounds.set(part, Math.max(1, keepsRound ? (before.get(part) ?? 0) : 0))
      for (const inside of insideOf(part)) around(inside)
    }
  }
  around(parts)
}

function isObject(value: unknown): value is State {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

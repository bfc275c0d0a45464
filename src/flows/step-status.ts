import type { Path } from './definition.ts'
import type { StepOutline } from './outline.ts'
import type { Position } from './position.ts'

/** `unknown`: the run is past it, and there is no record of whether it was taken. */
export type StepStatus = 'done' | 'current' | 'todo' | 'skipped' | 'unknown'

export interface StepStanding {
  readonly name: string
  readonly kind: StepOutline['kind']
  /** Its position: indexes, with the keywords of inner sequences between them. */
  readonly path: string
  readonly status: StepStatus
  /** The iteration, for a loop that the run is in. */
  readonly round: number | null
}

type Walked = Pick<Position, 'path' | 'rounds' | 'took'>

/** The position in a sequence: a path, or the status of all of its steps. */
type Where = Path | Exclude<StepStatus, 'current'>

/** The status of each step of a run, in order. Null: not started. */
export function standings(steps: readonly StepOutline[], position: Walked | null): StepStanding[] {
  return [...standingsIn(steps, [], position?.path ?? 'todo', position ?? NOWHERE)]
}

const NOWHERE: Walked = { path: [], rounds: {}, took: {} }

function* standingsIn(
  steps: readonly StepOutline[],
  before: Path,
  where: Where,
  walked: Walked,
): Generator<StepStanding> {
  for (const [index, step] of steps.entries()) {
    const path = [...before, index]
    const key = path.join('.')
    const { name, kind } = step
    const status = typeof where === 'string' ? where : statusAt(index, where)
    const isIn = status === 'current' && kind === 'repeat'
    yield { name, kind, path: key, status, round: isIn ? (walked.rounds[key] ?? 0) : null }
    const inside = typeof where === 'string' ? [] : where.slice(1)
    const whereIn = (word: string): Where => {
      if (status !== 'current') return kind === 'when' ? sideOf(status, walked.took[key], word) : status
      if (inside.length === 0) return 'todo'
      return inside[0] === word ? inside.slice(1) : 'skipped'
    }
    if (step.kind === 'when') {
      yield* standingsIn(step.yes, [...path, 'then'], whereIn('then'), walked)
      yield* standingsIn(step.no, [...path, 'else'], whereIn('else'), walked)
    }
    if (step.kind === 'repeat') yield* standingsIn(step.body, [...path, 'body'], whereIn('body'), walked)
  }
}

function statusAt(index: number, [at]: Path): StepStatus {
  if (index === at) return 'current'
  return index < (at as number) ? 'done' : 'todo'
}

function sideOf(
  status: Exclude<StepStatus, 'current'>,
  took: string | undefined,
  side: string,
): Exclude<StepStatus, 'current'> {
  if (status !== 'done') return status
  return took === undefined ? 'unknown' : took === side ? 'done' : 'skipped'
}

/**
 * The progress of a run by its steps: 0 to 1. A `when` counts as its longer branch, a loop as all iterations
 * it may take. `share` is the finished part of the current step.
 */
export function progressOf(steps: readonly StepOutline[], position: Walked, share: number): number {
  const all = weightOf(steps)
  return all === 0 ? 0 : Math.min(1, passed(steps, [], position.path, { ...position, share }) / all)
}

function passed(
  steps: readonly StepOutline[],
  before: Path,
  [at, word, ...rest]: Path,
  walked: Walked & { readonly share: number },
): number {
  const index = at as number
  const step = steps[index]
  const behind = weightOf(steps.slice(0, index))
  if (step === undefined) return behind
  const path = [...before, index]
  switch (step.kind) {
    case 'when': {
      const side = word === 'then' ? step.yes : word === 'else' ? step.no : []
      const weight = weightOf(side)
      if (weight === 0) return behind
      const part = passed(side, [...path, word as string], rest, walked) / weight
      return behind + part * weightOf([step])
    }
    case 'repeat': {
      if (word === undefined) return behind
      const rounds = Math.max(0, (walked.rounds[path.join('.')] ?? 1) - 1)
      return behind + rounds * weightOf(step.body) + passed(step.body, [...path, word], rest, walked)
    }
    default:
      return behind + walked.share
  }
}

function weightOf(steps: readonly StepOutline[]): number {
  return steps.reduce((sum, step) => {
    if (step.kind === 'when') return sum + Math.max(weightOf(step.yes), weightOf(step.no))
    return sum + (step.kind === 'repeat' ? step.most * weightOf(step.body) : 1)
  }, 0)
}

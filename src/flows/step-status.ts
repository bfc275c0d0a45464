import type { Path } from './definition.ts'
import type { StepOutline } from './outline.ts'
import type { Position } from './position.ts'

/** `unknown`: it lies behind the run, and nothing tells any more whether it was taken. */
export type StepStatus = 'done' | 'current' | 'todo' | 'skipped' | 'unknown'

/** A step of a flow, and how a run stands to it. */
export interface StepStanding {
  readonly name: string
  readonly kind: StepOutline['kind']
  /** Where it stands: places in sequences, with words for the sequences inside between them. */
  readonly path: string
  readonly status: StepStatus
  /** Of a loop that the run is in: which round it is. */
  readonly round: number | null
}

type Walked = Pick<Position, 'path' | 'rounds' | 'took'>

/** Where a run is in a sequence: at a path, or what holds for all of its steps. */
type Where = Path | Exclude<StepStatus, 'current'>

/** How a run stands to each of its steps, in their order. Null: it has not begun. */
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
 * How far a run is: 0 to 1, by its steps. Of a `when` the longer way counts, of a loop all the rounds it may take. `share` is how
 * much of the present step is done.
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

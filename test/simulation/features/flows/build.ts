import { all, type Flow, failFast, first, flow, settled } from '../../../../src/index.ts'
import {
  type FlowShape,
  goesRound,
  isTaken,
  itemOf,
  type JoinName,
  type Part,
  payloadOf,
  type State,
  type Work,
} from '../../../proof/flows/shape.ts'
import { QUEUES } from './queues.ts'

/** What a flow is built with. Shapes are drawn, so no types lead from step to step. */
interface Steps {
  input(): Steps
  step(work: unknown, options: object): Steps
  each(name: string, work: unknown, items: unknown, join: unknown): Steps
  parallel(branches: Record<string, unknown>, join: unknown): Steps
  when(test: (view: View) => boolean, then: Build, otherwise?: Build): Steps
  repeat(options: object, body: Build): Steps
  sleep(ms: number): Steps
  signal(name: string, options: object): Steps
}

type Build = (steps: Steps) => Steps

interface View {
  readonly state: State
}

/** A real flow of this shape. */
export function build({ name, version, parts }: FlowShape): Flow<State, State> {
  const make = (f: Steps): Steps => sequence(parts)(f.input())
  return flow(name, make as never, { version }) as Flow<State, State>
}

const sequence =
  (parts: readonly Part[]): Build =>
  (steps) =>
    parts.reduce(add, steps)

function add(steps: Steps, part: Part): Steps {
  switch (part.kind) {
    case 'step':
      return steps.step(workOf(part.work), {
        name: part.name,
        payload: ({ state }: View) => payloadOf(part, state),
        ...(part.as !== null && { as: part.as }),
        ...(part.undo && { undo: QUEUES.undone }),
      })
    case 'each': {
      const items = Array.from({ length: part.items }, (_, n) => itemOf(n))
      // Given as they are, or found out when it is their turn.
      return steps.each(
        part.name,
        workOf(part.work),
        part.items % 2 ? items : () => items,
        ruleOf(part.join, part.need),
      )
    }
    case 'parallel': {
      const branches = part.branches.map(({ name, work }): [string, unknown] => [
        name,
        'parts' in work ? sequence(work.parts) : workOf(work),
      ])
      return steps.parallel(Object.fromEntries(branches), ruleOf(part.join, 0))
    }
    case 'when':
      return steps.when(
        ({ state }) => isTaken(part, state),
        sequence(part.yes),
        part.no === null ? undefined : sequence(part.no),
      )
    case 'repeat':
      return steps.repeat(
        {
          most: part.most,
          while: ({ state }: View, round: number) => goesRound(part, state, round),
        },
        sequence(part.body),
      )
    case 'sleep':
      return steps.sleep(part.ms)
    case 'signal':
      return steps.signal(part.name, part.timeoutMs === null ? {} : { timeout: part.timeoutMs })
  }
}

const built = new WeakMap<FlowShape, Flow<State, State>>()

/** A flow inside another is one flow, however often it is built. */
function workOf(work: Work): unknown {
  if ('queue' in work) return QUEUES[work.queue]
  const known = built.get(work.flow) ?? build(work.flow)
  built.set(work.flow, known)
  return known
}

function ruleOf(join: JoinName, need: number): unknown {
  return { all, settled, failFast, first: first(Math.max(1, need)) }[join]
}

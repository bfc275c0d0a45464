import type { Group } from '../core/groups.ts'
import type { Run, RunStatus } from '../core/runs.ts'
import { type Outline, type StepOutline, stepsNamed } from '../flows/outline.ts'
import { type Position, readPosition } from '../flows/position.ts'
import { flowOfQueue } from '../flows/queues.ts'
import { progressOf, type StepStanding, standings } from '../flows/standing.ts'
import type { FlowOutline } from '../store/flows.ts'
import type { Store } from '../store.ts'

/** A run as people see it. */
export interface RunView<State = unknown> {
  readonly id: string
  readonly flow: string
  readonly version: number
  readonly status: RunStatus
  readonly state: State
  readonly attributes: readonly string[]
  readonly startedAt: Date
  readonly endedAt: Date | null
  readonly result: unknown
  readonly failure: { readonly message: string } | null
  /** Where it stands. */
  readonly position: RunPosition
  /** How far it is: 0 to 1, by its steps, loops by their rounds. Null if nobody has told how its flow looks. */
  readonly progress: number | null
  /** Of a branch: the run at the top, the group that waits for it, and its number there. */
  readonly branchOf: { readonly root: string; readonly group: string; readonly n: number } | null
}

export interface RunPosition {
  /** The step it stands at; null before the first and after the last. */
  readonly step: string | null
  /** True while it takes back what it had done, because a step has failed. */
  readonly isUndoing: boolean
  /** Null when it has ended, or moves on just now. A failed run still waits for the group that failed it. */
  readonly waits: RunWaits | null
  /** All steps and how it stands to them. Empty if nobody has told how its flow looks. */
  readonly steps: readonly StepStanding[]
}

export interface RunWaits {
  readonly kind: 'jobs' | 'branches' | 'signal' | 'moment'
  /** The group that it waits for; null for a moment. */
  readonly group: string | null
  /** How many jobs or branches these are, and how many have ended, well or badly. */
  readonly size: number
  readonly done: number
  readonly failed: number
  /** The moment, or the end of its patience for a signal. */
  readonly until: Date | null
}

/** Shows runs, with what the store knows about their flows and what they wait for. */
export async function viewRuns(
  store: Pick<Store, 'getFlows' | 'getGroups'>,
  space: string,
  runs: readonly Run[],
): Promise<RunView[]> {
  const positions = runs.map(({ position }) => readPosition(position))
  const names = [...new Set(positions.flatMap(({ queue }) => flowOfQueue(queue) ?? []))]
  const awaited = positions.flatMap(({ waits }) => (waits && waits.size > 0 ? [waits.id] : []))
  const [{ flows }, { groups }] = await Promise.all([
    runs.length === 0
      ? { flows: [] }
      : store.getFlows({ space, ...(names.length === 1 ? { name: names[0] as string } : {}) }),
    awaited.length === 0 ? { groups: [] } : store.getGroups({ space, ids: awaited }),
  ])
  return runs.map((run, index) => {
    const position = positions[index] as Position
    const group = groups.find((one) => one?.id === position.waits?.id) ?? null
    return viewOf(run, position, stepsOf(run, position, flows), group)
  })
}

/** The steps of a run, if somebody has told how its flow looks. */
export function stepsOf(
  { flow, version }: Run,
  { queue }: Pick<Position, 'queue'>,
  flows: readonly FlowOutline[],
): readonly StepOutline[] | null {
  const name = flowOfQueue(queue) ?? ''
  const known = flows.find((one) => one.name === name && one.version === version)
  return (known && stepsNamed(name, JSON.parse(known.outline) as Outline, flow)) ?? null
}

function viewOf(
  run: Run,
  position: Position,
  steps: readonly StepOutline[] | null,
  group: Group | null,
): RunView {
  const waits = waitsOf(run, position, group)
  const share = waits && waits.size > 0 ? Math.min(1, waits.done / waits.size) : 0
  const progress = run.status === 'done' ? 1 : steps && progressOf(steps, position, share)
  return {
    id: run.id,
    flow: run.flow,
    version: run.version,
    status: run.status,
    state: JSON.parse(run.state) as unknown,
    attributes: run.attributes,
    startedAt: new Date(run.startedAt),
    endedAt: run.endedAt === null ? null : new Date(run.endedAt),
    result: run.result === null ? null : (JSON.parse(run.result) as unknown),
    failure: run.failure === null ? null : (JSON.parse(run.failure) as { message: string }),
    position: {
      step: position.from ?? position.step,
      isUndoing: position.failure !== null && run.status === 'running',
      waits,
      steps: steps === null ? [] : standings(steps, position),
    },
    progress,
    branchOf: run.member && { root: run.root, ...run.member },
  }
}

function waitsOf(run: Run, { waits }: Position, group: Group | null): RunWaits | null {
  const isOver = run.status === 'done' || run.status === 'cancelled'
  if (waits === null || isOver || (waits.kind === 'moment' && waits.ms === undefined)) return null
  const { kind, ms, size } = waits
  const until = ms === undefined ? null : new Date(run.changedAt + ms)
  if (kind === 'moment') return { kind, group: null, size: 0, done: 0, failed: 0, until }
  const { done = 0, failed = 0 } = group ?? {}
  // Its second member is the end of its patience, and no signal.
  if (kind === 'signal') return { kind, group: waits.id, size: 1, done: Math.min(1, done), failed: 0, until }
  return { kind, group: waits.id, size, done, failed, until }
}

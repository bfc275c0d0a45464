import { type Group, memberCount, type Outcome } from '../../core/flows/groups.ts'
import type { Run, RunStatus } from '../../core/flows/runs.ts'
import type { JobState } from '../../core/jobs/job.ts'
import { flowOfQueue } from '../../flows/control-jobs.ts'
import { type Outline, type StepOutline, stepsNamed } from '../../flows/outline.ts'
import { type Position, readPosition } from '../../flows/position.ts'
import { progressOf, type StepStanding, standings } from '../../flows/step-status.ts'
import type { Store } from '../../store/store.ts'
import { type FlowDefinition, readDefinitions } from './stored-definitions.ts'

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
  store: Pick<Store, 'listRecords' | 'getGroups'>,
  space: string,
  runs: readonly Run[],
): Promise<RunView[]> {
  const positions = runs.map(({ position }) => readPosition(position))
  const names = [...new Set(positions.flatMap(({ queue }) => flowOfQueue(queue) ?? []))]
  const awaited = positions.flatMap(({ waits }) => (waits && waits.size > 0 ? [waits.id] : []))
  const [flows, { groups }] = await Promise.all([
    runs.length === 0
      ? []
      : readDefinitions(store, space, names.length === 1 ? (names[0] as string) : undefined),
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
  flows: readonly FlowDefinition[],
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

/** A job or a branch that a run waits for, or waited for in vain. */
export interface RunMember {
  /** Its number: of the item, or of the branch. */
  readonly n: number
  readonly id: string
  readonly kind: 'job' | 'run'
  /** Its queue or flow; null if it is not kept any more. */
  readonly name: string | null
  /** Null if it is not kept any more. */
  readonly state: JobState | null
  readonly failure: { readonly message: string } | null
}

/** What a run waits for at its present step. */
export interface RunMembers {
  /** Those that have not ended, by number. */
  readonly open: readonly RunMember[]
  /** Those that ended and were not done. Retry such a job, or retry such a run, and the step completes. */
  readonly failed: readonly RunMember[]
}

/** Outcomes are read by so many, and at most so many pages are looked through. */
const PAGE = 1_000
const PAGES = 20

type Reader = Pick<Store, 'openMembers' | 'outcomes' | 'get' | 'getRuns'>

/** The members of a group that are of interest: some of each kind. */
export async function readMembers(
  store: Reader,
  group: Pick<Group, 'space' | 'id' | 'size' | 'failed'>,
  limit: number,
): Promise<RunMembers> {
  const { space, id, failed } = group
  const size = memberCount(group)
  const [{ members }, failures] = await Promise.all([
    store.openMembers({ space, group: id, from: 0, limit }),
    failed === 0 ? [] : failedOf(store, { space, id, size }, limit),
  ])
  const known = await lookUp(store, space, [
    ...members.map((member) => member.id),
    ...failures.flatMap((outcome) => outcome.id ?? []),
  ])
  return {
    open: members.map(({ n, id: member, kind }) => ({
      n,
      id: member,
      kind,
      name: known.get(member)?.name ?? null,
      state: known.get(member)?.state ?? null,
      failure: known.get(member)?.failure ?? null,
    })),
    failed: failures.map((outcome) => failedView(outcome, known.get(outcome.id ?? ''))),
  }
}

async function failedOf(
  store: Reader,
  { space, id, size }: Pick<Group, 'space' | 'id' | 'size'>,
  limit: number,
): Promise<Outcome[]> {
  const found: Outcome[] = []
  for (let from = 0, page = 0; from < size && found.length < limit && page < PAGES; page++) {
    const { outcomes } = await store.outcomes({ space, groups: [id], from, limit: PAGE })
    const some = outcomes[0] ?? []
    found.push(...some.filter(({ state }) => state !== 'done'))
    if (some.length < PAGE) break
    from = (some.at(-1) as Outcome).n + 1
  }
  return found.slice(0, limit)
}

type Known = Pick<RunMember, 'kind' | 'name' | 'state' | 'failure'>

async function lookUp(store: Reader, space: string, ids: readonly string[]): Promise<Map<string, Known>> {
  if (ids.length === 0) return new Map()
  const [{ jobs }, { runs }] = await Promise.all([store.get({ space, ids }), store.getRuns({ space, ids })])
  const known = new Map<string, Known>()
  for (const job of jobs) {
    if (job)
      known.set(job.id, { kind: 'job', name: job.queue, state: job.state, failure: readFailure(job.failure) })
  }
  for (const run of runs) {
    if (run)
      known.set(run.id, { kind: 'run', name: run.flow, state: run.status, failure: readFailure(run.failure) })
  }
  return known
}

function failedView({ n, id, state, failure }: Outcome, known: Known | undefined): RunMember {
  return {
    n,
    id: id ?? '',
    kind: known?.kind ?? 'job',
    name: known?.name ?? null,
    state: known?.state ?? state,
    failure: readFailure(failure),
  }
}

function readFailure(text: string | null): { readonly message: string } | null {
  return text === null ? null : (JSON.parse(text) as { message: string })
}

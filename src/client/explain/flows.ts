import { type Group, type GroupEvent, isOpen, memberCount } from '../../core/flows/groups.ts'
import type { Run, RunStatus } from '../../core/flows/runs.ts'
import { isFinal, type Job, type JobState } from '../../core/jobs/job.ts'
import { DEFAULT_LANE } from '../../core/lanes/lanes.ts'
import { show } from '../../core/names.ts'
import { flowOfQueue } from '../../flows/control-jobs.ts'
import { readPosition } from '../../flows/position.ts'
import type { Store, WorkerPresence } from '../../store/store.ts'
import { readMembers } from '../flows/run-view.ts'
import type { Cause, WorkerSeen } from './reasons.ts'

/** So many members are named, each with its own cause. */
const NAMED = 3
/** Runs in runs in runs: so deep is looked. */
const DEEPEST = 3

/** How the causes of a job are found, and sentences made of causes. */
export interface Explaining {
  readonly store: Store
  readonly space: string
  causesOf(job: Job): Promise<readonly Cause[]>
  textOf(cause: Cause): string
  seen(worker: WorkerPresence, now: number): WorkerSeen
}

/** Says why a run does not move on, or how it ended. Never empty. */
export async function explainRun(env: Explaining, run: Run, depth = 0): Promise<readonly Cause[]> {
  const { store, space } = env
  const position = readPosition(run.position)
  const { waits, step } = position
  const { groups } =
    waits && waits.size > 0 ? await store.getGroups({ space, ids: [waits.id] }) : { groups: [] }
  const group = groups[0] ?? null
  const belongs = run.member === null || depth > 0 ? [] : await memberCause(env, run.member)
  if (run.status !== 'running') return [await ended(env, run, step, group), ...belongs]

  const served = await flowWorkers(env, run, position.queue)
  const control = await pendingControl(env, waits?.job, group)
  if (control) {
    const isAsleep = waits?.ms !== undefined && control.state === 'delayed' && control.failure === null
    if (isAsleep)
      return [{ cause: 'waits-until', step, until: new Date(control.dueAt) }, ...served, ...belongs]
    const causes = (await env.causesOf(control)).filter(({ cause }) => !HIDDEN.has(cause))
    return [{ cause: 'moves-on', job: control.id }, ...served, ...causes, ...belongs]
  }
  if (waits?.kind === 'signal' && group !== null && group.done === 0) {
    const until = waits.ms === undefined ? null : new Date(run.changedAt + waits.ms)
    return [{ cause: 'waits-for-signal', name: step ?? '', until }, ...served, ...belongs]
  }
  if (group !== null && group.endedAt === null)
    return [await waiting(env, group, step, depth), ...served, ...belongs]
  return [{ cause: 'moves-on', job: null }, ...served, ...belongs]
}

/** Of the job that moves a run on these say nothing new, or it is said of the flow. */
const HIDDEN: ReadonlySet<Cause['cause']> = new Set(['no-worker', 'moves-run'])

/** Says what a group waits for, and what it will enqueue then. */
export async function explainGroup(env: Explaining, group: Group): Promise<readonly Cause[]> {
  if (group.endedAt !== null) return [{ cause: 'group-ended', size: group.size, done: group.done }]
  return [await waiting(env, group, null, 0)]
}

/** What a job has to do with groups and runs, if anything. */
export async function flowCausesOf(env: Explaining, job: Job): Promise<readonly Cause[]> {
  if (job.member !== null) return memberCause(env, job.member)
  if (flowOfQueue(job.queue) === null) return []
  const { run: id } = JSON.parse(job.payload) as { readonly run?: string }
  if (id === undefined) return []
  const run = (await env.store.getRuns({ space: env.space, ids: [id] })).runs[0]
  const step = run ? readPosition(run.position).step : null
  return [{ cause: 'moves-run', run: id, flow: run?.flow ?? null, step }]
}

async function memberCause(
  { store, space }: Explaining,
  { group: id, n }: NonNullable<Job['member']>,
): Promise<readonly Cause[]> {
  const group = (await store.getGroups({ space, ids: [id] })).groups[0]
  if (!group) return []
  const run = group.run === null ? null : (await store.getRuns({ space, ids: [group.run] })).runs[0]
  const position = run ? readPosition(run.position) : null
  const step = position?.waits?.id === id ? position.step : null
  return [
    {
      cause: 'member-of',
      group: id,
      n,
      size: memberCount(group),
      run: group.run,
      flow: run?.flow ?? null,
      step,
    },
  ]
}

async function ended(
  { store }: Explaining,
  run: Run,
  step: string | null,
  group: Group | null,
): Promise<Cause> {
  const { failed } =
    run.status === 'failed' && group !== null ? await readMembers(store, group, NAMED) : { failed: [] }
  return {
    cause: 'run-ended',
    status: run.status as Exclude<Run['status'], 'running'>,
    step: run.status === 'done' ? null : step,
    at: new Date(run.endedAt ?? run.changedAt),
    failure: run.failure === null ? null : (JSON.parse(run.failure) as { message: string }),
    failed: failed.map(({ id, kind }) => ({ id, kind })),
  }
}

/** The job that is about to move the run on, if there is one: of its moment, or of an event of its group that has fired. */
async function pendingControl(
  { store, space }: Explaining,
  job: string | undefined,
  group: Group | null,
): Promise<Job | null> {
  const ids =
    job === undefined ? (group?.fired ?? []).flatMap((event) => group?.jobs[event]?.id ?? []) : [job]
  if (ids.length === 0) return null
  const { jobs } = await store.get({ space, ids })
  return jobs.find((one) => one !== null && !isFinal(one.state)) ?? null
}

async function flowWorkers(
  { store, space, seen }: Explaining,
  { flow, version }: Run,
  queue: string,
): Promise<FlowCause[]> {
  const [{ workers }, { now }] = await Promise.all([
    store.workers({ space }),
    store.lanes({ space, queue, lanes: [DEFAULT_LANE], limit: 1 }),
  ])
  const serving = workers.filter((worker) => worker.queues.includes(queue)).map((one) => seen(one, now))
  return serving.some(({ isLive }) => isLive)
    ? []
    : [{ cause: 'no-flow-worker', flow, version, gone: serving }]
}

async function waiting(env: Explaining, group: Group, step: string | null, depth: number): Promise<Cause> {
  const { store } = env
  const { open } = await readMembers(store, { ...group, failed: 0 }, NAMED)
  const named = await Promise.all(
    open.map(async ({ id, kind, state }): Promise<AwaitedMember> => {
      const causes = depth >= DEEPEST ? [] : await memberCauses(env, id, kind, depth)
      return { id, kind, state, text: causes.map((cause) => env.textOf(cause)).join(' ') }
    }),
  )
  // What moves a run on is no news.
  const next = group.run !== null ? [] : Object.entries(group.jobs)
  return {
    cause: 'waits-for',
    group: group.id,
    step,
    size: memberCount(group),
    isOpen: isOpen(group),
    done: group.done,
    failed: group.failed,
    open: named,
    next: next.map(([event, { id, queue }]) => ({ event: event as Group['fired'][number], id, queue })),
  }
}

async function memberCauses(
  env: Explaining,
  id: string,
  kind: 'job' | 'run',
  depth: number,
): Promise<readonly Cause[]> {
  const { store, space } = env
  if (kind === 'run') {
    const run = (await store.getRuns({ space, ids: [id] })).runs[0]
    return run ? explainRun(env, run, depth + 1) : []
  }
  const job = (await store.get({ space, ids: [id] })).jobs[0]
  return job ? (await env.causesOf(job)).filter(({ cause }) => cause !== 'member-of') : []
}

/** One of those that are waited for, and why it has not ended. */
export interface AwaitedMember {
  readonly id: string
  readonly kind: 'job' | 'run'
  readonly state: JobState | null
  /** Its own causes, in sentences. */
  readonly text: string
}

/** Why a run or a group waits, and what a job has to do with one. */
export type FlowCause =
  /** Jobs or branches have not ended: the first of them, each with its own cause. */
  | {
      readonly cause: 'waits-for'
      readonly group: string
      /** The step of the run; null for a group without one. */
      readonly step: string | null
      readonly size: number
      /** Nobody has sealed it yet, so members may still join. */
      readonly isOpen: boolean
      readonly done: number
      readonly failed: number
      readonly open: readonly AwaitedMember[]
      /** What the group enqueues when its time has come: these jobs do not exist before. */
      readonly next: readonly { readonly event: GroupEvent; readonly id: string; readonly queue: string }[]
    }
  /** Somebody has to tell it something; until then at most. */
  | { readonly cause: 'waits-for-signal'; readonly name: string; readonly until: Date | null }
  | { readonly cause: 'waits-until'; readonly step: string | null; readonly until: Date }
  /** What it waited for has happened: this job moves it on. Its causes follow. */
  | { readonly cause: 'moves-on'; readonly job: string | null }
  /** No live worker has its flow, so nobody will move it on. */
  | {
      readonly cause: 'no-flow-worker'
      readonly flow: string
      readonly version: number
      readonly gone: readonly WorkerSeen[]
    }
  /** The run has ended. `failed` are the members that were not done at the step where it stands. */
  | {
      readonly cause: 'run-ended'
      readonly status: Exclude<RunStatus, 'running'>
      readonly step: string | null
      readonly at: Date
      readonly failure: { readonly message: string } | null
      readonly failed: readonly { readonly id: string; readonly kind: 'job' | 'run' }[]
    }
  | { readonly cause: 'group-ended'; readonly size: number; readonly done: number }
  /** The job or run belongs to a group, which waits for it. */
  | {
      readonly cause: 'member-of'
      readonly group: string
      readonly n: number
      readonly size: number
      readonly run: string | null
      readonly flow: string | null
      /** Null if the run is at another step by now. */
      readonly step: string | null
    }
  /** The job moves a run on. */
  | {
      readonly cause: 'moves-run'
      readonly run: string
      readonly flow: string | null
      readonly step: string | null
    }

/** A cause in one sentence. */
export function flowTextOf(cause: FlowCause): string {
  switch (cause.cause) {
    case 'waits-for':
      return waitsText(cause)
    case 'waits-for-signal': {
      const end = cause.until === null ? '' : ` until ${cause.until.toISOString()}`
      return `Waiting for signal ${show(cause.name)}${end}.`
    }
    case 'waits-until':
      return `Sleeping until ${cause.until.toISOString()}${atStep(cause.step)}.`
    case 'moves-on':
      return cause.job === null
        ? 'The current step has completed. The run is about to continue.'
        : `The current step has completed. Job ${cause.job} continues the run.`
    case 'no-flow-worker': {
      return `No live worker has version ${cause.version} of flow ${show(cause.flow)}. Start one.`
    }
    case 'run-ended': {
      const why = cause.failure === null ? '.' : `: ${sentence(cause.failure.message)}`
      const fix =
        cause.failed.length === 0
          ? ''
          : ` Fix the cause and retry ${cause.failed.map(({ kind, id }) => `${kind} ${id}`).join(', ')}, or retry the run.`
      return `${ENDED[cause.status]} at ${cause.at.toISOString()}${atStep(cause.step)}${why}${fix}`
    }
    case 'group-ended':
      return `All ${cause.size} members have completed: ${cause.done} done, ${cause.size - cause.done} not done.`
    case 'member-of': {
      const of =
        cause.run === null ? '' : `${ofStep(cause.step)} of run ${cause.run} (flow ${show(cause.flow)})`
      return `Member ${cause.n + 1} of ${cause.size} of group ${cause.group}${of}.`
    }
    case 'moves-run': {
      const flow = cause.flow === null ? 'removed' : `flow ${show(cause.flow)}`
      return `Continues run ${cause.run} (${flow})${cause.step === null ? '' : ` after step ${show(cause.step)}`}.`
    }
  }
}

const ENDED: Readonly<Record<Exclude<RunStatus, 'running'>, string>> = {
  done: 'Completed',
  failed: 'Failed',
  cancelled: 'Cancelled',
}

const WHEN: Readonly<Record<GroupEvent, string>> = {
  success: 'when enough members are done',
  failure: 'if the group fails',
  settled: 'when all members have completed',
}

function waitsText(cause: FlowCause & { cause: 'waits-for' }): string {
  const { step, size, isOpen, done, failed, open, next } = cause
  const left = size - done - failed
  const counts = `${done} done${failed > 0 ? `, ${failed} failed` : ''}`
  const first = open.map(({ kind, id, text }) => `${kind} ${id}: ${text}`).join(' ')
  const more = left > open.length ? ` ${left - open.length} more.` : ''
  const unmade =
    open.length === 0 && left > 0 ? ' They are not enqueued yet: another group enqueues them.' : ''
  const follow = next.map(
    ({ event, id, queue }) => ` Job ${id} of queue ${show(queue)} is enqueued ${WHEN[event]}.`,
  )
  const seal = isOpen ? ' The group is open: it cannot complete before it is sealed.' : ''
  return `Waiting${atStep(step)} for ${left} of ${size} members (${counts}).${seal}${unmade}${first === '' ? '' : ` ${first}`}${more}${follow.join('')}`
}

function atStep(step: string | null): string {
  return step === null ? '' : ` at step ${show(step)}`
}

function ofStep(step: string | null): string {
  return step === null ? ', an earlier step' : `, step ${show(step)}`
}

function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}

import type { GroupEvent } from '../core/groups.ts'
import type { JobState } from '../core/job.ts'
import { show } from '../core/names.ts'
import type { RunStatus } from '../core/runs.ts'
import type { WorkerSeen } from './causes.ts'

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
      return `It waits for the signal ${show(cause.name)}${end}.`
    }
    case 'waits-until':
      return `It waits until ${cause.until.toISOString()}${atStep(cause.step)}.`
    case 'moves-on':
      return cause.job === null
        ? 'What it waited for has happened: it should move on any moment.'
        : `What it waited for has happened, and job ${cause.job} moves it on.`
    case 'no-flow-worker': {
      const gone = cause.gone.length === 0 ? '' : ' any more'
      return `No live worker has flow ${show(cause.flow)}${gone}: give version ${cause.version} of it to one.`
    }
    case 'run-ended': {
      const why = cause.failure === null ? '.' : `: ${sentence(cause.failure.message)}`
      const mend =
        cause.failed.length === 0
          ? ''
          : ` Mend what was wrong and redrive ${cause.failed.map(({ kind, id }) => `${kind} ${id}`).join(', ')}, or retry the run.`
      return `It is ${cause.status} since ${cause.at.toISOString()}${atStep(cause.step)}${why}${mend}`
    }
    case 'group-ended':
      return `All its ${cause.size} members have ended: ${cause.done} done, ${cause.size - cause.done} not.`
    case 'member-of': {
      const of =
        cause.run === null ? '' : `${ofStep(cause.step)} of run ${cause.run} (flow ${show(cause.flow)})`
      return `It is number ${cause.n + 1} of ${cause.size} in group ${cause.group}${of}.`
    }
    case 'moves-run': {
      const flow = cause.flow === null ? 'which is not kept any more' : `of flow ${show(cause.flow)}`
      return `It moves run ${cause.run}, ${flow}, on${cause.step === null ? '' : ` from step ${show(cause.step)}`}.`
    }
  }
}

const WHEN: Readonly<Record<GroupEvent, string>> = {
  success: 'when enough are done',
  failure: 'when it has failed',
  settled: 'when all have ended',
}

function waitsText(cause: FlowCause & { cause: 'waits-for' }): string {
  const { step, size, isOpen, done, failed, open, next } = cause
  const left = size - done - failed
  const counts = `${done} done${failed > 0 ? `, ${failed} not` : ''}`
  const first = open.map(({ kind, id, text }) => `${kind} ${id}: ${text}`).join(' ')
  const more = left > open.length ? ` ${left - open.length} more.` : ''
  const unmade =
    open.length === 0 && left > 0 ? ' They are not enqueued yet: another group does that in its time.' : ''
  const follow = next.map(({ event, id, queue }) => ` Job ${id} of ${show(queue)} follows ${WHEN[event]}.`)
  const seal = isOpen ? ' It is open: nothing follows before it is sealed.' : ''
  return `It waits${atStep(step)} for ${left} of ${size} (${counts}).${seal}${unmade}${first === '' ? '' : ` ${first}`}${more}${follow.join('')}`
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

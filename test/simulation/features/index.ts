import type { Flow, Handler } from '../../../src/index.ts'
import type { FlowShape } from '../../proof/flows/shape.ts'
import type { AuditEntry, LimitFact, QueueFacts, RateFact, SlotFact } from '../../proof/history.ts'
import type { App } from '../app.ts'
import type { Trial } from '../trial.ts'
import { commands } from './commands.ts'
import { counts } from './counts.ts'
import { flows } from './flows/index.ts'
import { holds } from './holds.ts'
import { ids } from './ids.ts'
import { jobs } from './jobs.ts'
import { lanes } from './lanes.ts'
import { processes } from './processes.ts'
import { schedules } from './schedules.ts'
import { transactions } from './transactions.ts'
import { trouble } from './trouble.ts'
import { unhandled } from './unhandled.ts'
import { unique } from './unique.ts'

/** Something that can be done to the system. It begins a thing and returns; time passes between actions. */
export interface Action {
  readonly name: string
  /** How often, beside the others. */
  readonly weight: number
  readonly run: (trial: Trial) => void
}

/** A queue of the simulation, and what its handler does. */
export interface SimulatedQueue {
  readonly name: string
  readonly facts: QueueFacts
  /** In the bad time only some programs handle it. */
  readonly rare?: boolean
  readonly handler: (trial: Trial, app: App) => Handler
}

/** A part of the product under simulation: its queues, what people do with it, and its limits. */
export interface Feature {
  readonly name: string
  readonly queues: readonly SimulatedQueue[]
  readonly actions: readonly Action[]
  readonly limits?: readonly LimitFact[]
  /** What a program does before it starts to work. */
  readonly begin?: (trial: Trial, app: App) => void
  /** The slots that schedules may have fired, and those they had to. */
  readonly slots?: (trial: Trial, audit: readonly AuditEntry[]) => readonly SlotFact[]
  readonly rates?: readonly RateFact[]
  /** Its strict lanes, as `queue/lane`. */
  readonly order?: readonly string[]
  /** Called again and again after the heal: what keeps jobs from ending is taken away. */
  readonly mend?: (trial: Trial) => void
  /** After the heal: whether something will still happen that no job tells of. */
  readonly isOwed?: (trial: Trial) => boolean
  /** The flows that a program knows, and the shapes of all there are. */
  readonly flows?: (trial: Trial, app: App) => readonly Flow<never, unknown>[]
  readonly shapes?: (trial: Trial) => readonly FlowShape[]
}

/** What a trial is about. Flows have trials of their own, in which they are not lost among everything else. */
export type TrialKind = 'jobs' | 'flows'

/** All of them. A new feature of the product is added here. */
export const FEATURES: Readonly<Record<TrialKind, readonly Feature[]>> = {
  jobs: [
    jobs,
    ids,
    unique,
    lanes,
    unhandled,
    holds,
    counts,
    commands,
    transactions,
    schedules,
    processes,
    trouble,
  ],
  flows: [flows, processes, trouble],
}

import type { Group } from '../core/flows/groups.ts'
import type { Run, RunMove } from '../core/flows/runs.ts'
import { jobsAwaited, type Remedy, remedyFor, type Wait } from '../core/flows/stuck-runs.ts'
import type { Job } from '../core/jobs/job.ts'
import type { Maker } from '../flows/next-move.ts'
import { readPosition, type Waits } from '../flows/position.ts'
import type { Notifier } from '../notifier/notifier.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Enqueued } from '../store/flows.ts'
import type { Store } from '../store/store.ts'
import type { Duty } from './background-task.ts'

const GROUPS = 500
const RUNS = 200

/** The approximate pause between two turns: shorter while there are more pages. */
const REST_MS = 600_000
const SHORT_REST_MS = 60_000

const REPORT = 'This is a bug in Skep; please report it.'

export interface SweeperParts {
  readonly store: Store
  readonly notifier: Notifier
  readonly runtime: Runtime
  readonly logger: Logger
  readonly space: string
  readonly maker: Pick<Maker, 'control' | 'keepMs'>
}

/**
 * Slowly searches for states that should never exist: groups with wrong counts or that should have fired, and
 * runs that nothing will move. Repairs them and logs errors. A few workers check a page now and then.
 */
export class Sweeper implements Duty {
  readonly name = 'sweep'
  readonly isForFew = true
  readonly #parts: SweeperParts
  #groups: string | null = null
  #runs: string | null = null
  #hasRested = false
  #underWay: Promise<number> | null = null

  constructor(parts: SweeperParts) {
    this.#parts = parts
  }

  concerns(): boolean {
    return false
  }

  /** Several workers of one process share a turn. */
  turn(): Promise<number> {
    this.#underWay ??= this.#turn().finally(() => {
      this.#underWay = null
    })
    return this.#underWay
  }

  async #turn(): Promise<number> {
    // Short-lived processes skip the first turn.
    let isMore = !this.#hasRested
    if (this.#hasRested) {
      const isMoreGroups = await this.sweepGroups()
      isMore = (await this.sweepRuns()) || isMoreGroups
    }
    this.#hasRested = true
    return (isMore ? SHORT_REST_MS : REST_MS) * (0.5 + this.#parts.runtime.random())
  }

  /** Checks the next page of groups. True: there are more. */
  async sweepGroups(): Promise<boolean> {
    const { store, logger } = this.#parts
    const { mended, enqueued, cursor } = await store.auditGroups({ limit: GROUPS, cursor: this.#groups })
    this.#groups = cursor
    this.#hint(enqueued)
    for (const { space, group, what } of mended) {
      const wrong =
        what === 'counts' ? 'had counted its members wrongly' : 'had not fired when it should have'
      logger.error(`Group "${group}" ${wrong}, and was repaired. ${REPORT}`, { space, group, what })
    }
    return cursor !== null
  }

  /** Checks the next page of runs. True: there are more. */
  async sweepRuns(): Promise<boolean> {
    const { store, space } = this.#parts
    const call = { space, status: 'running', branches: true, limit: RUNS, cursor: this.#runs } as const
    const { runs, cursor } = await store.listRuns(call)
    this.#runs = cursor
    await this.#repair(runs)
    return cursor !== null
  }

  // The order of the reads matters, see `core/flows/stuck-runs.ts`.
  async #repair(runs: readonly Run[]): Promise<void> {
    const waiting = runs.flatMap((run) => {
      const { waits } = readPosition(run.position)
      return waits === null ? [] : [{ run, waits }]
    })
    const groups = await this.#groupsOf(waiting.filter(({ waits }) => waits.size > 0))
    const waits = waiting.map(({ run, waits }) => ({ run, waits, wait: waitOf(waits, groups) }))
    const jobs = await this.#jobsOf(waits.flatMap(({ wait }) => jobsAwaited(wait)))
    const stranded = waits.flatMap(({ run, waits, wait }) => {
      const remedy = remedyFor(wait, (id) => jobs.get(id)?.state ?? null)
      return remedy === null ? [] : [{ run, waits, remedy, move: this.#moveFor(run, waits, remedy) }]
    })
    if (stranded.length === 0) return
    const { store, logger, space } = this.#parts
    const { results, enqueued } = await store.moveRuns({ moves: stranded.map(({ move }) => move) })
    this.#hint(enqueued)
    for (const [index, { run, waits, remedy }] of stranded.entries()) {
      // It has moved meanwhile, so nothing was wrong.
      if (results[index]?.status !== 'ok') continue
      const { id: waitsFor } = waits
      logger.error(
        remedy === 'lost'
          ? `Run "${run.id}" of flow "${run.flow}" waited for a group that no longer exists, and has failed. ${REPORT}`
          : `Run "${run.id}" of flow "${run.flow}" waited for a job of queue "${readPosition(run.position).queue}" that is ` +
              `gone; it was enqueued again. Unless that job was removed by hand, ${REPORT.replace('This', 'this')}`,
        { space, run: run.id, waitsFor, remedy: remedy === 'lost' ? 'failed' : remedy.event },
      )
    }
  }

  async #groupsOf(waiting: readonly { readonly waits: Waits }[]): Promise<ReadonlyMap<string, Group>> {
    const ids = waiting.map(({ waits }) => waits.id)
    if (ids.length === 0) return new Map()
    const { groups } = await this.#parts.store.getGroups({ space: this.#parts.space, ids })
    return new Map(groups.flatMap((group) => (group ? [[group.id, group]] : [])))
  }

  async #jobsOf(ids: readonly string[]): Promise<ReadonlyMap<string, Job>> {
    if (ids.length === 0) return new Map()
    const { jobs } = await this.#parts.store.get({ space: this.#parts.space, ids })
    return new Map(jobs.flatMap((job) => (job ? [[job.id, job]] : [])))
  }

  #moveFor({ id, space, revision, position }: Run, waits: Waits, remedy: Remedy): RunMove {
    const { maker } = this.#parts
    const move = { id, space, revision, groups: [], runs: [] }
    if (remedy === 'lost') {
      const failure = JSON.stringify({
        kind: 'error',
        message: 'The group that it waited for no longer exists. Retry the run.',
      })
      return { ...move, status: 'failed', failure, keepMs: maker.keepMs, jobs: [] }
    }
    const before = readPosition(position)
    const control = maker.control(before, id, { event: remedy.event, id: waits.id }, 0)
    return {
      ...move,
      position: JSON.stringify({ ...before, waits: { ...waits, job: control.id } }),
      jobs: [control],
    }
  }

  #hint(enqueued: readonly Enqueued[]): void {
    if (enqueued.length > 0) this.#parts.notifier.publish(enqueued.map((one) => ({ kind: 'work', ...one })))
  }
}

function waitOf({ id, size, job }: Waits, groups: ReadonlyMap<string, Group>): Wait {
  return { group: size > 0 ? groups.get(id) : null, job: job ?? null }
}

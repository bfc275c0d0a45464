import { messageOf, SkepError } from '../core/errors.ts'
import type { Outcome } from '../core/flows/groups.ts'
import type { NewRun, Run, RunMove } from '../core/flows/runs.ts'
import { runTakenError, takenRunsIn } from '../core/jobs/taken-ids.ts'
import { show } from '../core/names.ts'
import type { Store } from '../store/store.ts'
import type { Tree } from './definition.ts'
import { advance, BEGIN, giveUp, type Happening, isAwaited, type Maker } from './next-move.ts'
import { readPosition, startOf } from './position.ts'
import type { Registry } from './registry.ts'

/** The payload of a job that moves a run. */
export interface Control extends Happening {
  readonly run: string
}

/** The payload of a job that starts a run: the run has the job's id. */
export interface StartOrder {
  readonly start: {
    readonly flow: string
    /** The minimum version: the worker that starts the run uses its newest. */
    readonly version: number
    readonly state: unknown
    readonly attributes: readonly string[]
    readonly priority: number
  }
}

/** Page size for reading the outcomes of a group. */
const PAGE = 1_000

/**
 * No worker here has the flow or the branch of a run. Each version has its own queue, so this happens only if
 * a flow was changed without raising its version, or during a deploy: then other workers may still have it.
 */
export class UnknownVersionError extends Error {
  override readonly name = 'UnknownVersionError'
}

/** The result of a control job: the move of its run, or that it came too late, or the error. */
export type Decision =
  /** `leaves`: the group it waited for, if its unfinished members are to be cancelled. */
  | { readonly move: RunMove; readonly leaves: string | null }
  | { readonly late: true; readonly leaves?: string }
  /** Without a run: it could not be started. */
  | { readonly error: unknown; readonly run: null }
  | {
      readonly error: unknown
      readonly run: Run
      readonly leaves: string | null
      /** The move of the run if there is no further attempt. */
      readonly giveUp: () => Promise<RunMove>
    }

function countDone(outcomes: readonly Outcome[]): number {
  return outcomes.filter(({ state }) => state === 'done').length
}

export interface EngineParts {
  readonly store: Pick<Store, 'getRuns' | 'insert' | 'outcomes'>
  readonly space: string
  readonly registry: Registry
  readonly maker: Maker
}

/** Computes the moves of runs, in batches because the runs are read together. */
export class Engine {
  readonly #parts: EngineParts

  constructor(parts: EngineParts) {
    this.#parts = parts
  }

  async decide(
    orders: readonly { readonly id: string; readonly order: Control | StartOrder }[],
  ): Promise<readonly Decision[]> {
    const { store, space } = this.#parts
    const refused = await this.#start(orders)
    const controls = orders.map(
      ({ id, order }): Control => ('start' in order ? { run: id, ...BEGIN } : order),
    )
    const { runs } = await store.getRuns({ space, ids: controls.map(({ run }) => run) })
    const awaited = controls.map((control, index) => {
      const run = runs[index]
      return run && isAwaited(run, control) ? { control, run } : null
    })
    const groups = awaited.flatMap((one) => (one && one.control.event !== 'moment' ? [one.control.id] : []))
    const outcomes = await this.#outcomes([...new Set(groups)])
    return Promise.all(
      awaited.map(async (one, index): Promise<Decision> => {
        const error = refused.get((orders[index] as { id: string }).id)
        if (error) return { error, run: null }
        if (one === null) return { late: true }
        const { control, run } = one
        if (control.event === 'cancelled') return { late: true, leaves: control.id }
        const ended = outcomes.get(control.id) ?? []
        const { size = 0, need = size, cancels = false } = readPosition(run.position).waits ?? {}
        const isEnough = countDone(ended) >= need
        if (control.event === 'mended' && !isEnough) return { late: true }
        // It was retried successfully before this failure was processed, so its success is on the way.
        if (control.event === 'failure' && isEnough) return { late: true }
        const leaves = cancels && ended.length < size ? control.id : null
        try {
          return { move: await this.#move(run, control, ended), leaves }
        } catch (failed) {
          return { error: failed, run, leaves, giveUp: () => this.#giveUp(run, control, ended, failed) }
        }
      }),
    )
  }

  #giveUp(run: Run, { event, id }: Control, outcomes: readonly Outcome[], error: unknown): Promise<RunMove> {
    const failure = JSON.stringify({ kind: 'error', message: messageOf(error) })
    return giveUp(this.#treeOf(run), run, { event, id, outcomes }, failure, this.#parts.maker)
  }

  async #move(run: Run, { event, id }: Control, outcomes: readonly Outcome[]): Promise<RunMove> {
    return advance(this.#treeOf(run), run, { event, id, outcomes }, this.#parts.maker)
  }

  /**
   * Creates runs at their beginning, before anything else; the jobs that started them then move them. A
   * further attempt finds its run and creates no second one. Returns the runs that could not be created.
   */
  async #start(
    orders: readonly { readonly id: string; readonly order: Control | StartOrder }[],
  ): Promise<ReadonlyMap<string, unknown>> {
    const { store, space, registry } = this.#parts
    const refused = new Map<string, unknown>()
    const runs: NewRun[] = []
    for (const { id, order } of orders) {
      if (!('start' in order)) continue
      const { flow, version: least, state, attributes, priority } = order.start
      const version = registry.versions(flow).at(-1) ?? 0
      const tree = version < least ? undefined : registry.find(flow, version)
      if (tree === undefined) {
        refused.set(id, this.#unknown(`A run of flow "${flow}" must start with version ${least}`, flow))
        continue
      }
      const position = JSON.stringify(startOf({ queue: tree.queue, priority }))
      const made = { id, space, flow, version, position, state: JSON.stringify(state), attributes }
      runs.push({ ...made, member: null, root: id })
    }
    for (const [id, error] of await makeRuns(store, runs)) refused.set(id, error)
    return refused
  }

  #treeOf({ flow, version }: Run): Tree {
    const { registry } = this.#parts
    const tree = registry.find(flow, version)
    if (tree) return tree
    throw this.#unknown(`The run started with version ${version} of flow "${flow}"`, flow)
  }

  #unknown(what: string, flow: string): UnknownVersionError {
    const known = this.#parts.registry.versions(flow).join(', ') || 'none'
    return new UnknownVersionError(
      `${what}, but this worker has ${known}. Keep a worker with that version until its runs have ended.`,
    )
  }

  async #outcomes(groups: readonly string[]): Promise<Map<string, readonly Outcome[]>> {
    const { store, space } = this.#parts
    const found = new Map<string, readonly Outcome[]>()
    if (groups.length === 0) return found
    const { outcomes } = await store.outcomes({ space, groups, from: 0, limit: PAGE })
    for (const [index, group] of groups.entries()) {
      const all = [...(outcomes[index] ?? [])]
      // Few groups have more than a page, so the rest is read group by group.
      for (let last = all.at(-1); last && all.length % PAGE === 0; ) {
        const more = await store.outcomes({ space, groups: [group], from: last.n + 1, limit: PAGE })
        if (more.outcomes[0]?.length === 0) break
        all.push(...(more.outcomes[0] ?? []))
        last = all.at(-1)
      }
      found.set(group, all)
    }
    return found
  }
}

/** Creates these runs. Returns those whose ids belong to runs of other flows, each with its error. */
async function makeRuns(
  store: EngineParts['store'],
  runs: readonly NewRun[],
): Promise<ReadonlyMap<string, unknown>> {
  if (runs.length === 0) return new Map()
  try {
    await store.insert({ jobs: [], runs, again: true })
    return new Map()
  } catch (error) {
    const taken = takenRunsIn(error)
    if (taken.length === 0) throw error
    const refused = new Map(taken.map((one) => [one.id, runTakenError([one])]))
    const others = runs.filter(({ id }) => !refused.has(id))
    return new Map([...refused, ...(await makeRuns(store, others))])
  }
}

/**
 * Control jobs have a queue for each flow and version, so a worker that claims one has the steps with which
 * the run started.
 */
const QUEUE = /^flow(?:\.\d+)?:(.+)$/

export function flowQueue(name: string, version: number): string {
  return version === 1 ? `flow:${name}` : `flow.${version}:${name}`
}

/** Rejects a queue of control jobs: a job of another origin in it names no run, so it would be removed without a trace. */
export function assertOrdinaryQueue(queue: string, problem: string, remedy: string): void {
  if (!queue.startsWith('flow') || flowOfQueue(queue) === null) return
  throw new SkepError(
    'OPTION_INVALID',
    `Queue ${show(queue)} moves the runs of a flow on; ${problem}. ${remedy}`,
    { facts: { queue } },
  )
}

/** The flow of a queue of control jobs, also for its branches; null for other queues. */
export function flowOfQueue(queue: string): string | null {
  return QUEUE.exec(queue)?.[1] ?? null
}

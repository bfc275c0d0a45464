import { messageOf } from '../../core/errors.ts'
import { RUN_STATUSES, type RunStatus } from '../../core/flows/runs.ts'
import { show } from '../../core/names.ts'
import { flowOfQueue } from '../../flows/control-jobs.ts'
import { type Tree, treesIn } from '../../flows/definition.ts'
import { type Outline, outlineOf, walkOutline, worksOf } from '../../flows/outline.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { Store } from '../../store/store.ts'
import { type FlowDefinition, putDefinitions, readDefinitions } from './stored-definitions.ts'

interface OutlinesEnv {
  readonly store: Store
  readonly runtime: Runtime
  readonly space: string
  readonly logger: Logger
}

/** Puts into the store how the flows of this process look, each once. */
export class Outlines {
  readonly #env: OutlinesEnv
  readonly #told = new WeakMap<Tree, Promise<void>>()

  constructor(env: OutlinesEnv) {
    this.#env = env
  }

  /** Tells of these flows and those inside them. */
  async put(trees: readonly Tree[]): Promise<void> {
    const flows = new Map<string, FlowDefinition>()
    for (const tree of trees.flatMap(treesIn)) {
      // A branch is a part of the outline of its flow.
      if (flowOfQueue(tree.queue) !== tree.name) continue
      const { name, version } = tree
      flows.set(JSON.stringify([name, version]), { name, version, outline: JSON.stringify(outlineOf(tree)) })
    }
    if (flows.size === 0) return
    const { logger } = this.#env
    const put = [...flows.values()]
    const changed = await putDefinitions(this.#env, put)
    for (const tree of trees) this.#told.set(tree, Promise.resolve())
    for (const was of changed) {
      const is = put.find(({ name, version }) => name === was.name && version === was.version)
      if (is) logger.warn(changedText(was, is))
    }
  }

  /** The same before a start, which does not fail because of it: it is for those who look. */
  async putOnce(tree: Tree): Promise<void> {
    const told =
      this.#told.get(tree) ??
      this.put([tree]).catch((error: unknown) => {
        this.#told.delete(tree)
        this.#env.logger.warn(`How flow ${show(tree.name)} looks could not be kept: ${messageOf(error)}`)
      })
    this.#told.set(tree, told)
    await told
  }
}

function changedText(was: FlowDefinition, is: FlowDefinition): string {
  const [before, now] = [was, is].map(({ outline }) => listed(JSON.parse(outline) as Outline))
  const how =
    before === now
      ? `its steps (${now}) have the same names and work in another way`
      : `its steps were ${before}, and now they are ${now}`
  return (
    `Flow ${show(is.name)} was changed without raising its version ${is.version}: ${how}. ` +
    `Runs in flight may go wrong. Keep version ${is.version} as it was and declare the new steps as version ${is.version + 1}.`
  )
}

/** The names of all steps, with those of branches. */
function listed({ steps }: Outline): string {
  const names = [...walkOutline(steps)].map(([, step]) => {
    const inside = worksOf(step).flatMap((work) => ('branch' in work ? [listed(work)] : []))
    return inside.length === 0 ? step.name : `${step.name} (${inside.join('; ')})`
  })
  return names.join(', ') || 'none'
}

/** A flow that somebody has told of, or that has runs. */
export interface FlowView {
  readonly name: string
  readonly version: number
  /** How it looks; null if nobody has told. */
  readonly outline: Outline | null
  /** How many runs it has in each status, branches left out. */
  readonly runs: Readonly<Record<RunStatus, number>>
}

export interface FlowSummary {
  /** By name and version. */
  readonly flows: readonly FlowView[]
  /** False when there were too many runs to count: then the newest were. */
  readonly isAll: boolean
}

/** So many runs are counted. */
const COUNTED = 100_000

/** All flows, or the versions of one, with how many runs they have. */
export async function summarizeFlows(
  store: Pick<Store, 'listRecords' | 'countRuns'>,
  space: string,
  name: string | undefined,
): Promise<FlowSummary> {
  const [flows, { counts, isAll }] = await Promise.all([
    readDefinitions(store, space, name),
    store.countRuns({ space, ...(name === undefined ? {} : { flow: name }), limit: COUNTED }),
  ])
  const views = new Map<string, FlowView>()
  const keyOf = (flow: string, version: number): string => JSON.stringify([flow, version])
  for (const { name: flow, version, outline } of flows)
    views.set(keyOf(flow, version), {
      name: flow,
      version,
      outline: JSON.parse(outline) as Outline,
      runs: NONE,
    })
  for (const { flow, version, status, runs } of counts) {
    const key = keyOf(flow, version)
    const view = views.get(key) ?? { name: flow, version, outline: null, runs: NONE }
    views.set(key, { ...view, runs: { ...view.runs, [status]: runs } })
  }
  const sorted = [...views.values()].sort(
    (a, b) => Number(a.name > b.name) - Number(a.name < b.name) || a.version - b.version,
  )
  return { flows: sorted, isAll }
}

const NONE = Object.fromEntries(RUN_STATUSES.map((status) => [status, 0])) as Record<RunStatus, number>

import { RUN_STATUSES, type RunStatus } from '../core/runs.ts'
import type { Outline } from '../flows/outline.ts'
import type { Store } from '../store.ts'

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
  store: Pick<Store, 'getFlows' | 'countRuns'>,
  space: string,
  name: string | undefined,
): Promise<FlowSummary> {
  const [{ flows }, { counts, isAll }] = await Promise.all([
    store.getFlows({ space, ...(name === undefined ? {} : { name }) }),
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

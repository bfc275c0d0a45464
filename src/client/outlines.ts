import { messageOf } from '../core/errors.ts'
import type { Logger } from '../core/logger.ts'
import { show } from '../core/names.ts'
import { type Outline, outlineOf, walkOutline, worksOf } from '../flows/outline.ts'
import { flowOfQueue } from '../flows/queues.ts'
import { type Tree, treesIn } from '../flows/tree.ts'
import type { FlowOutline } from '../store/flows.ts'
import type { Store } from '../store.ts'

interface OutlinesEnv {
  readonly store: Pick<Store, 'putFlows'>
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
    const flows = new Map<string, FlowOutline>()
    for (const tree of trees.flatMap(treesIn)) {
      // A branch is a part of the outline of its flow.
      if (flowOfQueue(tree.queue) !== tree.name) continue
      const { name, version } = tree
      flows.set(JSON.stringify([name, version]), { name, version, outline: JSON.stringify(outlineOf(tree)) })
    }
    if (flows.size === 0) return
    const { store, space, logger } = this.#env
    const put = [...flows.values()]
    const { changed } = await store.putFlows({ space, flows: put })
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

function changedText(was: FlowOutline, is: FlowOutline): string {
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

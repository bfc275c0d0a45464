import { SkepError } from '../core/errors.ts'
import { show } from '../core/names.ts'
import { type Tree, treesIn } from './definition.ts'

/** The flows of a worker, with their branches and inner flows, by name and version. */
export class Registry {
  readonly #trees = new Map<string, Map<number, Tree>>()

  /** Adds a flow and its inner trees. Runs refer to name and version, so these must be unique. */
  add(tree: Tree): void {
    for (const one of treesIn(tree)) {
      const versions = this.#trees.get(one.name) ?? new Map<number, Tree>()
      if ((versions.get(one.version) ?? one) !== one) {
        throw new SkepError(
          'CONFIG_INVALID',
          `There are two flows or branches ${show(one.name)} of version ${one.version} in one worker. ` +
            'Rename one of them, or raise its version.',
        )
      }
      versions.set(one.version, one)
      this.#trees.set(one.name, versions)
    }
  }

  find(name: string, version: number): Tree | undefined {
    return this.#trees.get(name)?.get(version)
  }

  versions(name: string): readonly number[] {
    return [...(this.#trees.get(name)?.keys() ?? [])].sort((a, b) => a - b)
  }

  queues(): readonly string[] {
    return [...new Set(this.trees().map(({ queue }) => queue))]
  }

  trees(): readonly Tree[] {
    return [...this.#trees.values()].flatMap((versions) => [...versions.values()])
  }
}

import { type Tree, treesIn } from './tree.ts'

/** The flows that a worker knows, with their branches and the flows inside them, by name and version. */
export class Registry {
  readonly #trees = new Map<string, Map<number, Tree>>()

  /** Adds a flow and all that is inside it. */
  add(tree: Tree): void {
    for (const one of treesIn(tree)) {
      const versions = this.#trees.get(one.name) ?? new Map<number, Tree>()
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

  /** The queues of the jobs that move runs on. */
  queues(): readonly string[] {
    return [...new Set(this.trees().map(({ queue }) => queue))]
  }

  trees(): readonly Tree[] {
    return [...this.#trees.values()].flatMap((versions) => [...versions.values()])
  }
}

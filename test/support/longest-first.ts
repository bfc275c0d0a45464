import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Seconds by file, written by scripts/test-weights.mjs. A fresh clone remembers no times by which to sort. */
const WEIGHTS = JSON.parse(readFileSync(new URL('./weights.json', import.meta.url), 'utf8')) as Readonly<
  Record<string, number>
>
/** What is not in the list takes about so long. */
const OTHER_SECONDS = 1

/** Tests that keep a processor busy for as long as they take. The others mostly wait: for leases, processes, servers. */
const COMPUTING = [
  'test/simulation/',
  'test/cli/',
  'test/conformance/',
  'test/bench/',
  'test/model/',
  'test/mutants/',
]

const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * The order in which files start: one worker computes while the others wait, and the longest come first, so that all
 * have something to do until the end. Two that compute would slow each other down, and then nobody would compute.
 * Files that share a process come last, one after the other: a process ends when the next file is not one of them.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const all = (await super.sort(files)).map((file) => {
      const path = relative(root, file.moduleId).replaceAll('\\', '/')
      return { file, path, seconds: WEIGHTS[path] ?? OTHER_SECONDS, isAlone: file.project.config.isolate }
    })
    return inTurns(all, Number(this.ctx.config.maxWorkers) || 1).map(({ file }) => file)
  }
}

interface Weighed {
  readonly path: string
  readonly seconds: number
  /** Whether it needs a process of its own. */
  readonly isAlone: boolean
}

/** Whoever is free first takes the next one: the first worker of those that compute, the others of those that wait. */
export function inTurns<File extends Weighed>(files: readonly File[], workers: number): File[] {
  const all = files.toSorted((a, b) => b.seconds - a.seconds)
  const longest = all.filter(({ isAlone }) => isAlone)
  const computing = longest.filter(({ path }) => COMPUTING.some((folder) => path.startsWith(folder)))
  const waiting = longest.filter((file) => !computing.includes(file))
  const free = Array.from({ length: workers }, () => 0)
  const order: File[] = []
  while (order.length < longest.length) {
    const worker = free.indexOf(Math.min(...free))
    const lists = worker === 0 ? [computing, waiting] : [waiting, computing]
    const next = (lists.find((list) => list.length > 0) as File[]).shift() as File
    order.push(next)
    free[worker] = (free[worker] as number) + next.seconds
  }
  return [...order, ...all.filter(({ isAlone }) => !isAlone)]
}

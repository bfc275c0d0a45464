/**
 * A flow as the engine sees it: a sequence of nodes, some with inner sequences. A run is at one node at a
 * time. Concurrent work is a node with several members; a branch of several nodes is a tree of its own.
 */
import type { Failing, Outcome } from '../core/flows/groups.ts'

/** The argument of a flow's functions. */
export interface View {
  readonly run: { readonly id: string; readonly flow: string }
  readonly state: Readonly<Record<string, unknown>>
}

export interface Tree {
  readonly name: string
  readonly version: number
  /** The queue of the jobs that move its runs: the same for its branches. */
  readonly queue: string
  readonly nodes: readonly Node[]
  result(view: View): unknown
}

export type Node = WorkNode | WhenNode | RepeatNode | SleepNode | SignalNode

interface Named {
  /** Unique within its tree and inner trees: its display name. */
  readonly name: string
}

/** Jobs or branches, and what happens with their results. */
export interface WorkNode extends Named {
  readonly kind: 'work'
  /** How it was declared: one member, one per item, or one per branch. */
  readonly shape: 'step' | 'each' | 'parallel'
  /** The work of each branch, or the one work of all members. */
  readonly works: readonly NamedWork[]
  readonly undoQueue: string | null
  members(view: View): readonly Member[]
  readonly join: Join
  /** The trees of those members that are runs. */
  readonly trees: readonly Tree[]
  /** What their outcomes add to the state. */
  collect(outcomes: readonly Outcome[], members: number): Readonly<Record<string, unknown>>
  /** The job that undoes it when a later node fails. */
  readonly undo: ((view: View, done: Undoable) => Member) | null
}

export interface NamedWork {
  readonly name: string
  readonly work: { readonly queue: string } | { readonly tree: Tree }
}

export type Member =
  | { readonly queue: unknown; readonly payload: unknown; readonly options: object }
  | RunMember

export interface RunMember {
  readonly tree: Tree
  readonly state: Readonly<Record<string, unknown>>
  /** Its display name: the step, or the branch. */
  readonly name: string
  /** Added to the priority of the parent run. */
  readonly priority: number
  readonly delayMs: number
}

/** When a node is done, and when it has failed. */
export interface Join {
  readonly need: 'all' | 'none' | number
  readonly failing: Failing
}

export interface WhenNode extends Named {
  readonly kind: 'when'
  test(view: View): boolean
  readonly whenTrue: readonly Node[]
  readonly whenFalse: readonly Node[]
}

export interface RepeatNode extends Named {
  readonly kind: 'repeat'
  /** Whether to run another iteration. */
  test(view: View, round: number): boolean
  readonly most: number
  readonly body: readonly Node[]
}

export interface SleepNode extends Named {
  readonly kind: 'sleep'
  /** The duration; null if a function computes it. */
  readonly ms: number | null
  delayMs(view: View): number
}

export interface SignalNode extends Named {
  readonly kind: 'signal'
  /** The timeout; null: none. */
  readonly timeoutMs: number | null
}

export interface Undoable {
  readonly node: string
  readonly result: unknown
}

/** The inner sequence of a node, by the keyword that leads there. */
export function sequenceIn(node: Node, word: string): readonly Node[] | undefined {
  if (node.kind === 'when')
    return word === 'then' ? node.whenTrue : word === 'else' ? node.whenFalse : undefined
  return node.kind === 'repeat' && word === 'body' ? node.body : undefined
}

/** The maximum number of undoable steps of a run: it has to remember all of them. */
export function mostUndoable(nodes: readonly Node[]): number {
  return nodes.reduce((sum, node) => {
    if (node.kind === 'when') return sum + Math.max(mostUndoable(node.whenTrue), mostUndoable(node.whenFalse))
    if (node.kind === 'repeat') return sum + node.most * mostUndoable(node.body)
    return sum + Number(node.kind === 'work' && node.undo !== null)
  }, 0)
}

/** A tree and all inner trees: branches, and flows used as steps. */
export function treesIn(tree: Tree): readonly Tree[] {
  const found = new Set<Tree>([tree])
  // A Set also visits what is added during the iteration.
  for (const one of found) {
    for (const [, node] of walk(one.nodes))
      if (node.kind === 'work') for (const inside of node.trees) found.add(inside)
  }
  return [...found]
}

/** All nodes with their paths, in declaration order. */
export function* walk(nodes: readonly Node[], path: Path = []): Generator<[Path, Node]> {
  for (const [index, node] of nodes.entries()) {
    const here = [...path, index]
    yield [here, node]
    for (const word of ['then', 'else', 'body']) {
      const inside = sequenceIn(node, word)
      if (inside) yield* walk(inside, [...here, word])
    }
  }
}

/** The position of a node: indexes, with the keywords of inner sequences between them. */
export type Path = readonly (number | string)[]

/** The node at a path; undefined after the last of a sequence. */
export function nodeAt(nodes: readonly Node[], path: Path): Node | undefined {
  const [index, word, ...rest] = path
  const node = nodes[index as number]
  if (word === undefined || node === undefined) return node
  const inside = sequenceIn(node, word as string)
  return inside && nodeAt(inside, rest)
}

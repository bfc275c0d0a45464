/**
 * A flow as the engine sees it: a sequence of nodes, some with sequences inside. A run is at one node at a time. What happens
 * at the same time are the members of a node's group; a branch of several nodes is a tree of its own.
 */
import type { Failing, Outcome } from '../core/flows/groups.ts'

/** What the functions of a flow get to see. */
export interface View {
  readonly run: { readonly id: string; readonly flow: string }
  readonly state: Readonly<Record<string, unknown>>
}

export interface Tree {
  readonly name: string
  readonly version: number
  /** The queue of the jobs that move its runs on: the same for its branches. */
  readonly queue: string
  readonly nodes: readonly Node[]
  /** What the run gives in the end. */
  result(view: View): unknown
}

export type Node = WorkNode | WhenNode | RepeatNode | SleepNode | SignalNode

interface Named {
  /** Unique in its tree, with the trees inside it: what people call it. */
  readonly name: string
}

/** Jobs or branches, and what becomes of their results. */
export interface WorkNode extends Named {
  readonly kind: 'work'
  /** How it was declared: one member, one for each item, or one for each branch. */
  readonly shape: 'step' | 'each' | 'parallel'
  /** What its members do: of each branch, or what all of them do. */
  readonly works: readonly NamedWork[]
  /** The queue of what takes it back. */
  readonly undoQueue: string | null
  members(view: View): readonly Member[]
  readonly join: Join
  /** Those of its members that are runs are of these. */
  readonly trees: readonly Tree[]
  /** What their outcomes add to the state. */
  collect(outcomes: readonly Outcome[], members: number): Readonly<Record<string, unknown>>
  /** What takes it back when a later node fails. */
  readonly undo: ((view: View, done: Undoable) => Member) | null
}

/** A queue or a tree, as people call it. */
export interface NamedWork {
  readonly name: string
  readonly work: { readonly queue: string } | { readonly tree: Tree }
}

/** One of its members: a job of a queue, or a run of a tree. */
export type Member =
  | { readonly queue: unknown; readonly payload: unknown; readonly options: object }
  | RunMember

export interface RunMember {
  readonly tree: Tree
  readonly state: Readonly<Record<string, unknown>>
  /** What it is called: the step, or the branch. */
  readonly name: string
  /** Added to the priority of the run that it is a branch of. */
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
  /** Whether it goes round once more. */
  test(view: View, round: number): boolean
  readonly most: number
  readonly body: readonly Node[]
}

export interface SleepNode extends Named {
  readonly kind: 'sleep'
  /** How long; null if a function says it. */
  readonly ms: number | null
  delayMs(view: View): number
}

export interface SignalNode extends Named {
  readonly kind: 'signal'
  /** How long it waits; null: for ever. */
  readonly timeoutMs: number | null
}

/** A node that is done and can be undone. */
export interface Undoable {
  readonly node: string
  readonly result: unknown
}

/** The sequences inside a node, by the word that leads there. */
export function sequenceIn(node: Node, word: string): readonly Node[] | undefined {
  if (node.kind === 'when')
    return word === 'then' ? node.whenTrue : word === 'else' ? node.whenFalse : undefined
  return node.kind === 'repeat' && word === 'body' ? node.body : undefined
}

/** How many steps a run can have done at most that can be undone: it has to remember all of them. */
export function mostUndoable(nodes: readonly Node[]): number {
  return nodes.reduce((sum, node) => {
    if (node.kind === 'when') return sum + Math.max(mostUndoable(node.whenTrue), mostUndoable(node.whenFalse))
    if (node.kind === 'repeat') return sum + node.most * mostUndoable(node.body)
    return sum + Number(node.kind === 'work' && node.undo !== null)
  }, 0)
}

/** A tree and all that are inside it: branches, and flows that are steps of it. */
export function treesIn(tree: Tree): readonly Tree[] {
  const found = new Set<Tree>([tree])
  // What is added on the way is visited too.
  for (const one of found) {
    for (const [, node] of walk(one.nodes))
      if (node.kind === 'work') for (const inside of node.trees) found.add(inside)
  }
  return [...found]
}

/** All nodes with their paths, in the order in which they stand. */
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

/** Where a node stands: places in sequences, with words for the sequences inside between them. */
export type Path = readonly (number | string)[]

/** The node at a path; undefined behind the last of a sequence. */
export function nodeAt(nodes: readonly Node[], path: Path): Node | undefined {
  const [index, word, ...rest] = path
  const node = nodes[index as number]
  if (word === undefined || node === undefined) return node
  const inside = sequenceIn(node, word as string)
  return inside && nodeAt(inside, rest)
}

/**
 * The shape of a flow without its functions. Workers store it, so that processes without its code can draw it
 * and show the position of a run. A branch is part of its flow; an inner flow has an outline of its own.
 */
import type { Join, Node, Tree, WorkNode } from './definition.ts'

export interface Outline {
  readonly steps: readonly StepOutline[]
}

export type StepOutline =
  | (Named & { readonly kind: 'step'; readonly work: WorkOutline; readonly undo: string | null })
  | (Named & { readonly kind: 'each'; readonly work: WorkOutline; readonly join: Join })
  | (Named & {
      readonly kind: 'parallel'
      readonly branches: readonly (Named & { readonly work: WorkOutline })[]
      readonly join: Join
    })
  | (Named & {
      readonly kind: 'when'
      readonly yes: readonly StepOutline[]
      readonly no: readonly StepOutline[]
    })
  | (Named & { readonly kind: 'repeat'; readonly most: number; readonly body: readonly StepOutline[] })
  /** `ms` is null if a function computes it. */
  | (Named & { readonly kind: 'sleep'; readonly ms: number | null })
  /** `timeoutMs` is null without a timeout. */
  | (Named & { readonly kind: 'signal'; readonly timeoutMs: number | null })

interface Named {
  readonly name: string
}

/** The work of a member: a job of a queue, a run of another flow, or a run of these steps. */
export type WorkOutline =
  | { readonly queue: string }
  | { readonly flow: string; readonly version: number }
  | { readonly branch: string; readonly steps: readonly StepOutline[] }

export function outlineOf(tree: Tree): Outline {
  return { steps: tree.nodes.map((node) => stepOf(tree, node)) }
}

/** Whether a tree is a branch of another, not a flow of its own. */
export function isBranchOf(inside: Tree, tree: Tree): boolean {
  return inside.queue === tree.queue
}

/** The steps of a flow, or of its branch with this name; undefined if there is none. */
export function stepsNamed(
  flow: string,
  { steps }: Outline,
  name: string,
): readonly StepOutline[] | undefined {
  if (name === flow) return steps
  for (const [, step] of walkOutline(steps)) {
    for (const work of worksOf(step)) {
      if (!('branch' in work)) continue
      const found = stepsNamed(work.branch, work, name)
      if (found) return found
    }
  }
  return undefined
}

/** All steps with their paths, in declaration order, without those of branches. */
export function* walkOutline(
  steps: readonly StepOutline[],
  path: readonly (number | string)[] = [],
): Generator<[readonly (number | string)[], StepOutline]> {
  for (const [index, step] of steps.entries()) {
    const here = [...path, index]
    yield [here, step]
    if (step.kind === 'when') {
      yield* walkOutline(step.yes, [...here, 'then'])
      yield* walkOutline(step.no, [...here, 'else'])
    }
    if (step.kind === 'repeat') yield* walkOutline(step.body, [...here, 'body'])
  }
}

export function worksOf(step: StepOutline): readonly WorkOutline[] {
  if (step.kind === 'parallel') return step.branches.map(({ work }) => work)
  return step.kind === 'step' || step.kind === 'each' ? [step.work] : []
}

function stepOf(tree: Tree, node: Node): StepOutline {
  const inside = (nodes: readonly Node[]): StepOutline[] => nodes.map((one) => stepOf(tree, one))
  const { name } = node
  switch (node.kind) {
    case 'work':
      return workOf(tree, node)
    case 'when':
      return { kind: 'when', name, yes: inside(node.whenTrue), no: inside(node.whenFalse) }
    case 'repeat':
      return { kind: 'repeat', name, most: node.most, body: inside(node.body) }
    case 'sleep':
      return { kind: 'sleep', name, ms: node.ms }
    case 'signal':
      return { kind: 'signal', name, timeoutMs: node.timeoutMs }
  }
}

function workOf(tree: Tree, { name, shape, works, join, undoQueue }: WorkNode): StepOutline {
  const branches = works.map(({ name: branch, work }) => ({ name: branch, work: shown(tree, work) }))
  const [first] = branches
  if (shape === 'parallel' || !first) return { kind: 'parallel', name, branches, join }
  return shape === 'each'
    ? { kind: 'each', name, work: first.work, join }
    : { kind: 'step', name, work: first.work, undo: undoQueue }
}

function shown(tree: Tree, work: WorkNode['works'][number]['work']): WorkOutline {
  if ('queue' in work) return work
  const { name, version } = work.tree
  return isBranchOf(work.tree, tree)
    ? { branch: name, steps: outlineOf(work.tree).steps }
    : { flow: name, version }
}

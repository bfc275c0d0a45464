/**
 * The layout of a flow, from top to bottom. A flow consists of nested sequences, so each part becomes a block
 * with a size, and blocks are composed: edges never cross, the layout is deterministic, and a thousand steps
 * take a few milliseconds.
 */
import type { TreeStep, Way } from './step-tree.ts'

interface Box {
  readonly id: string
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface PlacedStep extends Box {
  readonly kind: 'step'
  readonly step: TreeStep
}

/** A box around the steps of a branch or a loop. */
export interface PlacedFrame extends Box {
  readonly kind: 'frame'
  readonly label: string
  readonly isLoop: boolean
  readonly run: Way['run']
}

/** A placeholder for collapsed branches. */
export interface PlacedMore extends Box {
  readonly kind: 'more'
  /** The step these branches belong to. */
  readonly of: string
  readonly count: number
}

/** An empty branch: a line as high as its siblings, so that its edge crosses none of them. */
export interface PlacedDot extends Box {
  readonly kind: 'dot'
  readonly isPassed: boolean
}

export type Placed = PlacedStep | PlacedFrame | PlacedMore | PlacedDot

export interface Line {
  readonly id: string
  readonly from: string
  readonly to: string
  readonly label: string | null
  readonly isCritical: boolean
  /** The run has already passed it. */
  readonly isPassed: boolean
}

export interface Layout {
  readonly places: readonly Placed[]
  readonly lines: readonly Line[]
  readonly width: number
  readonly height: number
}

const STEP_WIDTH = 190
const STEP_HEIGHT = 52
const SMALL = 36
const DOT = 8
const GAP_X = 20
export const GAP_Y = 34
const PAD = 14
const HEAD = 26
/** Padding around the body of a loop, so that its label fits beside the incoming edge. */
const LOOP_PAD = 48
/** Further branches are collapsed until expanded. */
const WAYS_SHOWN = 8

interface Block {
  readonly width: number
  readonly height: number
  /** The x offset at which edges enter and leave. */
  readonly middle: number
  /** Places the block. `room` is the height of its tallest sibling. */
  put(x: number, y: number, room?: number): void
  /** The ids at which incoming edges end and outgoing edges start. */
  readonly entry: string | null
  readonly exits: readonly Exit[]
  readonly isCritical: boolean
}

interface Exit {
  readonly id: string
  readonly label: string | null
  readonly isCritical: boolean
  readonly isPassed: boolean
}

/** Lays out a tree. `unfolded` has the ids of the steps with all branches expanded. */
export function layoutOf(steps: readonly TreeStep[], unfolded: ReadonlySet<string> = new Set()): Layout {
  const maker = new LayoutMaker(unfolded)
  const block = maker.sequence(steps)
  block.put(0, 0)
  return { places: maker.places, lines: maker.lines, width: block.width, height: block.height }
}

class LayoutMaker {
  readonly places: Placed[] = []
  readonly lines: Line[] = []
  readonly #unfolded: ReadonlySet<string>

  constructor(unfolded: ReadonlySet<string>) {
    this.#unfolded = unfolded
  }

  sequence(steps: readonly TreeStep[]): Block {
    const blocks = steps.map((step) => this.#block(step))
    for (const [index, block] of blocks.entries()) {
      const next = blocks[index + 1]
      if (next?.entry) this.#connect(block.exits, next.entry, next.isCritical)
    }
    return {
      ...below(blocks),
      entry: blocks[0]?.entry ?? null,
      exits: blocks.at(-1)?.exits ?? [],
      isCritical: blocks[0]?.isCritical ?? false,
    }
  }

  #connect(exits: readonly Exit[], to: string, isCritical: boolean): void {
    for (const exit of exits) {
      this.lines.push({
        id: `${exit.id}→${to}`,
        from: exit.id,
        to,
        label: exit.label,
        isCritical: isCritical && exit.isCritical,
        isPassed: exit.isPassed,
      })
    }
  }

  #block(step: TreeStep): Block {
    if (step.kind === 'repeat') return this.#loop(step)
    if (step.ways.length > 0) return this.#fork(step)
    return this.#leaf(step, STEP_HEIGHT)
  }

  #leaf(step: TreeStep, height: number): Block {
    const { id, isCritical } = step
    return {
      width: STEP_WIDTH,
      height,
      middle: STEP_WIDTH / 2,
      entry: id,
      exits: [{ id, label: null, isCritical, isPassed: step.mark === 'done' }],
      isCritical,
      put: (x, y) => void this.places.push({ kind: 'step', id, step, x, y, width: STEP_WIDTH, height }),
    }
  }

  /** A loop is a box around its body. */
  #loop(step: TreeStep): Block {
    const head = this.#leaf(step, SMALL)
    const body = this.sequence(step.ways[0]?.steps ?? [])
    const framed = this.#framed(body, `${step.id}#loop`, { label: step.note ?? '', isLoop: true, run: null })
    if (body.entry) this.#connect(head.exits, body.entry, step.isCritical)
    return {
      ...below([head, framed]),
      entry: head.entry,
      exits: body.exits.length > 0 ? body.exits : head.exits,
      isCritical: step.isCritical,
    }
  }

  #framed(body: Block, id: string, about: Pick<PlacedFrame, 'label' | 'isLoop' | 'run'>): Block {
    const side = about.isLoop ? LOOP_PAD : PAD
    const width = body.width + 2 * side
    const height = body.height + PAD + HEAD
    return {
      ...body,
      width,
      height,
      middle: body.middle + side,
      put: (x, y) => {
        // Added before its content, so that it is drawn behind it.
        this.places.push({ kind: 'frame', id, ...about, x, y, width, height })
        body.put(x + side, y + HEAD)
      },
    }
  }

  /** A step with branches side by side: a `parallel`, or the two sides of a `when`. */
  #fork(step: TreeStep): Block {
    const head = this.#leaf(step, SMALL)
    const isAll = this.#unfolded.has(step.id) || step.ways.length <= WAYS_SHOWN + 1
    const ways = isAll ? step.ways : step.ways.slice(0, WAYS_SHOWN)
    const blocks = ways.map((way, index) => {
      const block = way.steps.length === 0 ? this.#dot(step, way, index) : this.#way(step, way, index)
      const exit: Exit = {
        id: step.id,
        label: step.kind === 'when' ? way.label : null,
        isCritical: step.isCritical,
        isPassed: isEntered(step, way),
      }
      if (block.entry) this.#connect([exit], block.entry, block.isCritical)
      return block
    })
    const exits = blocks.flatMap((block) => block.exits)
    if (!isAll) blocks.push(this.#more(step, step.ways.length - ways.length))
    return {
      ...below([head, beside(blocks)]),
      entry: head.entry,
      exits,
      isCritical: step.isCritical,
    }
  }

  #way(step: TreeStep, way: Way, index: number): Block {
    const body = this.sequence(way.steps)
    // A branch with several steps is a run of its own and gets a frame.
    if (step.kind !== 'parallel' || way.label === null) return body
    return this.#framed(body, `${step.id}#way${index}`, { label: way.label, isLoop: false, run: way.run })
  }

  #dot(step: TreeStep, way: Way, index: number): Block {
    const id = `${step.id}#way${index}`
    const isPassed = step.mark === 'done' && isEntered(step, way)
    return {
      width: 4 * DOT,
      height: DOT,
      middle: 2 * DOT,
      entry: id,
      exits: [{ id, label: null, isCritical: isPassed, isPassed }],
      isCritical: isPassed,
      put: (x, y, height = DOT) =>
        void this.places.push({ kind: 'dot', id, isPassed, x: x + 1.5 * DOT, y, width: DOT, height }),
    }
  }

  #more(step: TreeStep, count: number): Block {
    const id = `${step.id}#more`
    const size = { width: STEP_WIDTH, height: SMALL }
    return {
      ...size,
      middle: STEP_WIDTH / 2,
      entry: null,
      exits: [],
      isCritical: false,
      put: (x, y) => void this.places.push({ kind: 'more', id, of: step.id, count, x, y, ...size }),
    }
  }
}

/**
 * Whether the run entered this branch. An empty one was entered if the step is done and all others were
 * skipped.
 */
function isEntered({ mark, ways }: TreeStep, way: Way): boolean {
  const first = way.steps[0]?.mark
  if (first !== undefined) return first !== null && !['todo', 'skipped', 'unknown'].includes(first)
  return mark === 'done' && ways.every((one) => one.steps.every((step) => step.mark === 'skipped'))
}

type Size = Pick<Block, 'width' | 'height' | 'middle' | 'put'>

/** Stacks blocks vertically, aligned at their middle. */
function below(blocks: readonly Size[]): Size {
  const middle = Math.max(0, ...blocks.map((block) => block.middle))
  const right = Math.max(0, ...blocks.map((block) => block.width - block.middle))
  return {
    width: middle + right,
    height: blocks.reduce((sum, { height }) => sum + height, 0) + Math.max(0, blocks.length - 1) * GAP_Y,
    middle,
    put: (x, y) => {
      let at = y
      for (const block of blocks) {
        block.put(x + middle - block.middle, at)
        at += block.height + GAP_Y
      }
    },
  }
}

/**
 * Places blocks side by side. If all but the first are empty branches, the first stays aligned with the step
 * above.
 */
function beside(blocks: readonly Size[]): Size {
  const width = blocks.reduce((sum, block) => sum + block.width, 0) + Math.max(0, blocks.length - 1) * GAP_X
  const [first, ...others] = blocks
  const isAlone = first !== undefined && first.height > DOT && others.every(({ height }) => height <= DOT)
  const height = Math.max(0, ...blocks.map((block) => block.height))
  return {
    width,
    height,
    middle: isAlone ? first.middle : width / 2,
    put: (x, y) => {
      let at = x
      for (const block of blocks) {
        block.put(at, y, height)
        at += block.width + GAP_X
      }
    },
  }
}

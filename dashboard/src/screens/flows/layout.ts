/**
 * Places for the steps of a flow. A flow is made of sequences inside of sequences, so each part is a block with a size, and the
 * whole is put together from its parts: no line crosses another, the same flow always looks the same, and a thousand steps take
 * a few milliseconds.
 */
import type { TreeStep, Way } from './step-tree.ts'

export interface PlacedStep {
  readonly kind: 'step'
  readonly id: string
  readonly step: TreeStep
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** A box around the steps of a branch or of a loop. */
export interface PlacedFrame {
  readonly kind: 'frame'
  readonly id: string
  readonly label: string
  readonly isLoop: boolean
  readonly run: Way['run']
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** Stands for ways that are folded. */
export interface PlacedMore {
  readonly kind: 'more'
  readonly id: string
  /** The step whose ways these are. */
  readonly of: string
  readonly count: number
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

export interface Line {
  readonly id: string
  readonly from: string
  readonly to: string
  readonly label: string | null
  readonly isCritical: boolean
  /** Already gone along. */
  readonly isPassed: boolean
}

export interface Layout {
  readonly places: readonly (PlacedStep | PlacedFrame | PlacedMore)[]
  readonly lines: readonly Line[]
  readonly width: number
  readonly height: number
}

export const STEP_WIDTH = 200
export const STEP_HEIGHT = 58
const SMALL = 44
const GAP_X = 56
const GAP_Y = 18
const PAD = 14
const HEAD = 26
/** More ways than this are folded until somebody asks for all. */
export const WAYS_SHOWN = 8

interface Block {
  readonly width: number
  readonly height: number
  /** Where lines come in and go out, from its top. */
  readonly middle: number
  /** Puts it at a place. */
  put(x: number, y: number): void
  /** Where a line to it ends, and where those from it begin. None: the line goes through. */
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

/** Lays out a tree. `unfolded` are the ids of the steps all of whose ways are shown. */
export function layoutOf(steps: readonly TreeStep[], unfolded: ReadonlySet<string> = new Set()): Layout {
  const maker = new LayoutMaker(unfolded)
  const block = maker.sequence(steps)
  block.put(0, 0)
  return { places: maker.places, lines: maker.lines, width: block.width, height: block.height }
}

class LayoutMaker {
  readonly places: (PlacedStep | PlacedFrame | PlacedMore)[] = []
  readonly lines: Line[] = []
  readonly #unfolded: ReadonlySet<string>

  constructor(unfolded: ReadonlySet<string>) {
    this.#unfolded = unfolded
  }

  sequence(steps: readonly TreeStep[]): Block {
    const blocks = steps.map((step) => this.#block(step))
    const middle = Math.max(0, ...blocks.map((block) => block.middle))
    const below = Math.max(0, ...blocks.map((block) => block.height - block.middle))
    for (const [index, block] of blocks.entries()) {
      const next = blocks[index + 1]
      if (next?.entry) this.#connect(block.exits, next.entry, next.isCritical)
    }
    return {
      width: blocks.reduce((sum, { width }) => sum + width, 0) + Math.max(0, blocks.length - 1) * GAP_X,
      height: middle + below,
      middle,
      entry: blocks[0]?.entry ?? null,
      exits: blocks.at(-1)?.exits ?? [],
      isCritical: blocks[0]?.isCritical ?? false,
      put: (x, y) => {
        let at = x
        for (const block of blocks) {
          block.put(at, y + middle - block.middle)
          at += block.width + GAP_X
        }
      },
    }
  }

  #connect(exits: readonly Exit[], to: string, isCritical: boolean): void {
    for (const exit of exits) {
      this.lines.push({
        id: `${exit.id}→${to}${exit.label === null ? '' : `:${exit.label}`}`,
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
    return this.#leaf(step, STEP_WIDTH, STEP_HEIGHT)
  }

  #leaf(step: TreeStep, width: number, height: number): Block {
    const { id, isCritical } = step
    return {
      width,
      height,
      middle: height / 2,
      entry: id,
      exits: [{ id, label: null, isCritical, isPassed: step.mark === 'done' }],
      isCritical,
      put: (x, y) => void this.places.push({ kind: 'step', id, step, x, y, width, height }),
    }
  }

  /** A loop is a box around its body. */
  #loop(step: TreeStep): Block {
    const body = this.sequence(step.ways[0]?.steps ?? [])
    const head = this.#leaf(step, STEP_WIDTH, SMALL)
    const framed = this.#framed(body, `${step.id}#loop`, step.note ?? '', true, null)
    if (body.entry) this.#connect(head.exits, body.entry, step.isCritical)
    const middle = Math.max(head.middle, framed.middle)
    return {
      width: head.width + GAP_X + framed.width,
      height: middle + Math.max(head.height - head.middle, framed.height - framed.middle),
      middle,
      entry: head.entry,
      exits: body.exits.length > 0 ? body.exits : head.exits,
      isCritical: step.isCritical,
      put: (x, y) => {
        head.put(x, y + middle - head.middle)
        framed.put(x + head.width + GAP_X, y + middle - framed.middle)
      },
    }
  }

  #framed(body: Block, id: string, label: string, isLoop: boolean, run: Way['run']): Block {
    const width = body.width + 2 * PAD
    const height = body.height + PAD + HEAD
    return {
      ...body,
      width,
      height,
      middle: body.middle + HEAD,
      put: (x, y) => {
        // Before what is inside, so that it lies below.
        this.places.push({ kind: 'frame', id, label, isLoop, run, x, y, width, height })
        body.put(x + PAD, y + HEAD)
      },
    }
  }

  /** A step whose ways lie below each other: branches, or the sides of a `when`. */
  #fork(step: TreeStep): Block {
    const isWhen = step.kind === 'when'
    const head = this.#leaf(step, isWhen ? STEP_WIDTH - 40 : STEP_WIDTH, SMALL)
    const isAll = this.#unfolded.has(step.id) || step.ways.length <= WAYS_SHOWN + 1
    const ways = isAll ? step.ways : step.ways.slice(0, WAYS_SHOWN)
    const blocks: Block[] = []
    const through: Exit[] = []
    for (const [index, way] of ways.entries()) {
      const block = this.#way(step, way, index)
      if (block === null) {
        const isTaken =
          step.mark === 'done' &&
          ways.every((one) => one === way || one.steps.every(({ mark }) => mark === 'skipped'))
        through.push({ id: step.id, label: way.label, isCritical: isWhen && isTaken, isPassed: isTaken })
        continue
      }
      blocks.push(block)
      const passed = way.steps[0]?.mark
      const exit: Exit = {
        id: step.id,
        label: isWhen ? way.label : null,
        isCritical: step.isCritical,
        isPassed: passed !== null && passed !== undefined && !['todo', 'skipped', 'unknown'].includes(passed),
      }
      if (block.entry) this.#connect([exit], block.entry, block.isCritical)
    }
    if (!isAll) blocks.push(this.#more(step, step.ways.length - ways.length))
    const inner = Math.max(0, ...blocks.map(({ width }) => width))
    const height =
      blocks.reduce((sum, block) => sum + block.height, 0) + Math.max(0, blocks.length - 1) * GAP_Y
    const middle = Math.max(height / 2, head.middle)
    return {
      width: head.width + GAP_X + inner,
      height: Math.max(height, head.height),
      middle,
      entry: head.entry,
      exits: [...blocks.flatMap(({ exits }) => exits), ...through],
      isCritical: step.isCritical,
      put: (x, y) => {
        head.put(x, y + middle - head.middle)
        let at = y + middle - height / 2
        for (const block of blocks) {
          block.put(x + head.width + GAP_X, at)
          at += block.height + GAP_Y
        }
      },
    }
  }

  #way(step: TreeStep, way: Way, index: number): Block | null {
    if (way.steps.length === 0) return null
    const body = this.sequence(way.steps)
    // A branch of several steps is a run of its own, and is shown as one.
    if (step.kind !== 'parallel' || way.label === null) return body
    return this.#framed(body, `${step.id}#way${index}`, way.label, false, way.run)
  }

  #more(step: TreeStep, count: number): Block {
    const id = `${step.id}#more`
    return {
      width: STEP_WIDTH,
      height: SMALL,
      middle: SMALL / 2,
      entry: null,
      exits: [],
      isCritical: false,
      put: (x, y) =>
        void this.places.push({
          kind: 'more',
          id,
          of: step.id,
          count,
          x,
          y,
          width: STEP_WIDTH,
          height: SMALL,
        }),
    }
  }
}

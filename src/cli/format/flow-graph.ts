import type { StepOutline, StepStatus, WorkOutline } from '../../index.ts'
import type { WireMembers, WireRun } from '../../operations/schema/outputs.ts'
import type { Paint, Style } from '../output.ts'
import {
  type Block,
  beside,
  chained,
  forked,
  type Ink,
  inkOf,
  painted,
  plain,
  type Way,
} from './graph-layout.ts'
import { count, fromNow, span } from './numbers.ts'
import { clean } from './text.ts'

/** The run to draw, with its members and branches. */
export interface GraphRun {
  readonly view: WireRun
  readonly members: WireMembers
  /** Its branches, and their branches. */
  readonly branches: readonly WireRun[]
}

export interface GraphOptions {
  readonly width: number
  readonly unicode: boolean
  readonly paint: Paint
  readonly now: number
}

type Mark = StepStatus | 'failed' | 'waits' | 'cancelled'

const MARKS: Readonly<Record<Mark, readonly [string, Style]>> = {
  done: ['✔', 'green'],
  current: ['▶', 'cyan'],
  failed: ['✗', 'red'],
  cancelled: ['✗', 'dim'],
  waits: ['⏱', 'yellow'],
  todo: ['·', 'dim'],
  skipped: ['–', 'dim'],
  unknown: ['?', 'dim'],
}

export const LEGEND = '✔ done  ▶ running  ✗ failed  ⏱ waits  · not yet  – skipped'

/** Draws the steps of a flow, with the position of a run if there is one, wrapped to the terminal. */
export function graph(steps: readonly StepOutline[], run: GraphRun | null, options: GraphOptions): string {
  const drawing = new Drawing(run, options.now)
  const blocks = steps.map((step, index) => drawing.step(step, run?.view ?? null, String(index)))
  const fits = blocks.every(({ width }) => width + ARROW.length <= options.width)
  const shown = fits ? rows(blocks, options.width) : { lines: drawing.tree(steps, run?.view ?? null, '') }
  return painted(options.unicode ? shown : plain(shown), options.paint).join('\n')
}

const ARROW = '──▶ '

/** The blocks from left to right, in as many rows as they need. */
function rows(blocks: readonly Block[], width: number): Pick<Block, 'lines'> {
  const lines: (readonly Ink[])[] = []
  let row: Block | null = null
  for (const block of blocks) {
    const longer: Block = row === null ? block : chained([row, block], ARROW)
    if (row === null || longer.width <= width) {
      row = longer
      continue
    }
    lines.push(...row.lines, [])
    row = beside(inkOf({ text: ARROW, style: 'dim' }), block)
  }
  return { lines: row === null ? lines : [...lines, ...row.lines] }
}

class Drawing {
  readonly #run: GraphRun | null
  readonly #now: number

  constructor(run: GraphRun | null, now: number) {
    this.#run = run
    this.#now = now
  }

  /** A step of a flow, or of a branch whose run is `view`: null while there is none. */
  step(step: StepOutline, view: WireRun | null, path: string): Block {
    switch (step.kind) {
      case 'parallel':
        return forked(this.#branches(step, view, path), null)
      case 'when': {
        const ways = this.#sides(step, path).map(([label, inside, at]) => ({
          label,
          block: inside.length === 0 ? null : this.#sequence(inside, view, at),
        }))
        return forked(ways, { text: '◇', ...styleOf(this.#markOf(step, view, path)) })
      }
      case 'repeat':
        return beside(
          inkOf(...this.#label(step, view, path), { text: ' [ ', style: 'dim' }),
          this.#sequence(step.body, view, `${path}.body`),
          inkOf({ text: ' ]', style: 'dim' }),
        )
      default:
        return inkOf(...this.#label(step, view, path))
    }
  }

  #sequence(steps: readonly StepOutline[], view: WireRun | null, path: string): Block {
    return chained(steps.map((step, index) => this.step(step, view, `${path}.${index}`)))
  }

  #branches(
    { branches }: Extract<StepOutline, { kind: 'parallel' }>,
    view: WireRun | null,
    path: string,
  ): Way[] {
    return branches.map(({ name, work }, n) => {
      if (!('branch' in work)) return { block: inkOf(...this.#member(name, work, view, path, n)) }
      const own = this.#branchRun(work.branch, view, path, n)
      const steps = work.steps.map((step, index) => this.step(step, own, String(index)))
      return { label: clean(name), block: steps.length === 0 ? null : chained(steps) }
    })
  }

  #sides(
    step: Extract<StepOutline, { kind: 'when' }>,
    path: string,
  ): [label: string, steps: readonly StepOutline[], path: string][] {
    return [
      ['yes', step.yes, `${path}.then`],
      ['no', step.no, `${path}.else`],
    ]
  }

  // ── the status of a step ──────────────────────────────────────────────────────────────────────

  #markOf(step: StepOutline, view: WireRun | null, path: string): Mark | null {
    // Without a run there is nothing to mark; a branch without one has not begun, or is not kept.
    if (this.#run === null) return null
    const status = view?.position.steps.find((one) => one.path === path)?.status ?? 'todo'
    if (status !== 'current' || view === null) return status
    if (view.status === 'failed') return 'failed'
    if (view.status === 'cancelled') return 'cancelled'
    return step.kind === 'sleep' || step.kind === 'signal' ? 'waits' : status
  }

  #label(step: StepOutline, view: WireRun | null, path: string): Ink[] {
    const mark = this.#markOf(step, view, path)
    const more = this.#more(step, view, mark, path)
    // How many there are is known of the present step, and only of that.
    const items = step.kind === 'each' && more.length === 0 ? ' ×n' : ''
    return [...marked(mark), { text: this.#nameOf(step) + items, ...styleOf(mark) }, ...more]
  }

  #nameOf(step: StepOutline): string {
    switch (step.kind) {
      case 'sleep':
        return `${this.#run === null ? '⏱ ' : ''}${step.ms === null ? clean(step.name) : `sleep ${span(step.ms)}`}`
      case 'signal':
        return `${this.#run === null ? '⏱ ' : ''}signal ${clean(step.name)}`
      case 'repeat':
        return '↺'
      case 'step':
        return clean(step.name) + ('flow' in step.work ? ` (flow ${clean(step.work.flow)})` : '')
      default:
        return clean(step.name)
    }
  }

  /** What the present step waits for. */
  #more(step: StepOutline, view: WireRun | null, mark: Mark | null, path: string): Ink[] {
    if (step.kind === 'repeat') {
      const round = view?.position.steps.find((one) => one.path === path)?.round ?? null
      const most = count(step.most)
      return [{ text: round === null ? ` at most ${most}` : ` ${round}/${most}`, style: 'dim' }]
    }
    const waits = view?.position.waits ?? null
    if (mark === null || waits === null || !['current', 'waits', 'failed'].includes(mark)) return []
    if (waits.until !== null) return [{ text: ` ${fromNow(waits.until, this.#now)}`, style: 'yellow' }]
    if (waits.kind === 'signal' || waits.size === 1) return []
    const failed: Ink[] = waits.failed > 0 ? [{ text: ` ${count(waits.failed)} failed`, style: 'red' }] : []
    return [{ text: ` ${count(waits.done)}/${count(waits.size)}`, style: 'cyan' }, ...failed]
  }

  /** A branch that is one job, or a flow of its own. */
  #member(name: string, work: WorkOutline, view: WireRun | null, path: string, n: number): Ink[] {
    const mark = this.#memberMark(view, path, n)
    const flow = 'flow' in work ? ` (flow ${clean(work.flow)})` : ''
    return [...marked(mark), { text: clean(name) + flow, ...styleOf(mark) }]
  }

  #memberMark(view: WireRun | null, path: string, n: number): Mark | null {
    if (this.#run === null) return null
    const status = view?.position.steps.find((one) => one.path === path)?.status ?? 'todo'
    if (status !== 'current' || view === null) return status
    const isOwn = view.id === this.#run.view.id
    const { open, failed } = isOwn ? this.#run.members : { open: [], failed: [] }
    if (failed.some((member) => member.n === n)) return 'failed'
    if (open.some((member) => member.n === n)) return view.status === 'cancelled' ? 'cancelled' : 'current'
    return isOwn ? 'done' : 'current'
  }

  /** The run of a branch: of the group that its run waits for, or the last one there was. */
  #branchRun(flow: string, view: WireRun | null, path: string, n: number): WireRun | null {
    if (this.#run === null || view === null) return null
    const status = view.position.steps.find((one) => one.path === path)?.status ?? 'todo'
    if (status === 'todo' || status === 'skipped') return null
    const group = status === 'current' ? view.position.waits?.group : null
    const runs = this.#run.branches.filter((one) => one.flow === flow && one.branchOf?.n === n)
    return runs.find(({ branchOf }) => group === null || branchOf?.group === group) ?? null
  }

  // ── for narrow terminals ───────────────────────────────────────────────────────────────────────

  /** One line for each step, with those inside below it. */
  tree(steps: readonly StepOutline[], view: WireRun | null, path: string): (readonly Ink[])[] {
    return steps.flatMap((step, index) => {
      const at = path === '' ? String(index) : `${path}.${index}`
      const name = step.kind === 'when' ? [{ text: '◇ ' }] : []
      return [[...name, ...this.#label(step, view, at)], ...this.#inside(step, view, at)]
    })
  }

  #inside(step: StepOutline, view: WireRun | null, path: string): (readonly Ink[])[] {
    if (step.kind === 'repeat') return hung([this.tree(step.body, view, `${path}.body`)])
    if (step.kind === 'when') {
      const sides = this.#sides(step, path).filter(([, steps]) => steps.length > 0)
      return hung(
        sides.map(([label, steps, at]) => [[{ text: label, style: 'dim' }], ...this.tree(steps, view, at)]),
      )
    }
    if (step.kind !== 'parallel') return []
    return hung(
      step.branches.map(({ name, work }, n) => {
        if (!('branch' in work)) return [this.#member(name, work, view, path, n)]
        const own = this.#branchRun(work.branch, view, path, n)
        return [[{ text: clean(name), style: 'dim' }], ...this.tree(work.steps, own, '')]
      }),
    )
  }
}

/** Each part hung on a line that comes down from above. */
function hung(parts: readonly (readonly (readonly Ink[])[])[]): (readonly Ink[])[] {
  return parts.flatMap((lines, index) => {
    const isLast = index === parts.length - 1
    return lines.map((inks, row): readonly Ink[] => {
      const lead = row === 0 ? (isLast ? '└─▶ ' : '├─▶ ') : isLast ? '    ' : '│   '
      return [{ text: lead, style: 'dim' }, ...inks]
    })
  })
}

function marked(mark: Mark | null): Ink[] {
  if (mark === null) return []
  const [text, style] = MARKS[mark]
  return [{ text: `${text} `, style }]
}

function styleOf(mark: Mark | null): { readonly style?: Style } {
  return mark === null || mark === 'done' || mark === 'current' ? {} : { style: MARKS[mark][1] }
}

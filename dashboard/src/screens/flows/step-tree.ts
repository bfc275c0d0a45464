/**
 * The steps of a flow with their status in a run. Graph and list render the same tree, so they always agree.
 */
import type { RunDetail } from '../../../../src/operations/schema/wire-types.ts'
import {
  type JoinOutline,
  joinText,
  type RunStatus,
  type RunView,
  type StepOutline,
  type WorkOutline,
} from './outline.ts'

/** The status of a step in a run. `waits`: for a time or a signal. Null without a run. */
export type Mark = 'done' | 'current' | 'waits' | 'failed' | 'cancelled' | 'todo' | 'skipped' | 'unknown'

export interface TreeStep {
  /** Unique in the tree. */
  readonly id: string
  /** `member`: a branch that is a single job or a run of another flow. */
  readonly kind: StepOutline['kind'] | 'member'
  readonly name: string
  readonly mark: Mark | null
  /** The queue of its jobs. */
  readonly queue: string | null
  /** The flow it starts. */
  readonly flow: string | null
  /** Its run, if known. */
  readonly runId: string | null
  /** Its job, if known: only open and failed jobs are. */
  readonly jobId: string | null
  /** The queue of its compensation. */
  readonly undo: string | null
  readonly join: string | null
  /** Progress of its members; null if it has none, or if it is unknown. */
  readonly members: { readonly done: number; readonly size: number; readonly failed: number } | null
  /** When a sleep ends or a signal times out. */
  readonly until: string | null
  /** More details: "sleeps 3d", "round 2 of 10". */
  readonly note: string | null
  readonly ways: readonly Way[]
  /** On the critical path. */
  readonly isCritical: boolean
}

/** A sequence inside a step: a side of a `when`, a branch of a `parallel`, the body of a `repeat`. */
export interface Way {
  readonly label: string | null
  readonly steps: readonly TreeStep[]
  /** The run of a branch. */
  readonly run: { readonly id: string; readonly status: RunStatus } | null
}

type Detail = Pick<RunDetail, 'run' | 'members' | 'branches'>

/** The known status of a sequence. */
interface Seen {
  readonly markOf: (path: string) => Mark | null
  readonly roundOf: (path: string) => number | null
  /** Only for the run itself: the API does not return the members of its branches. */
  readonly detail: Detail | null
}

/** The tree of a flow; with `detail`, of one run. */
export function treeOf(
  steps: readonly StepOutline[],
  detail: Detail | null,
  durationText: (ms: number) => string,
): readonly TreeStep[] {
  const drafts = new Maker(detail, durationText).sequence(steps, '', '', seenOf(detail))
  return markCritical(drafts)
}

function seenOf(detail: Detail | null): Seen {
  if (detail === null) return { markOf: () => null, roundOf: () => null, detail }
  const standing = new Map(detail.run.position.steps.map((one) => [one.path, one]))
  return {
    detail,
    roundOf: (path) => standing.get(path)?.round ?? null,
    markOf: (path) => markOf(standing.get(path)?.status ?? 'todo', standing.get(path)?.kind, detail.run),
  }
}

function markOf(status: Mark, kind: string | undefined, { status: run }: Pick<RunView, 'status'>): Mark {
  if (status !== 'current') return status
  if (run === 'failed') return 'failed'
  if (run === 'cancelled') return 'cancelled'
  if (run === 'done') return 'done'
  return kind === 'sleep' || kind === 'signal' ? 'waits' : 'current'
}

class Maker {
  readonly #all: Detail | null
  readonly #durationText: (ms: number) => string

  constructor(all: Detail | null, durationText: (ms: number) => string) {
    this.#all = all
    this.#durationText = durationText
  }

  sequence(steps: readonly StepOutline[], lead: string, path: string, seen: Seen): readonly TreeStep[] {
    return steps.map((step, index) =>
      this.#step(step, lead, path === '' ? String(index) : `${path}.${index}`, seen),
    )
  }

  #step(step: StepOutline, lead: string, path: string, seen: Seen): TreeStep {
    const mark = seen.markOf(path)
    const isHere = mark === 'current' || mark === 'waits' || mark === 'failed'
    const waits = isHere ? (seen.detail?.run.position.waits ?? null) : null
    const base: TreeStep = {
      id: `${lead}${path}`,
      kind: step.kind,
      name: step.name,
      mark,
      queue: null,
      flow: null,
      runId: null,
      jobId: null,
      undo: null,
      join: null,
      members:
        waits !== null && waits.size > 1
          ? { done: waits.done, size: waits.size, failed: waits.failed }
          : null,
      until: waits?.until ?? null,
      note: null,
      ways: [],
      isCritical: false,
    }
    switch (step.kind) {
      case 'step':
        return { ...base, ...this.#work(step.work, step.name, isHere ? seen : null, 0), undo: step.undo }
      case 'each':
        return {
          ...base,
          ...this.#work(step.work, null, null, 0),
          join: joinText(step.join as JoinOutline),
          note: base.members === null ? 'one per item' : null,
        }
      case 'parallel':
        return {
          ...base,
          join: joinText(step.join as JoinOutline),
          ways: step.branches.map((branch, n) => this.#branch(branch, n, `${base.id}/${n}:`, mark, seen)),
        }
      case 'when':
        return {
          ...base,
          ways: [
            { label: 'yes', run: null, steps: this.sequence(step.yes, lead, `${path}.then`, seen) },
            { label: 'no', run: null, steps: this.sequence(step.no, lead, `${path}.else`, seen) },
          ],
        }
      case 'repeat': {
        const round = seen.roundOf(path)
        return {
          ...base,
          note: round === null ? `up to ${step.most} rounds` : `round ${round} of up to ${step.most}`,
          ways: [{ label: null, run: null, steps: this.sequence(step.body, lead, `${path}.body`, seen) }],
        }
      }
      case 'sleep':
        return {
          ...base,
          note: step.ms === null ? 'computed duration' : this.#durationText(step.ms),
        }
      case 'signal':
        return {
          ...base,
          note: step.timeoutMs === null ? null : `timeout ${this.#durationText(step.timeoutMs)}`,
        }
    }
  }

  /** What a member does, and its job or run. */
  #work(work: WorkOutline, name: string | null, seen: Seen | null, n: number): Partial<TreeStep> {
    const known = seen?.detail === null ? undefined : this.#memberOf(seen, n)
    if ('queue' in work) return { queue: work.queue, jobId: known?.kind === 'job' ? known.id : null }
    const flow = 'flow' in work ? work.flow : work.branch
    const run = known?.kind === 'run' ? known.id : (this.#branchRun(name)?.id ?? null)
    return { flow, runId: run, ...('branch' in work ? { note: `${work.steps.length} steps each` } : {}) }
  }

  #memberOf(seen: Seen | null, n: number): Detail['members']['open'][number] | undefined {
    const members = seen?.detail?.members
    return members?.failed.find((one) => one.n === n) ?? members?.open.find((one) => one.n === n)
  }

  /** A loop starts new branches in each round; the newest is shown. */
  #branchRun(name: string | null): Detail['branches'][number] | undefined {
    return name === null ? undefined : this.#all?.branches.findLast((one) => one.name === name)
  }

  #branch(
    { name, work }: { readonly name: string; readonly work: WorkOutline },
    n: number,
    lead: string,
    parent: Mark | null,
    seen: Seen,
  ): Way {
    const isHere = parent === 'current' || parent === 'failed'
    const member = isHere ? this.#memberOf(seen, n) : undefined
    const run =
      parent === null || parent === 'todo' || parent === 'skipped' ? undefined : this.#branchRun(name)
    if ('branch' in work) {
      const inside = branchSeen(work.steps, parent, run)
      return {
        label: name,
        run: run ? { id: run.id, status: run.status } : null,
        steps: this.sequence(work.steps, lead, '', inside),
      }
    }
    const mark = memberMark(parent, member, seen)
    const step: TreeStep = {
      id: `${lead}0`,
      kind: 'member',
      name,
      mark,
      queue: 'queue' in work ? work.queue : null,
      flow: 'flow' in work ? work.flow : null,
      runId: member?.kind === 'run' ? member.id : 'flow' in work ? (run?.id ?? null) : null,
      jobId: member?.kind === 'job' ? member.id : null,
      undo: null,
      join: null,
      members: null,
      until: null,
      note: null,
      ways: [],
      isCritical: false,
    }
    return { label: null, run: null, steps: [step] }
  }
}

function memberMark(
  parent: Mark | null,
  member: Detail['members']['open'][number] | undefined,
  seen: Seen,
): Mark | null {
  if (parent !== 'current' && parent !== 'failed') return parent
  if (seen.detail === null) return parent
  if (member === undefined) return 'done'
  if (member.state === 'running' || member.state === 'ready' || member.state === 'delayed') return 'current'
  return member.state === 'cancelled' ? 'cancelled' : 'failed'
}

/** The API returns the status of a branch and its current step. Steps before that one are done. */
function branchSeen(
  steps: readonly StepOutline[],
  parent: Mark | null,
  run: { readonly status: RunStatus; readonly step: string | null } | undefined,
): Seen {
  const all = (mark: Mark | null): Seen => ({ markOf: () => mark, roundOf: () => null, detail: null })
  if (parent === null || parent === 'todo' || parent === 'skipped') return all(parent)
  if (run === undefined) return all(parent === 'done' ? 'done' : 'unknown')
  if (run.status === 'done') return all('done')
  if (run.step === null) return all('todo')
  const at = pathOf(steps, run.step)
  if (at === null) return all('unknown')
  return {
    detail: null,
    roundOf: () => null,
    markOf: (path) => {
      const order = compare(path, at.path)
      if (order === 'at') return markOf('current', at.path === path ? at.kind : undefined, run)
      return order === 'before' ? 'done' : order === 'after' ? 'todo' : 'skipped'
    },
  }
}

function pathOf(
  steps: readonly StepOutline[],
  name: string,
  lead = '',
): { readonly path: string; readonly kind: StepOutline['kind'] } | null {
  for (const [index, step] of steps.entries()) {
    const path = lead === '' ? String(index) : `${lead}.${index}`
    if (step.name === name) return { path, kind: step.kind }
    const inside =
      step.kind === 'when'
        ? (pathOf(step.yes, name, `${path}.then`) ?? pathOf(step.no, name, `${path}.else`))
        : step.kind === 'repeat'
          ? pathOf(step.body, name, `${path}.body`)
          : null
    if (inside) return inside
  }
  return null
}

/**
 * Compares a path with that of the current step: before, after, at (or around) it, or on a branch not taken.
 */
function compare(path: string, at: string): 'before' | 'after' | 'at' | 'aside' {
  const mine = path.split('.')
  const present = at.split('.')
  for (const [index, part] of mine.entries()) {
    const other = present[index]
    if (other === undefined) return 'before'
    if (part === other) continue
    if (!/^\d+$/.test(part)) return 'aside'
    return Number(part) < Number(other) ? 'before' : 'after'
  }
  return 'at'
}

// ── critical path ──────────────────────────────────────────────────────────────────────────────

/** Remaining and total length. Each step counts as one, because its duration is not known in advance. */
function lengthOf(steps: readonly TreeStep[]): readonly [left: number, all: number] {
  let left = 0
  let all = 0
  for (const step of steps) {
    const inside = step.ways.map((way) => lengthOf(way.steps))
    const isFinished = step.mark === 'done' || step.mark === 'skipped'
    left += isFinished ? 0 : 1 + Math.max(0, ...inside.map(([one]) => one))
    all += 1 + Math.max(0, ...inside.map(([, one]) => one))
  }
  return [left, all]
}

/** Marks the critical path: of parallel branches, the one with the most steps left. */
function markCritical(steps: readonly TreeStep[]): readonly TreeStep[] {
  return steps.map((step) => {
    if (step.mark === 'skipped') return step
    const chosen = criticalWay(step)
    return {
      ...step,
      isCritical: true,
      ways: step.ways.map((way, index) =>
        index === chosen ? { ...way, steps: markCritical(way.steps) } : way,
      ),
    }
  })
}

function criticalWay({ ways }: TreeStep): number {
  let best = -1
  let most: readonly [number, number] = [-1, -1]
  for (const [index, way] of ways.entries()) {
    if (way.steps.length > 0 && way.steps.every(({ mark }) => mark === 'skipped')) continue
    const length = lengthOf(way.steps)
    if (length[0] > most[0] || (length[0] === most[0] && length[1] > most[1])) {
      best = index
      most = length
    }
  }
  return best
}

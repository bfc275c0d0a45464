import { type ErrorCode, SkepError } from '../core/errors.ts'
import type { GroupEvent, NewGroup, Outcome } from '../core/flows/groups.ts'
import type { NewRun, Run, RunMove } from '../core/flows/runs.ts'
import type { NewJob } from '../core/jobs/job.ts'
import { addedPriority } from '../core/jobs/priority.ts'
import {
  type Member,
  type Node,
  nodeAt,
  type Path,
  type SignalNode,
  sequenceIn,
  type Tree,
  type Undoable,
  type View,
  type WorkNode,
  walk,
} from './definition.ts'
import { type Position, readPosition, startOf, type Waits } from './position.ts'
import { runGroup, signalGroup } from './signals.ts'

export interface Maker {
  uuid(): string
  /** A job for a member. The priority of its run is added to its own. */
  job(member: Extract<Member, { queue: unknown }>, priority: number): Promise<NewJob>
  /** A job that moves a run once what it waits for has happened. */
  control(where: Pick<Position, 'queue' | 'priority'>, run: string, what: Happening, delayMs: number): NewJob
  readonly keepMs: number
  readonly stateBytes: number
}

/**
 * What a run was waiting for has happened: a group has fired, or a timer has elapsed. The first one starts
 * it. `mended`: the run has just failed, and its group may have succeeded meanwhile. `cancelled`: the run
 * was, and its members too.
 */
export interface Happening {
  readonly event: GroupEvent | 'moment' | 'mended' | 'cancelled'
  readonly id: string
}

/** The same with the outcomes of the group's members. */
export interface Event extends Happening {
  readonly outcomes: readonly Outcome[]
}

export const BEGIN: Happening = { event: 'moment', id: 'begin' }

/**
 * Whether a run waits for this. One that failed because of a member still does, as the member may be retried.
 * Compensated steps stay compensated.
 */
export function isAwaited(run: Run, { event, id }: Happening): boolean {
  const { waits, failure } = readPosition(run.position)
  if (waits?.id !== id) return false
  switch (run.status) {
    case 'running':
      return event !== 'mended' && event !== 'cancelled'
    case 'failed':
      return (event === 'success' || event === 'mended') && failure === null
    case 'cancelled':
      return event === 'cancelled'
    case 'done':
      return false
  }
}

/** A node cannot be entered: a function of the flow threw, or returned something unusable. */
export class StepError extends SkepError {
  constructor(message: string, code: ErrorCode = 'OPTION_INVALID') {
    super(code, message)
  }
}

/**
 * The next move of a run after what it waited for has happened: the results go into its state, and it
 * advances to the next node that waits for something, or to its end. Reads and writes nothing.
 */
export async function advance(tree: Tree, run: Run, event: Event, maker: Maker): Promise<RunMove> {
  return new Advance(tree, run, maker).go(event)
}

/**
 * The move of a run that cannot continue because a function of its flow throws: it starts to compensate, or
 * fails. The event has happened nonetheless, so a step that is done is among those undone.
 */
export async function giveUp(
  tree: Tree,
  run: Run,
  event: Event,
  failure: string,
  maker: Maker,
): Promise<RunMove> {
  return new Advance(tree, run, maker).giveUp(event, failure)
}

class Advance {
  readonly #tree: Tree
  readonly #run: Run
  readonly #maker: Maker
  #position: Position
  #state: Record<string, unknown>
  readonly #groups: NewGroup[] = []
  readonly #runs: NewRun[] = []
  readonly #jobs: NewJob[] = []

  constructor(tree: Tree, run: Run, maker: Maker) {
    this.#tree = tree
    this.#run = run
    this.#maker = maker
    this.#position = readPosition(run.position)
    this.#state = JSON.parse(run.state) as Record<string, unknown>
  }

  get #view(): View {
    return { run: { id: this.#run.id, flow: this.#run.flow }, state: this.#state }
  }

  async go(event: Event): Promise<RunMove> {
    const { waits, done } = this.#position
    if (event.event === 'failure' && done.length === 0) {
      // A success decided before this, but applied after it, names an outdated revision and is lost.
      this.#jobs.push(this.#control('mended', event.id, 0))
      return this.#move({ status: 'failed', failure: failureOf(event.outcomes), keepMs: this.#maker.keepMs })
    }
    this.#position = { ...this.#position, waits: null }
    if (event.event !== 'moment') this.#take(event, waits?.size ?? 0)
    else if (event.id !== BEGIN.id) this.#position = { ...this.#position, path: next(this.#position.path) }
    else if (this.#position.from !== undefined) this.#goTo(this.#position.from)

    if (this.#position.failure !== null) return this.#undoNext()
    for (;;) {
      this.#climb()
      const node = nodeAt(this.#tree.nodes, this.#position.path)
      if (node === undefined) return this.#end()
      if (await this.#enter(node)) return this.#move({})
    }
  }

  async giveUp(event: Event, failure: string): Promise<RunMove> {
    const { from } = this.#position
    const { id, space, revision } = this.#run
    const isLost = from !== undefined && pathOf(this.#tree, from) === undefined
    if (!isLost && event.event !== 'moment') this.#learn(event)
    // A retry from a step that does not exist.
    if (isLost || (this.#position.done.length === 0 && this.#position.failure === null)) {
      const { keepMs } = this.#maker
      // Nothing its members do would move it.
      const position = JSON.stringify({ ...this.#position, waits: null })
      return {
        id,
        space,
        revision,
        position,
        status: 'failed',
        failure,
        keepMs,
        groups: [],
        runs: [],
        jobs: [],
      }
    }
    this.#position = { ...this.#position, waits: null, failure: this.#position.failure ?? failure }
    for (;;) {
      try {
        return await this.#undoNext()
      } catch {
        // The undo job cannot be enqueued: as with a dead one, the other steps are still undone.
        this.#passUndone()
      }
    }
  }

  #goTo(name: string): void {
    const path = pathOf(this.#tree, name)
    if (path) {
      const { from: _from, ...position } = this.#position
      this.#position = { ...position, path, rounds: roundsAt(path, position.rounds) }
      return
    }
    const names = [...walk(this.#tree.nodes)].map(([, node]) => `"${node.name}"`).join(', ')
    throw new StepError(`Flow "${this.#tree.name}" has no step "${name}". It has ${names}.`)
  }

  /** Adds the outcomes of the members to the state. */
  #take(event: Event, size: number): void {
    const { outcomes } = event
    const { path, failure } = this.#position
    this.#learn(event)
    if (failure !== null || event.event === 'failure') return
    const node = nodeAt(this.#tree.nodes, path) as Node
    if (node.kind === 'work') {
      this.#add(node.collect(outcomes, size))
      if (node.undo) this.#assertUndoable()
    } else {
      const reported = outcomes.find(({ n }) => n === 0)
      this.#add({ [node.name]: reported?.result ? JSON.parse(reported.result) : null })
    }
    this.#position = { ...this.#position, path: next(path) }
  }

  /** Records what can now be undone, or why the run fails, or that the last step was undone. */
  #learn({ event, outcomes }: Event): void {
    const { path, failure, done } = this.#position
    if (failure !== null) {
      this.#passUndone()
      return
    }
    if (event === 'failure') {
      this.#position = { ...this.#position, failure: failureOf(outcomes) }
      return
    }
    const node = nodeAt(this.#tree.nodes, path) as Node
    if (node.kind !== 'work' || !node.undo) return
    const result = outcomes.length === 1 && outcomes[0]?.result ? JSON.parse(outcomes[0].result) : null
    this.#position = { ...this.#position, done: [...done, { node: node.name, result }] }
  }

  /**
   * A step was undone, or could not be: either way the next one is due. A retry of the run executes it again.
   */
  #passUndone(): void {
    const { path, done } = this.#position
    const back = pathOf(this.#tree, done.at(-1)?.node ?? '') ?? path
    this.#position = { ...this.#position, done: done.slice(0, -1), path: back, rounds: roundsAt(back, {}) }
  }

  /** A loop could collect results without end, and each move writes all of them. */
  #assertUndoable(): void {
    const bytes = Buffer.byteLength(JSON.stringify(this.#position.done))
    if (bytes <= this.#maker.stateBytes) return
    throw new StepError(
      `The results kept for the undo steps of a run have ${bytes} bytes; the limit is ${this.#maker.stateBytes}. ` +
        'Return less from the steps, store large data elsewhere, or raise payloadBytes.',
      'PAYLOAD_TOO_LARGE',
    )
  }

  /** Leaves sequences that have ended: past a `when`, and back to the head of a loop. */
  #climb(): void {
    let { path } = this.#position
    while (path.length > 1 && nodeAt(this.#tree.nodes, path) === undefined) {
      const outer = path.slice(0, -2)
      path = path.at(-2) === 'body' ? outer : next(outer)
    }
    this.#position = { ...this.#position, path }
  }

  /** Enters a node. True: there is something to wait for. */
  async #enter(node: Node): Promise<boolean> {
    const { path, rounds } = this.#position
    switch (node.kind) {
      case 'work':
        return this.#work(node)
      case 'when': {
        const word = node.test(this.#view) ? 'then' : 'else'
        const isEmpty = (sequenceIn(node, word) ?? []).length === 0
        this.#position = {
          ...this.#position,
          took: { ...this.#position.took, [path.join('.')]: word },
          path: isEmpty ? next(path) : [...path, word, 0],
        }
        return false
      }
      case 'repeat': {
        const key = path.join('.')
        const round = rounds[key] ?? 0
        const goesRound = round < node.most && node.body.length > 0 && node.test(this.#view, round)
        // A loop that is entered again starts at its first iteration.
        this.#position = {
          ...this.#position,
          rounds: { ...rounds, [key]: goesRound ? round + 1 : 0 },
          path: goesRound ? [...path, 'body', 0] : next(path),
        }
        return false
      }
      case 'sleep':
        this.#sleep(node.name, node.delayMs(this.#view))
        return true
      case 'signal':
        return this.#signal(node)
    }
  }

  #sleep(step: string, delayMs: number): void {
    const id = this.#maker.uuid()
    const job = this.#control('moment', id, delayMs)
    this.#jobs.push(job)
    this.#wait(step, { id, size: 0, kind: 'moment', job: job.id, ms: delayMs })
  }

  #wait(step: string, waits: Waits): void {
    this.#position = { ...this.#position, step, waits }
  }

  async #work(node: WorkNode): Promise<boolean> {
    const members = node.members(this.#view)
    const need = needOf(node.join.need, members.length)
    if (members.length === 0) {
      if (need > 0) throw new StepError(`Step "${node.name}" needs ${need} members and has none.`)
      this.#add(node.collect([], 0))
      this.#position = { ...this.#position, path: next(this.#position.path) }
      return false
    }
    if (need > members.length)
      throw new StepError(`Step "${node.name}" needs ${need} members and has ${members.length}.`)
    const group = runGroup(this.#maker.uuid())
    const events: GroupEvent[] = node.join.need === 'none' ? ['settled'] : ['success', 'failure']
    this.#groups.push({
      id: group,
      space: this.#run.space,
      run: this.#run.id,
      size: members.length,
      need,
      failing: node.join.failing,
      jobs: this.#controls(group, events),
      keepMs: 0,
    })
    for (const [n, member] of members.entries()) await this.#member(member, group, n)
    const kind = members.some((member) => 'tree' in member) ? 'branches' : 'jobs'
    const cancels = node.join.need !== 'all' || node.join.failing !== 'end'
    this.#wait(node.name, { id: group, size: members.length, kind, need, cancels })
    return true
  }

  async #member(member: Member, group: string, n: number): Promise<void> {
    if ('queue' in member) {
      const job = await this.#maker.job(member, this.#position.priority)
      this.#jobs.push({ ...job, member: { group, n } })
      return
    }
    const { space, root } = this.#run
    const { queue } = member.tree
    const id = this.#maker.uuid()
    const head = {
      queue,
      priority: addedPriority(this.#position.priority, member.priority),
      name: member.name,
    }
    const control = this.#maker.control(head, id, BEGIN, member.delayMs)
    const run: NewRun = {
      id,
      space,
      flow: member.tree.name,
      version: member.tree.version,
      position: JSON.stringify(startOf(head, control.id)),
      state: this.#encode(member.state),
      attributes: [],
      member: { group, n },
      root,
    }
    this.#runs.push(run)
    this.#jobs.push(control)
  }

  /** A group with one external member; with a timeout, a second member: a job that is due then. */
  #signal({ name, timeoutMs }: SignalNode): boolean {
    const { signals } = this.#position
    const nth = signals[name] ?? 0
    const group = signalGroup(this.#run.id, name, nth)
    const size = timeoutMs === null ? 1 : 2
    this.#groups.push({
      id: group,
      space: this.#run.space,
      run: this.#run.id,
      size,
      need: 1,
      failing: 'hopeless',
      jobs: this.#controls(group, ['success']),
      keepMs: 0,
    })
    // No run waits for this timer: the completion of its job is what counts.
    if (timeoutMs !== null)
      this.#jobs.push({ ...this.#control('moment', this.#maker.uuid(), timeoutMs), member: { group, n: 1 } })
    this.#position = { ...this.#position, signals: { ...signals, [name]: nth + 1 } }
    const until = timeoutMs === null ? {} : { ms: timeoutMs }
    this.#wait(name, { id: group, size, kind: 'signal', need: 1, cancels: true, ...until })
    return true
  }

  /** Undoes the last finished step, or fails the run if none is left. */
  async #undoNext(): Promise<RunMove> {
    for (;;) {
      const { done, failure } = this.#position
      const last = done.at(-1)
      if (last === undefined) return this.#move({ status: 'failed', failure, keepMs: this.#maker.keepMs })
      const node = workNamed(this.#tree.nodes, last)
      if (node?.undo) {
        const group = runGroup(this.#maker.uuid())
        const { space, id } = this.#run
        await this.#member(node.undo(this.#view, last), group, 0)
        this.#groups.push({
          id: group,
          space,
          run: id,
          size: 1,
          need: 0,
          failing: 'end',
          jobs: this.#controls(group, ['settled']),
          keepMs: 0,
        })
        this.#wait(node.name, { id: group, size: 1, kind: 'jobs' })
        this.#position = { ...this.#position, undos: [...this.#position.undos, group] }
        return this.#move({})
      }
      this.#position = { ...this.#position, done: done.slice(0, -1) }
    }
  }

  #end(): RunMove {
    const result = JSON.stringify(this.#tree.result(this.#view) ?? null)
    this.#position = { ...this.#position, step: null }
    return this.#move({ status: 'done', result, keepMs: this.#maker.keepMs })
  }

  #move(end: Partial<RunMove>): RunMove {
    return {
      id: this.#run.id,
      space: this.#run.space,
      revision: this.#run.revision,
      position: JSON.stringify(this.#position),
      state: this.#encode(this.#state),
      status: 'running',
      groups: this.#groups,
      runs: this.#runs,
      jobs: this.#jobs,
      ...end,
    }
  }

  #control(event: Happening['event'], id: string, delayMs: number): NewJob {
    return this.#maker.control(this.#position, this.#run.id, { event, id }, delayMs)
  }

  #controls(group: string, events: readonly GroupEvent[]): NewGroup['jobs'] {
    return Object.fromEntries(events.map((event) => [event, this.#control(event, group, 0)]))
  }

  #add(more: Readonly<Record<string, unknown>>): void {
    this.#state = { ...this.#state, ...more }
  }

  #encode(state: Readonly<Record<string, unknown>>): string {
    const text = JSON.stringify(state)
    if (Buffer.byteLength(text) <= this.#maker.stateBytes) return text
    throw new StepError(
      `The state of a run has ${Buffer.byteLength(text)} bytes; the limit is ${this.#maker.stateBytes}. ` +
        'Store large data elsewhere and keep its keys in the state, or raise payloadBytes.',
      'PAYLOAD_TOO_LARGE',
    )
  }
}

function pathOf({ nodes }: Tree, name: string): Path | undefined {
  for (const [path, node] of walk(nodes)) if (node.name === name) return path
  return undefined
}

/** Loops around a path keep their iteration, or start at the first; all others start over. */
function roundsAt(path: Path, before: Position['rounds']): Position['rounds'] {
  const rounds: Record<string, number> = {}
  for (const [index, word] of path.entries()) {
    if (word !== 'body') continue
    const key = path.slice(0, index).join('.')
    rounds[key] = Math.max(1, before[key] ?? 0)
  }
  return rounds
}

function next(path: Path): Path {
  return [...path.slice(0, -1), (path.at(-1) as number) + 1]
}

function needOf(need: 'all' | 'none' | number, size: number): number {
  return need === 'all' ? size : need === 'none' ? 0 : need
}

function workNamed(nodes: readonly Node[], { node: name }: Undoable): WorkNode | undefined {
  for (const node of nodes) {
    if (node.kind === 'work' && node.name === name) return node
    for (const word of ['then', 'else', 'body']) {
      const inside = sequenceIn(node, word)
      const found = inside && workNamed(inside, { node: name, result: null })
      if (found) return found
    }
  }
  return undefined
}

function failureOf(outcomes: readonly Outcome[]): string {
  const first = outcomes.find(({ state, failure }) => state !== 'done' && failure !== null)
  return first?.failure ?? JSON.stringify({ kind: 'error', message: 'A member of the group was not done.' })
}

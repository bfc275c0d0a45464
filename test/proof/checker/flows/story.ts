/** Tells the history of flows step by step, for the checker's own tests. What is not said goes as it should. */
import type { GroupEvent, NewGroup, Outcome } from '../../../../src/core/flows/groups.ts'
import { createRun, type Run } from '../../../../src/core/flows/runs.ts'
import { type FinalState, PLAIN_JOB } from '../../../../src/core/jobs/job.ts'
import type {
  GroupEntry,
  MakingEntry,
  MemberEntry,
  RunEntry,
  SealEntry,
  TellEntry,
} from '../../flows/history.ts'
import type { FlowShape, Part, State } from '../../flows/shape.ts'
import type { History } from '../../history.ts'
import { Story } from '../story.ts'
import { asAt } from './open.ts'

export interface GroupTelling {
  readonly queue?: string
  readonly payloads?: readonly unknown[]
  readonly size?: number
  readonly need?: number
  readonly failing?: NewGroup['failing']
  readonly events?: readonly GroupEvent[]
  /** @default 'r' */
  readonly run?: string | null
}

export interface MoveTelling extends Partial<Run> {
  readonly failing?: boolean
  readonly undos?: readonly string[]
  readonly done?: readonly unknown[]
}

/** One run, `r`, of a flow `f` with these parts. It began with `{ n: 1 }`. */
export class FlowStory {
  readonly jobs = new Story()
  readonly runs: RunEntry[] = []
  readonly groups = new Map<string, GroupEntry>()
  readonly members = new Map<string, Map<number, MemberEntry>>()
  readonly tells: TellEntry[] = []
  readonly seals = new Map<string, SealEntry>()
  readonly calls: MakingEntry[] = []
  readonly results: { run: string; value: string }[] = []
  readonly mended: string[] = []
  readonly outcomes = new Map<string, Outcome[]>()
  readonly fired = new Map<string, GroupEvent[]>()
  readonly forgotten = new Set<string>()
  readonly #shape: FlowShape

  constructor(parts: readonly Part[]) {
    this.#shape = { name: 'f', version: 1, parts }
  }

  /** The run is at its next revision, with this state, and waits for this group. */
  move(state: State, waits: string | null, patch: MoveTelling = {}): this {
    const { failing = false, undos = [], done = [], ...rest } = patch
    const before = this.runs.at(-1)?.after ?? null
    const failure = failing ? '"boom"' : null
    const position = JSON.stringify({
      waits: waits === null ? null : { id: waits, size: 1, kind: 'jobs' },
      failure,
      undos,
      done,
    })
    const made = {
      id: 'r',
      space: 'default',
      flow: 'f',
      version: 1,
      attributes: ['n:1'],
      member: null,
      root: 'r',
    }
    const after: Run = {
      ...createRun({ ...made, position, state: JSON.stringify(state) }, 0),
      revision: (before?.revision ?? -1) + 1,
      ...rest,
    }
    this.runs.push({ n: this.#place(), at: this.jobs.now, before, after })
    return this
  }

  ends(state: State, patch: Partial<Run> = {}): this {
    return this.move(state, null, { status: 'done', result: JSON.stringify(state), ...patch })
  }

  /** What the run made with its last move. Its members are jobs `<id>.<n>`. */
  group(id: string, telling: GroupTelling = {}): this {
    const { queue = 'mail', payloads = [{ n: 1 }], events = ['success', 'failure'] } = telling
    const { size = payloads.length, need = size, failing = 'end', run = 'r' } = telling
    const jobs = Object.fromEntries(
      events.map((event) => [
        event,
        { ...PLAIN_JOB, id: `${id} ${event}`, space: 'default', queue: 'flow:f', payload: '{}' },
      ]),
    )
    const made = { id, space: 'default', run, size, need, failing, jobs, keepMs: 0 }
    this.groups.set(id, { n: this.#place(), made, revision: this.runs.at(-1)?.after.revision ?? 0 })
    this.outcomes.set(id, [])
    this.fired.set(id, [])
    const members = new Map<number, MemberEntry>()
    for (const [n, payload] of payloads.entries()) {
      this.jobs.enqueue(`${id}.${n}`, { queue, payload: JSON.stringify(payload) })
      members.set(n, { id: `${id}.${n}`, kind: 'job', later: [] })
    }
    this.members.set(id, members)
    return this
  }

  /** A member has ended. */
  end(id: string, n: number, state: FinalState = 'done', result: unknown = null): this {
    const text = state === 'done' ? JSON.stringify(result) : null
    this.jobs.change(`${id}.${n}`, { state, result: text, finishedAt: this.jobs.now })
    this.outcomes.get(id)?.push({ n, id: `${id}.${n}`, state, result: text, failure: null })
    return this
  }

  /** Member 0 is retried: the store forgets how it had ended. */
  retry(id: string): this {
    this.outcomes.set(
      id,
      (this.outcomes.get(id) ?? []).filter(({ n }) => n !== 0),
    )
    this.jobs.retry(`${id}.0`)
    return this
  }

  /** Somebody has told of member 0. */
  tell(id: string, result: unknown): this {
    const text = JSON.stringify(result)
    this.tells.push({ n: this.#place(), group: id, result: text })
    this.outcomes.get(id)?.push({ n: 0, id: null, state: 'done', result: text, failure: null })
    return this
  }

  /** Nobody joins an open group any more. */
  seal(id: string): this {
    this.seals.set(id, { n: this.#place(), size: this.members.get(id)?.size ?? 0 })
    return this
  }

  /** A group enqueues what it has to. */
  fire(id: string, event: GroupEvent): this {
    this.fired.get(id)?.push(event)
    this.jobs.change(`${id} ${event}`, { queue: 'flow:f', state: 'ready', dueAt: this.jobs.now })
    return this
  }

  /** A step of one job: it is made, done with this result, and heard of. */
  done(id: string, result: unknown): this {
    return this.end(id, 0, 'done', result).fire(id, 'success')
  }

  history(): History {
    const final = [...this.groups.values()].flatMap(({ made }) => {
      if (this.forgotten.has(made.id)) return []
      const outcomes = this.outcomes.get(made.id) ?? []
      const done = outcomes.filter(({ state }) => state === 'done').length
      const failed = outcomes.length - done
      // Events without a job fire too, unheard.
      const silent = (['success', 'failure', 'settled'] as const).filter(
        (event) => made.jobs[event] === undefined,
      )
      const fired = [...(this.fired.get(made.id) ?? []), ...silent]
      const group = { ...asAt(this, made, Infinity), createdAt: 0, endedAt: null, done, failed, fired }
      return [[made.id, { group, outcomes }] as const]
    })
    const { runs, groups, members, tells, seals, calls, results, mended } = this
    const flows = {
      runs,
      groups,
      members,
      tells,
      seals,
      calls,
      results,
      mended,
      shapes: [this.#shape],
      final: new Map(final),
    }
    return { ...this.jobs.history(), flows }
  }

  #place(): number {
    this.jobs.stop('invoke')
    return this.jobs.records.at(-1)?.n ?? 0
  }
}

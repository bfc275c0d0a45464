import { isOpen, memberCount, type NewGroup } from '../../src/core/flows/groups.ts'
import type { NewRun, Run, RunMove } from '../../src/core/flows/runs.ts'
import type { NewJob } from '../../src/core/jobs/job.ts'
import type { AddMembersCall } from '../../src/store/flows.ts'
import type { Store } from '../../src/store/store.ts'
import type {
  FlowHistory,
  GroupEntry,
  MakingEntry,
  MemberEntry,
  RunEntry,
  SealEntry,
  TellEntry,
} from '../proof/flows/history.ts'
import type { FlowShape } from '../proof/flows/shape.ts'
import type { World } from './world.ts'

/**
 * Stands at the store and writes down what becomes of groups and runs, whatever their callers get to know. It asks the
 * store itself after each call that may have made or moved one, in the same moment.
 */
export class FlowWitness {
  readonly #world: World
  readonly #runs: RunEntry[] = []
  readonly #latest = new Map<string, Run>()
  readonly #groups = new Map<string, GroupEntry>()
  readonly #members = new Map<string, Map<number, MemberEntry>>()
  readonly #tells: TellEntry[] = []
  readonly #seals = new Map<string, SealEntry>()
  readonly #calls: MakingEntry[] = []
  readonly results: { readonly run: string; readonly value: string }[] = []

  constructor(world: World) {
    this.#world = world
  }

  /** All runs as they are now. */
  get latest(): readonly Run[] {
    return [...this.#latest.values()]
  }

  member(group: string, n: number): MemberEntry | undefined {
    return this.#members.get(group)?.get(n)
  }

  /** The jobs that are members, those put down last at the end. */
  get jobs(): readonly string[] {
    const members = [...this.#members.values()].flatMap((own) => [...own.values()])
    return members.filter(({ kind }) => kind === 'job').map(({ id }) => id)
  }

  /** The open groups that nobody has sealed. */
  get open(): readonly string[] {
    return [...this.#groups.values()].flatMap(({ made }) =>
      isOpen(made) && !this.#seals.has(made.id) ? [made.id] : [],
    )
  }

  groupOf(id: string): NewGroup | undefined {
    return this.#groups.get(id)?.made
  }

  watch(store: Store): Store {
    return {
      ...store,
      insert: async (call) => {
        const { runs = [], groups = [], jobs } = call
        if (runs.length + groups.length === 0) return store.insert(call)
        const n = this.#world.next()
        this.#putDown(jobs, runs)
        try {
          return await store.insert(call)
        } finally {
          this.#calls.push(makingOf(runs, groups, jobs))
          await this.#look(store, n, runs, groups, 0)
        }
      },
      settle: async (call) => {
        const { settlements } = call
        const moves = settlements.flatMap(({ move }) => (move ? [move] : []))
        const groups = settlements.flatMap((settlement) => settlement.groups ?? [])
        for (const { enqueue = [], handsOn } of settlements) {
          if (handsOn) this.#handOn(enqueue)
          else this.#putDown(enqueue, [])
        }
        if (moves.length + groups.length === 0) return store.settle(call)
        const n = this.#world.next()
        try {
          return await store.settle(call)
        } finally {
          await this.#look(store, n, [], groups, 0)
          await this.#moved(store, n, moves)
        }
      },
      moveRuns: async (call) => {
        const n = this.#world.next()
        try {
          return await store.moveRuns(call)
        } finally {
          await this.#moved(store, n, call.moves)
        }
      },
      tell: async (call) => {
        const n = this.#world.next()
        const reply = await store.tell(call)
        if (reply.status === 'ok') this.#tells.push({ n, group: call.group, result: call.result })
        return reply
      },
      addMembers: async (call) => {
        const n = this.#world.next()
        try {
          return await store.addMembers(call)
        } finally {
          this.#calls.push(makingOf([], [], call.jobs))
          await this.#joined(store, n, call)
        }
      },
    }
  }

  /** What was seen, and what is there in the end. */
  async history(store: Store, shapes: readonly FlowShape[]): Promise<FlowHistory> {
    const final = new Map<string, FlowHistory['final'] extends ReadonlyMap<string, infer One> ? One : never>()
    for (const id of this.#groups.keys()) {
      const group = (await store.getGroups({ space: SPACE, ids: [id] })).groups[0]
      const page = await store.outcomes({ space: SPACE, groups: [id], from: 0, limit: 1_000 })
      if (group) final.set(id, { group, outcomes: page.outcomes[0] ?? [] })
    }
    const { mended } = await store.auditGroups({ limit: 10_000, cursor: null })
    return {
      runs: this.#runs,
      groups: this.#groups,
      members: this.#members,
      tells: this.#tells,
      seals: this.#seals,
      calls: this.#calls,
      results: this.results,
      shapes,
      final,
      mended: mended.map(({ group, what }) => `${group} ${what}`),
    }
  }

  /** Whether these have joined an open group, and whether it is sealed now. */
  async #joined(store: Store, n: number, { group: id, jobs }: AddMembersCall): Promise<void> {
    const group = (await store.getGroups({ space: SPACE, ids: [id] })).groups[0]
    if (!group) return
    if (!isOpen(group) && !this.#seals.has(id)) this.#seals.set(id, { n, size: memberCount(group) })
    // The store says which number each has: calls of two processes may have become one transaction.
    const stored = await store.get({ space: SPACE, ids: jobs.map((job) => job.id) })
    const page = await store.outcomes({ space: SPACE, groups: [id], from: 0, limit: 1_000 })
    const ended = new Map((page.outcomes[0] ?? []).map((outcome) => [outcome.id, outcome.n]))
    const joined = jobs.flatMap((job, index) => {
      const member = stored.jobs[index]?.member
      const number = member?.group === id ? member.n : ended.get(job.id)
      return number === undefined ? [] : [{ ...job, member: { group: id, n: number } }]
    })
    this.#putDown(joined, [])
  }

  #putDown(jobs: readonly NewJob[], runs: readonly NewRun[]): void {
    const put = (kind: 'job' | 'run', { id, member }: NewJob | NewRun): void => {
      if (member === null) return
      const own = this.#members.get(member.group) ?? new Map<number, MemberEntry>()
      this.#members.set(member.group, own)
      if (!own.has(member.n)) own.set(member.n, { id, kind, later: [] })
    }
    for (const job of jobs) put('job', job)
    for (const run of runs) put('run', run)
  }

  #handOn(jobs: readonly NewJob[]): void {
    for (const { id, member } of jobs) {
      const own = member && this.#members.get(member.group)
      const known = member && own?.get(member.n)
      if (!known || known.later.includes(id)) continue
      own?.set(member.n, { ...known, later: [...known.later, id] })
    }
  }

  /** Which of these are there now. */
  async #look(
    store: Store,
    n: number,
    runs: readonly NewRun[],
    groups: readonly NewGroup[],
    revision: number,
  ): Promise<void> {
    const fresh = runs.filter(({ id }) => !this.#latest.has(id))
    const found = await store.getRuns({ space: SPACE, ids: fresh.map(({ id }) => id) })
    for (const run of found.runs) if (run) this.#changed(n, null, run)
    const unknown = groups.filter(({ id }) => !this.#groups.has(id))
    const there = await store.getGroups({ space: SPACE, ids: unknown.map(({ id }) => id) })
    for (const [index, made] of unknown.entries()) {
      // Of two that open one group in the same call the first counts.
      if (!there.groups[index] || this.#groups.has(made.id)) continue
      this.#groups.set(made.id, { n, made, revision })
      this.#putDown(
        Object.values(made.jobs).filter((job) => job !== undefined),
        [],
      )
    }
  }

  async #moved(store: Store, n: number, moves: readonly RunMove[]): Promise<void> {
    const ids = [...new Set(moves.map(({ id }) => id))]
    const { runs } = await store.getRuns({ space: SPACE, ids })
    for (const run of runs) {
      const before = run && this.#latest.get(run.id)
      if (!run || !before || run.revision === before.revision) continue
      this.#changed(n, before, run)
      const accepted = moves.find(
        (move) =>
          move.id === run.id &&
          move.revision === before.revision &&
          (move.status ?? before.status) === run.status &&
          (move.position ?? before.position) === run.position,
      )
      if (!accepted) continue
      this.#putDown(accepted.jobs, accepted.runs)
      this.#calls.push(makingOf(accepted.runs, accepted.groups, accepted.jobs))
      await this.#look(store, n, accepted.runs, accepted.groups, run.revision)
    }
  }

  #changed(n: number, before: Run | null, after: Run): void {
    this.#runs.push({ n, at: this.#world.storeNow(), before, after })
    this.#latest.set(after.id, after)
  }
}

const SPACE = 'default'

function makingOf(
  runs: readonly NewRun[],
  groups: readonly NewGroup[],
  jobs: readonly NewJob[],
): MakingEntry {
  // One with a unique key may have been a duplicate.
  const certain = jobs.filter(({ unique }) => unique === null)
  const ids = (all: readonly { readonly id: string }[]): string[] => all.map(({ id }) => id)
  return { runs: ids(runs), groups: ids(groups), jobs: ids(certain) }
}

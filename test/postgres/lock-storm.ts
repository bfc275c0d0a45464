// Everything that takes locks, done at random by many at once over a few groups, runs, unique keys and strict lanes.

import type { NewGroup } from '../../src/core/flows/groups.ts'
import type { RunMove, RunStatus } from '../../src/core/flows/runs.ts'
import type { NewJob } from '../../src/core/jobs/job.ts'
import type { Settlement, Store } from '../../src/store/store.ts'
import { newGroup, newRun } from './flow-samples.ts'
import { newJob, uuid, verdict } from './world.ts'

const QUEUES = ['mail', 'strict', 'after'] as const
const KEYS = ['a', 'b', 'c', 'd', 'e']
/** Of each group: members that are jobs, then a run, then one that the job of a later group is, then one outside. */
const JOBS = 3
const SIZE = JOBS + 3

interface Held {
  readonly space: string
  readonly id: string
  readonly token: string
}

/** Numbers from a seed, so that a storm can be had again. */
export function chanceOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

export class LockStorm {
  readonly #store: Store
  readonly #chance: () => number
  /** The newest few of each: what many reach for at once. */
  readonly #groups: string[] = []
  readonly #unmade: string[] = []
  readonly #runs: string[] = []
  readonly #jobs: string[] = []
  readonly #held: Held[] = []
  readonly done: Record<string, number> = {}

  constructor(store: Store, chance: () => number) {
    this.#store = store
    this.#chance = chance
  }

  /** One thing, by chance. */
  async step(): Promise<void> {
    const [, name, run] = this.#pickWeighted([
      [3, 'insert', () => this.#insert()],
      [3, 'group', () => this.#makeGroups()],
      [8, 'claim', () => this.#claim()],
      [12, 'settle', () => this.#settle()],
      [4, 'rescue', () => this.#rescue()],
      [5, 'change', () => this.#change()],
      [3, 'extend', () => this.#extend()],
      [4, 'move', () => this.#move()],
      [4, 'tell', () => this.#tell()],
      [1, 'prune', () => this.#store.prune({ limit: 20 })],
      [1, 'audit', () => this.#store.auditGroups({ limit: 20, cursor: null })],
      [1, 'hold', () => this.#hold()],
    ])
    await run()
    this.done[name] = (this.done[name] ?? 0) + 1
  }

  async #insert(): Promise<void> {
    const jobs = this.#many(5, () => this.#job())
    await this.#store.insert({ jobs })
    this.#remember(jobs)
  }

  async #makeGroups(): Promise<void> {
    const made = this.#many(2, () => this.#group())
    const runs = made.flatMap(({ id }) => this.#runOf(id))
    const jobs = made.flatMap(({ id }) => this.#membersOf(id))
    const again = this.#chance() < 0.2
    await this.#store.insert({ groups: made, runs, jobs })
    if (again) await this.#store.insert({ groups: made, runs, jobs, again })
    await this.#know(made, runs, jobs)
  }

  async #claim(): Promise<void> {
    const { jobs } = await this.#store.claim(this.#claimCall())
    this.#held.push(...jobs)
  }

  async #settle(): Promise<void> {
    const made: NewGroup[] = []
    const settlements: Settlement[] = []
    for (const { space, id, token } of this.#take(6)) {
      const bring = this.#chance()
      const group = bring < 0.15 ? this.#group() : null
      if (group) made.push(group)
      const move = bring > 0.7 ? await this.#moveOf(this.#any(this.#runs)) : null
      settlements.push({
        space,
        id,
        token,
        verdict: this.#verdict(),
        ...(group ? { groups: [group], enqueue: this.#membersOf(group.id) } : {}),
        ...(bring > 0.4 && bring < 0.8 ? { enqueue: this.#many(2, () => this.#job()) } : {}),
        ...(move ? { move } : {}),
      })
    }
    const reply = await this.#store.settle({
      settlements,
      ...(this.#chance() < 0.5 ? { claim: this.#claimCall() } : {}),
    })
    this.#held.push(...(reply.claimed?.jobs ?? []))
    await this.#know(made, [], [])
    for (const { enqueue = [], move } of settlements) {
      this.#remember(enqueue)
      if (move) await this.#know(move.groups, move.runs, move.jobs)
    }
  }

  /** Of jobs that others hold too, some of whose leases are over. */
  async #rescue(): Promise<void> {
    const settlements = this.#many(5, () => this.#any(this.#held)).flatMap((held) =>
      held ? [{ ...held, verdict: this.#verdict(), onlyIfExpired: true, rescue: true }] : [],
    )
    await this.#store.settle({
      settlements: settlements.map(({ space, id, token, ...rest }) => ({ space, id, token, ...rest })),
    })
  }

  async #change(): Promise<void> {
    const action = this.#pick([
      'cancel',
      'remove',
      'bury',
      'promote',
      'prioritize',
      'retry',
      'retry',
    ] as const)
    await this.#store.change({
      action,
      space: 'acme',
      target: { ids: [...new Set(this.#many(5, () => this.#any(this.#jobs)))].flatMap((id) => id ?? []) },
      failure: '{"kind":"cancel","message":"By chance."}',
      keepMs: 600_000,
    })
  }

  async #extend(): Promise<void> {
    const leases = this.#many(6, () => this.#any(this.#held)).flatMap((held) => held ?? [])
    await this.#store.extend({
      leases: leases.map(({ space, id, token }) => ({ space, id, token })),
      leaseMs: 60_000,
    })
  }

  async #move(): Promise<void> {
    const ids = [...new Set(this.#many(3, () => this.#any(this.#runs)))]
    const moves = (await Promise.all(ids.map((id) => this.#moveOf(id)))).flatMap((move) => move ?? [])
    await this.#store.moveRuns({ moves })
    for (const move of moves) await this.#know(move.groups, move.runs, move.jobs)
  }

  async #tell(): Promise<void> {
    const group = this.#any(this.#chance() < 0.3 ? this.#unmade : this.#groups)
    if (group) await this.#store.tell({ space: 'acme', group, n: SIZE - 1, result: null })
  }

  async #hold(): Promise<void> {
    const target = { kind: 'pause', space: 'acme', queue: 'strict', lane: 'x' } as const
    if (this.#chance() < 0.5)
      await this.#store.hold({ holds: [{ ...target, reason: 'By chance.', by: null, forMs: 50 }] })
    else await this.#store.release({ holds: [target] })
  }

  #claimCall() {
    const limit = 1 + Math.floor(this.#chance() * 5)
    return {
      sources: QUEUES.map((queue) => ({ space: 'acme', queue, limit })),
      limit: 2 * limit,
      workerId: 'w',
      token: uuid(),
      leaseMs: this.#chance() < 0.3 ? 1 : 60_000,
    }
  }

  #verdict() {
    const to = this.#pick(['done', 'done', 'done', 'dead', 'failed', 'ready', 'delayed'] as const)
    const isOver = to !== 'ready' && to !== 'delayed'
    return verdict({
      to,
      keepMs: isOver ? this.#pick([null, 600_000]) : null,
      delayMs: 5,
      keepCancelledMs: 600_000,
    })
  }

  async #moveOf(id: string | undefined): Promise<RunMove | null> {
    if (!id) return null
    const { runs } = await this.#store.getRuns({ space: 'acme', ids: [id] })
    const run = runs[0]
    if (!run) return null
    const status: RunStatus = this.#pick(['running', 'running', 'done', 'failed', 'cancelled'])
    const made = this.#chance() < 0.3 ? [this.#group(id)] : []
    return {
      id,
      space: 'acme',
      revision: run.revision,
      status,
      keepMs: 600_000,
      groups: made,
      runs: made.flatMap((group) => this.#runOf(group.id)),
      jobs: [
        ...made.flatMap((group) => this.#membersOf(group.id)),
        ...(this.#chance() < 0.3 ? [this.#job()] : []),
      ],
    }
  }

  #group(run: string | null = null): NewGroup {
    const above = this.#chance() < 0.6 ? this.#any(this.#groups) : undefined
    const member = above ? { group: above, n: JOBS + 1 } : null
    return newGroup(SIZE, {
      id: this.#unmade.shift() ?? uuid(),
      run,
      need: this.#pick([1, 2, SIZE]),
      failing: this.#pick(['first', 'hopeless', 'end']),
      jobs: {
        success: this.#job({ queue: 'after', member }),
        failure: newJob({ queue: 'after' }),
        settled: this.#job({ queue: 'after' }),
      },
      keepMs: 600_000,
    })
  }

  #membersOf(group: string): NewJob[] {
    return Array.from({ length: JOBS }, (_, n) => this.#job({ member: { group, n } }))
  }

  #runOf(group: string) {
    return [newRun({ member: { group, n: JOBS } })]
  }

  #job(difference: Partial<NewJob> = {}): NewJob {
    const queue = this.#pick(['mail', 'strict'] as const)
    return newJob({
      queue,
      ...(queue === 'strict' ? { lane: this.#pick(['x', 'y']), strict: true } : {}),
      delayMs: this.#pick([0, 0, 0, 5]),
      unique:
        this.#chance() < 0.5
          ? {
              key: this.#pick(KEYS),
              scope: this.#pick(['queued', 'active', 'active', 'window']),
              windowMs: 5,
              onConflict: this.#pick(['ignore', 'replace', 'postpone']),
            }
          : null,
      ...difference,
    })
  }

  /** Those that were made: what comes with a move that was refused is not. */
  async #know(
    groups: readonly NewGroup[],
    runs: readonly { readonly id: string }[],
    jobs: readonly NewJob[],
  ): Promise<void> {
    const made = await this.#store.getGroups({ space: 'acme', ids: groups.map(({ id }) => id) })
    this.#groups.push(...made.groups.flatMap((group) => group?.id ?? []))
    this.#groups.splice(0, this.#groups.length - 8)
    while (this.#unmade.length < 3) this.#unmade.push(uuid())
    this.#runs.push(...runs.map(({ id }) => id))
    this.#runs.splice(0, this.#runs.length - 8)
    this.#remember([...jobs, ...groups.flatMap((group) => Object.values(group.jobs))])
  }

  #remember(jobs: readonly NewJob[]): void {
    this.#jobs.push(...jobs.map(({ id }) => id))
    this.#jobs.splice(0, this.#jobs.length - 40)
  }

  #take(most: number): Held[] {
    const count = 1 + Math.floor(this.#chance() * most)
    return this.#many(count, () =>
      this.#held.splice(Math.floor(this.#chance() * this.#held.length), 1),
    ).flat()
  }

  #many<T>(most: number, make: () => T): T[] {
    return Array.from({ length: 1 + Math.floor(this.#chance() * most) }, make)
  }

  #any<T>(items: readonly T[]): T | undefined {
    return items[Math.floor(this.#chance() * items.length)]
  }

  #pick<const T>(items: readonly T[]): T {
    return items[Math.floor(this.#chance() * items.length)] as T
  }

  #pickWeighted<T extends readonly [number, ...unknown[]]>(items: readonly T[]): T {
    const total = items.reduce((sum, [weight]) => sum + weight, 0)
    let left = this.#chance() * total
    for (const item of items) {
      left -= item[0]
      if (left < 0) return item
    }
    return items[0] as T
  }
}

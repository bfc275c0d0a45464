import { createHash } from 'node:crypto'
import type { Flow, Handler } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import type { Random } from '../../src/testing.ts'
import { check } from '../proof/checker/index.ts'
import type { FlowHistory } from '../proof/flows/history.ts'
import type { History, HistoryRecord, LimitFact, QueueFacts, Report, Violation } from '../proof/history.ts'
import { App, GRACE_MS } from './app.ts'
import { type Action, FEATURES, type Feature, type TrialKind } from './features/index.ts'
import type { FlowWitness } from './flow-witness.ts'
import { HintBus } from './hints.ts'
import { openModel, type StoreModel, type StoreName } from './stores.ts'
import { drawSwarm, type Swarm } from './swarm.ts'
import { Process, World } from './world.ts'

/** How long after everything has healed the system may take to end all jobs. */
const DRAIN_MS = 600_000
const CLOSE_MS = 120_000
/** How long transactions of other programs stay open. */
const HOLD_MS = [300, 4_000, 25_000] as const
/** Calls of which a trial has few: at the usual rate hardly one of them would go wrong. */
const SELDOM: ReadonlySet<string> = new Set(['tell', 'moveRuns', 'addMembers'])

export interface TrialResult {
  readonly seed: number
  readonly store: StoreName
  readonly kind: TrialKind
  readonly history: History
  readonly report: Report
  /** The same for the same seed, on any machine. */
  readonly hash: () => string
  readonly steps: number
  readonly swarm: Swarm
}

export interface TrialOptions {
  /** The notifier has notices, and workers claim by id. */
  readonly notices?: boolean
}

/**
 * One trial: some programs on one store, and trouble; then everything heals for good, and every job must end; then the
 * checker has its say.
 */
export class Trial {
  readonly seed: number
  readonly store: StoreName
  readonly kind: TrialKind
  readonly features: readonly Feature[]
  readonly world: World
  readonly random: Random
  readonly swarm: Swarm
  readonly hints: HintBus
  readonly model: StoreModel
  readonly apps: App[] = []
  readonly records: HistoryRecord[] = []
  /** Ids of jobs somebody knows of. */
  readonly known: string[] = []
  /** True once nothing goes wrong any more. */
  isHealed = false
  /**
   * Open transactions of other programs hold unique keys, and the store waits for them. Of this nothing is drawn: all other trials stay
   * what they were.
   */
  readonly hasStrangers: boolean
  readonly #extra: Violation[] = []
  #started = 0

  constructor(seed: number, store: StoreName, kind: TrialKind = 'jobs', options: TrialOptions = {}) {
    this.seed = seed
    this.store = store
    this.kind = kind
    this.features = FEATURES[kind]
    this.hasStrangers = kind === 'jobs' && seed % 5 === 1
    this.world = new World(seed)
    this.random = this.world.random
    const actions = this.features.flatMap((feature) => feature.actions.map(({ name }) => name))
    this.swarm = drawSwarm(this.random, actions)
    this.hints = new HintBus(this.world, this.swarm.hints, options.notices ? { seed } : null)
    this.model = openModel(store, this.world)
  }

  async run(): Promise<TrialResult> {
    try {
      for (let n = 0; n < this.swarm.apps; n++) this.startApp()
      await this.#trouble()
      this.#heal()
      const drained = await this.#drain()
      await this.#tally()
      const leaks = await this.#close()
      return this.#result(drained, leaks, await this.#flowHistory())
    } finally {
      for (const app of this.apps) app.abandon()
      this.model.dispose()
    }
  }

  get witness(): FlowWitness {
    return this.model.witness
  }

  /** Programs that are there and have not been told to stop. */
  get up(): App[] {
    return this.apps.filter(({ state }) => state === 'up')
  }

  startApp(): App {
    const app = new App(this, this.model, `p${++this.#started}`, (record) => this.records.push(record))
    this.apps.push(app)
    if (!this.isHealed && this.swarm.callFaultRate > 0) {
      const { callFaults, callFaultRate } = this.swarm
      app.link.luck = (operation) => {
        const rate = SELDOM.has(operation) ? Math.min(0.5, callFaultRate * 5) : callFaultRate
        return this.random.chance(rate) ? this.random.pick(callFaults) : null
      }
    }
    for (const feature of this.features) feature.begin?.(this, app)
    app.work(this, [...this.#handlers(app), ...this.#flows(app)])
    return app
  }

  /** Calls of living programs that have no answer yet, and calls of anyone that are still on their way to the store. */
  get open(): number {
    return this.apps.reduce(
      (sum, { state, open, link }) => sum + link.underWay + (state === 'dead' ? 0 : open),
      0,
    )
  }

  /** Whether a transaction of another program holds this key now: a third of them at a time, for less than a lease or for longer. */
  isHeld(key: string): boolean {
    if (this.isHealed) return false
    const holdMs = HOLD_MS[this.seed % HOLD_MS.length] as number
    let sum = Math.floor(this.world.time / holdMs)
    for (let n = 0; n < key.length; n++) sum += key.charCodeAt(n)
    return sum % 3 === 0
  }

  /** Writes down what was done to the system as a whole. */
  note(what: string): void {
    const { world } = this
    this.records.push({ f: 'fault', type: 'info', what, n: world.next(), at: world.time, proc: '-' })
  }

  /** Something is wrong that neither records nor audit can show. */
  violate(violation: Violation): void {
    this.#extra.push(violation)
  }

  #handlers(app: App): Handler[] {
    const queues = this.features.flatMap((feature) => feature.queues)
    // In trouble not every program knows every queue; in the end all do.
    const chosen = this.isHealed ? queues : queues.filter((queue) => !queue.rare || this.random.chance(0.5))
    app.queues = new Set(chosen.map(({ name }) => name))
    return chosen.map((queue) => queue.handler(this, app))
  }

  #flows(app: App): Flow<never, unknown>[] {
    return this.features.flatMap((feature) => feature.flows?.(this, app) ?? [])
  }

  async #trouble(): Promise<void> {
    const actions = this.features
      .flatMap((feature) => feature.actions)
      .filter(({ name }) => !this.swarm.without.has(name))
    const total = actions.reduce((sum, { weight }) => sum + weight, 0)
    for (let n = 0; n < this.swarm.actions && actions.length > 0; n++) {
      if (this.up.length > 0) pickByWeight(actions, total, this.random).run(this)
      else this.startApp()
      await this.world.pass(this.random.next() * this.swarm.paceMs)
    }
  }

  #heal(): void {
    this.isHealed = true
    this.world.after(0, null, () => {})
    this.records.push({
      f: 'heal',
      type: 'info',
      what: 'all',
      n: this.world.next(),
      at: this.world.time,
      proc: '-',
    })
    for (const { link, process } of this.apps) {
      link.isCut = false
      link.luck = () => null
      this.world.wake(process)
      process.diesAfter = Infinity
    }
    // One that knows all queues.
    this.startApp()
  }

  async #drain(): Promise<boolean> {
    const until = this.world.time + DRAIN_MS
    while (this.world.time < until) {
      await this.world.pass(250)
      const isBusy = this.open > 0 || this.model.unfinished() > 0
      if (isBusy || this.features.some((feature) => feature.isOwed?.(this))) {
        for (const feature of this.features) feature.mend?.(this)
        continue
      }
      if (!(await this.#owesSlots())) return true
      await this.world.pass(1_000)
    }
    return false
  }

  /** Whether a schedule will still make jobs. */
  async #owesSlots(): Promise<boolean> {
    const { store, abandon } = this.model.open(new Process(this.world, 'observer', 0))
    let owes: boolean | null = null
    void store.listSchedules({ space: 'default', limit: 100, cursor: null }).then(({ schedules }) => {
      owes = schedules.some(({ nextAt, pausedAt }) => nextAt !== null && pausedAt === null)
    })
    await this.world.pass(0, () => owes !== null)
    abandon()
    return owes === true
  }

  /** The store's counts and what it holds in that very moment must agree. */
  async #tally(): Promise<void> {
    const { store, abandon } = this.model.open(new Process(this.world, 'observer', 0))
    let isDone = false
    let isFree = false
    void this.#tallyRoom(store).then(() => {
      isFree = true
    })
    void store.counts({ space: 'default' }).then(({ queues }) => {
      const left = new Map<string, number>()
      const add = (key: string, by: number): void => void left.set(key, (left.get(key) ?? 0) + by)
      for (const { queue, states } of queues)
        for (const [state, count] of Object.entries(states)) add(`${queue} ${state}`, count)
      for (const { space, queue, state } of this.model.final().values())
        if (space === 'default') add(`${queue} ${state}`, -1)
      for (const [about, by] of left) if (by !== 0) this.#miscounted(about, by)
      isDone = true
    })
    await this.world.pass(0, () => isDone && isFree)
    abandon()
  }

  /** Where nothing runs, nothing is in use. */
  async #tallyRoom(store: Store): Promise<void> {
    for (const { name } of this.features.flatMap((feature) => feature.queues)) {
      const { lanes, queue, shared } = await store.lanes({ space: 'default', queue: name, limit: 1_000 })
      for (const { running, what } of [
        ...lanes.map(({ lane, running }) => ({ running, what: `lane ${name}/${lane}` })),
        { running: queue?.running ?? 0, what: `queue ${name}` },
        { running: shared?.running ?? 0, what: `limit shared by ${name}` },
      ]) {
        if (running === 0) continue
        const message = `${running} of its leases count although nothing runs.`
        this.violate({ invariant: 'I-11', kind: 'leak', about: what, message })
      }
    }
  }

  #miscounted(about: string, by: number): void {
    const message = `The store counts ${by > 0 ? `${by} too many` : `${-by} too few`}.`
    this.violate({ invariant: 'I-25', kind: 'miscounted', about, message })
  }

  async #close(): Promise<Record<string, number>> {
    let closing = 0
    for (const app of this.up) {
      closing++
      void app.close().finally(() => closing--)
    }
    const isClosed = (): boolean => closing === 0 && this.apps.every(({ state }) => state !== 'closing')
    await this.world.pass(CLOSE_MS, isClosed)
    const closed = this.apps.filter(({ state }) => state === 'closed')
    return {
      timers: closed.reduce((sum, { process }) => sum + this.world.timersOf(process), 0),
      subscriptions: this.hints.subscriptions + (this.hints.notices?.open ?? 0),
      'programs that do not close': this.apps.filter(({ state }) => state === 'closing').length,
    }
  }

  async #flowHistory(): Promise<FlowHistory | null> {
    const shapes = this.features.flatMap((feature) => feature.shapes?.(this) ?? [])
    if (shapes.length === 0) return null
    const { store, abandon } = this.model.open(new Process(this.world, 'observer', 0))
    let history: FlowHistory | null = null
    void this.witness.history(store, shapes).then((all) => {
      history = all
    })
    await this.world.pass(0, () => history !== null)
    abandon()
    return history
  }

  #result(drained: boolean, leaks: Record<string, number>, flows: FlowHistory | null): TrialResult {
    const queues: Record<string, QueueFacts> = Object.fromEntries(
      this.features.flatMap((feature) => feature.queues).map(({ name, facts }) => [name, facts]),
    )
    const limits: LimitFact[] = this.features.flatMap((feature) => feature.limits ?? [])
    const audit = this.model.audit()
    const history: History = {
      records: this.records,
      audit,
      final: new Map(this.model.final()),
      facts: {
        drained,
        // The store's clock shows whole milliseconds.
        slackMs: 1,
        leaseMs: this.swarm.leaseMs,
        graceMs: GRACE_MS,
        queues,
        limits,
        rates: this.features.flatMap((feature) => feature.rates ?? []),
        order: this.features.flatMap((feature) => feature.order ?? []),
        leaks,
        liveness: false,
        slots: this.features.flatMap((feature) => feature.slots?.(this, audit) ?? []),
      },
      ...(flows && { flows }),
    }
    const report = check(history)
    const violations = [...report.violations, ...this.#extra]
    return {
      seed: this.seed,
      store: this.store,
      kind: this.kind,
      history,
      report: { ...report, violations },
      hash: () => hashOf(history),
      steps: this.world.steps,
      swarm: this.swarm,
    }
  }
}

function hashOf({ records, audit, flows }: History): string {
  const hash = createHash('sha256')
  for (const record of records) hash.update(JSON.stringify(record))
  for (const entry of audit) hash.update(JSON.stringify(entry))
  for (const entry of flows?.runs ?? []) hash.update(JSON.stringify(entry))
  return hash.digest('hex').slice(0, 16)
}

function pickByWeight(actions: readonly Action[], total: number, random: Random): Action {
  let left = random.next() * total
  for (const action of actions) {
    left -= action.weight
    if (left < 0) return action
  }
  return actions.at(-1) as Action
}

import assert from 'node:assert/strict'
import { type ClaimedJob, isFinal } from '../../core/jobs/job.ts'
import type { Verdict } from '../../core/policies/policy.ts'
import { auditStore } from '../invariants.ts'
import { type Random, seededRandom } from '../random.ts'
import { idOf, idsOf, OTHER_QUEUE, QUEUE, SPACE, sample, samples, unique, verdict } from './samples.ts'
import { type Scene, type StoreCase, source } from './scene.ts'

const JOBS = 240

/** A crowd around one queue: all calls are under way at the same time, and some of them are mistakes. */
class Crowd {
  readonly #scene: Scene
  readonly #random: Random
  /** How often each generation of a job was ended by a holder of its lease. */
  readonly ends = new Map<string, number>()
  readonly tokens = new Set<string>()
  #inserted = false

  constructor(scene: Scene, seed: number) {
    this.#scene = scene
    this.#random = seededRandom(seed)
  }

  /** Runs everybody until all jobs have ended. */
  async run(): Promise<void> {
    const workers = ['a', 'b', 'c', 'd'].map((name) => this.#work(`worker-${name}`))
    await Promise.all([this.#insert(), ...workers, this.#rescue(), this.#rescue(), this.#meddle()])
  }

  async #isOver(): Promise<boolean> {
    this.#scene.pass(20)
    if (!this.#inserted) return false
    const { queues } = await this.#scene.store.counts({ space: SPACE, queues: [QUEUE], now: this.#scene.now })
    const states = queues.find(({ queue }) => queue === QUEUE)?.states
    return (states?.ready ?? 0) + (states?.delayed ?? 0) + (states?.running ?? 0) === 0
  }

  async #insert(): Promise<void> {
    for (let from = 1; from <= JOBS; from += 12) {
      const batch = samples(12, {}, from).map((job, n) =>
        n % 4 === 0 ? { ...job, unique: unique(job.id), delayMs: 50 } : job,
      )
      await Promise.all([this.#scene.insert(...batch), this.#scene.insertAgain(...batch.toReversed())])
    }
    this.#inserted = true
  }

  async #work(workerId: string): Promise<void> {
    while (!(await this.#isOver())) {
      const jobs = await this.#scene.take({ workerId, limit: this.#random.int(1, 6), leaseMs: 1_000 })
      for (const { id, token } of jobs) {
        assert.ok(!this.tokens.has(`${id} ${token}`), 'a lease is given once')
        this.tokens.add(`${id} ${token}`)
      }
      // Some are forgotten, as by a worker that died; others are extended first.
      const kept = jobs.filter(() => this.#random.chance(0.9))
      if (this.#random.chance(0.3)) await this.#scene.extend(kept, 1_000)
      await this.#settle(kept)
      if (this.#random.chance(0.2)) await this.#settle(kept)
    }
  }

  async #settle(jobs: readonly ClaimedJob[]): Promise<void> {
    const said = jobs.map((job) => ({ job, verdict: this.#verdict(job) }))
    const results = await this.#scene.settleAll(
      said.map(({ job: { space, id, token }, verdict }) => ({ space, id, token, verdict })),
    )
    for (const [n, result] of results.entries()) {
      const { job, verdict } = said[n] as (typeof said)[number]
      if (result.status !== 'ok' || result.state !== verdict.to || !isFinal(result.state)) continue
      // The same lease may hear twice that it ended its job; another one may not.
      const generation = `${job.id} ${job.generation}`
      const lease = `${generation} ${job.token}`
      if (!this.ends.has(lease)) this.ends.set(generation, (this.ends.get(generation) ?? 0) + 1)
      this.ends.set(lease, 0)
    }
  }

  /** What a job comes to depends on its lease alone, so that a repetition says the same. */
  #verdict({ id, token, starts }: ClaimedJob): Verdict {
    const dice = seededRandom(
      Number.parseInt(id.slice(-6), 16) * 31 + Number.parseInt(token.slice(-6), 16),
    ).next()
    if (starts > 6 || dice < 0.6) return verdict('done', { result: JSON.stringify(token) })
    if (dice < 0.75) return verdict('ready', { count: 'errors' })
    if (dice < 0.85) return verdict('delayed', { count: 'snoozes', delayMs: 100 })
    if (dice < 0.9) return verdict('ready', { refund: true, keepPlace: true })
    return verdict('dead', { count: 'errors' })
  }

  async #rescue(): Promise<void> {
    while (!(await this.#isOver())) {
      const leases = await this.#scene.expired({ limit: 20 })
      const lost = verdict('ready', { count: 'lost' })
      await this.#scene.settleAll(
        leases.map(({ space, id, token }) => ({ space, id, token, verdict: lost, onlyIfExpired: true })),
      )
    }
  }

  /** Somebody cancels, promotes and retries, without looking. */
  async #meddle(): Promise<void> {
    for (let n = 0; n < 12; n++) {
      const ids = Array.from({ length: 8 }, () => idOf(this.#random.int(1, JOBS)))
      await this.#scene.change('cancel', { ids: [...new Set(ids)] })
      await this.#scene.change('promote', { queue: QUEUE, state: 'delayed', limit: 3 })
      await this.#scene.change('retry', { queue: QUEUE, state: 'dead', limit: 5 })
    }
  }
}

export function crowdCases(test: StoreCase): void {
  for (const seed of [1, 2]) {
    test(`loses nothing and ends nothing twice in a crowd (${seed})`, async (scene) => {
      const crowd = new Crowd(scene, seed)

      await crowd.run()

      const jobs = await auditStore(scene.store, { [SPACE]: [QUEUE, OTHER_QUEUE] }, scene.now)
      assert.deepEqual(idsOf(jobs).toSorted(), idsOf(samples(JOBS)))
      assert.ok(jobs.every(({ state }) => isFinal(state)))
      const twice = [...crowd.ends].filter(([, count]) => count > 1)
      assert.deepEqual(twice, [], 'a generation of a job ends once')
      for (const { state, result, token } of jobs) {
        if (state === 'done')
          assert.equal(result, JSON.stringify(token), 'the result is that of the last lease')
      }
      // Whatever became of them, all keys are free again.
      const [free] = await scene.insert(sample(JOBS + 1, { unique: unique(idOf(1)) }))
      assert.equal(free?.status, 'ok')
      assert.deepEqual(await scene.expired({ sources: [source()], workerIds: ['worker-a'] }), [])
    })
  }
}

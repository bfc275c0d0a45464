/**
 * A run with real processes: workers and a producer on a real store, a nemesis that kills, freezes and cuts them off;
 * then everything heals for good, the queue has to drain, and the checker judges what is left.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { JobState } from '../../src/core/jobs/job.ts'
import type { Store } from '../../src/store/store.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { check, describeReport } from '../proof/checker/index.ts'
import type { Facts, Report } from '../proof/history.ts'
import { Recorder } from '../proof/recorder.ts'
import { type Bundle, bundlePrograms } from './bundle.ts'
import { fileSink, readRecords, SLACK_MS } from './evidence.ts'
import { inUse, limitFacts, strictLanes, usedUp } from './limited.ts'
import { type Harm, Nemesis } from './nemesis.ts'
import { type Outage, recoveryMs, wasServed } from './outage.ts'
import type { ProgramConfig } from './program.ts'
import { Slot } from './slot.ts'
import { openStage, type Servers, type Stage, type StoreName } from './stage.ts'
import { queueFacts } from './workload.ts'

export interface ChaosOptions {
  readonly store: StoreName
  readonly seed: number
  /** How long the faults last. */
  readonly seconds: number
  /** Go on, up to half as long again, until there were this many jobs. @default 0 */
  readonly jobs?: number
  readonly hints: boolean
  /** Jobs enqueued per second, children not counted. */
  readonly rate: number
  readonly leaseMs: number
  readonly rescueGraceMs: number
  /** Between two faults. */
  readonly everyMs: readonly [number, number]
  readonly longestFaultMs: number
  readonly longestFreezeMs: number
  /** How long the drain may take. */
  readonly drainMs: number
  /** Instead of the nemesis: the store goes away this often, for this long, and nobody is killed. */
  readonly outages?: { readonly count: number; readonly ms: number; readonly betweenMs: number }
  /** Keep the evidence even if all is well. */
  readonly keep?: boolean
  readonly onProgress?: (line: string) => void
}

export const chaosDefaults = {
  hints: true,
  rate: 100,
  leaseMs: 5_000,
  rescueGraceMs: 1_000,
  everyMs: [200, 1_300],
  longestFaultMs: 3_000,
  longestFreezeMs: 15_000,
  drainMs: 30_000,
} satisfies Partial<ChaosOptions>

export interface ChaosResult {
  readonly ok: boolean
  readonly report: Report
  readonly harm: Harm
  /** Jobs whose enqueue was asked for, children included. */
  readonly jobs: number
  /** From the heal until nothing waited and nothing ran; null: it did not come to that. */
  readonly drainMs: number | null
  /** How long after each outage jobs ended again and every process had been served; null: longer than there was time. */
  readonly recoveriesMs: readonly (number | null)[]
  /** The limits that were used up at some time: of others nothing was proved. */
  readonly usedUp: readonly string[]
  /** What must not happen and is not for the checker to see: a process that ended by itself, a stop that took too long. */
  readonly surprises: readonly string[]
  /** What is wrong, in words, with the place of the evidence. Empty if nothing is. */
  readonly problem: string
}

const WORKERS = ['w1', 'w2', 'w3'] as const
const PRODUCER = 'p1'

/** Where there is a server: with one of its own, or on the one given. */
export async function runChaos(options: ChaosOptions, servers?: Servers): Promise<ChaosResult> {
  const folder = mkdtempSync(join(tmpdir(), `skep-chaos-${options.store}-`))
  writeFileSync(join(folder, 'options.json'), JSON.stringify(options))
  const bundle = await bundlePrograms()
  const stage = await openStage(options.store, folder, servers)
  const run = new Run(options, folder, stage, bundle)
  try {
    const result = await run.go()
    if (result.ok && !options.keep) rmSync(folder, { recursive: true, force: true })
    return result
  } catch (cause) {
    throw new Error(`The run itself failed. Evidence: ${folder}`, { cause })
  } finally {
    await run.end()
    await stage.remove()
    bundle.remove()
  }
}

class Run {
  readonly #options: ChaosOptions
  readonly #folder: string
  readonly #records: string
  readonly #stage: Stage
  readonly #workers: readonly Slot[]
  readonly #producer: Slot
  readonly #recorder: Recorder
  readonly #surprises: string[] = []
  readonly #sent = new Map<string, number>()
  readonly #outages: Outage[] = []
  readonly #surprised = deferred()
  #startedAt = 0

  constructor(options: ChaosOptions, folder: string, stage: Stage, bundle: Bundle) {
    this.#options = options
    this.#folder = folder
    this.#stage = stage
    this.#records = join(folder, 'records')
    mkdirSync(this.#records)
    const sink = fileSink(join(this.#records, 'nemesis.jsonl'))
    this.#recorder = new Recorder({ proc: 'nemesis', now: Date.now, sink })
    const slot = (name: string, script: string): Slot =>
      new Slot({
        name,
        script,
        config: (proc, incarnation) => this.#config(name, proc, incarnation),
        onSurprise: (what) => this.#surprise(what),
        onMessage: ({ sent }) => void this.#sent.set(this.#producer.proc, sent as number),
      })
    this.#workers = WORKERS.map((name) => slot(name, bundle.script('worker-program')))
    this.#producer = slot(PRODUCER, bundle.script('producer-program'))
  }

  async go(): Promise<ChaosResult> {
    const options = this.#options
    const slots = [...this.#workers, this.#producer]
    this.#startedAt = Date.now()
    for (const slot of slots) slot.start()
    await Promise.all(slots.map(({ ready }) => ready))
    const nemesis = new Nemesis({
      random: seededRandom(options.seed),
      stage: this.#stage,
      workers: this.#workers,
      producer: this.#producer,
      leaseMs: options.leaseMs,
      everyMs: options.everyMs,
      longestMs: options.longestFaultMs,
      longestFreezeMs: options.longestFreezeMs,
      onFault: (f, what) => this.#write(f, what),
    })
    const progress = setInterval(() => this.#progress(nemesis.harm), 10_000)
    try {
      const harming = options.outages ? this.#goThroughOutages(options.outages) : this.#harm(nemesis)
      await Promise.race([harming, this.#surprised.promise])
      await nemesis.finish()
      this.#write('heal', 'everything')
    } finally {
      clearInterval(progress)
    }
    const store = this.#stage.open()
    try {
      const drainMs = await this.#drain(store)
      await Promise.all(this.#workers.map((slot) => this.#stopCleanly(slot)))
      return await this.#judge(store, nemesis.harm, drainMs)
    } finally {
      await store.close()
    }
  }

  /** Ends whatever still runs. */
  async end(): Promise<void> {
    await Promise.all([...this.#workers, this.#producer].map((slot) => slot.kill()))
  }

  async #harm(nemesis: Nemesis): Promise<void> {
    const { seconds, jobs = 0 } = this.#options
    const startedAt = performance.now()
    void nemesis.run()
    await sleep(seconds * 1_000)
    while (this.#sentInAll() < jobs && performance.now() - startedAt < seconds * 1_500) await sleep(500)
  }

  async #goThroughOutages({ count, ms, betweenMs }: NonNullable<ChaosOptions['outages']>): Promise<void> {
    for (let nth = 0; nth < count; nth++) {
      await sleep(betweenMs)
      if (this.#surprises.length > 0) return
      this.#write('fault', `outage ${nth}`)
      const from = Date.now()
      await this.#stage.outage(nth, ms)
      this.#outages.push({ from, to: Date.now() })
      this.#write('heal', `outage ${nth}`)
    }
    await sleep(betweenMs)
  }

  #config(name: string, proc: string, incarnation: number): ProgramConfig {
    const { seed, hints, leaseMs, rescueGraceMs, rate } = this.#options
    const sent = this.#sentInAll()
    const due = ((Date.now() - this.#startedAt) / 1_000) * rate
    return {
      proc,
      address: this.#stage.address(name),
      records: this.#records,
      hints,
      seed: seed * 1_000 + incarnation,
      leaseMs,
      rescueGraceMs,
      concurrency: 10,
      callTimeoutMs: Math.min(15_000, leaseMs),
      rate,
      callers: 6,
      behind: Math.max(0, due - sent),
    }
  }

  /** Jobs enqueued so far, children not counted. */
  #sentInAll(): number {
    return [...this.#sent.values()].reduce((sum, n) => sum + n, 0)
  }

  /** The producer ends, and then every job has to. */
  async #drain(store: Store): Promise<number | null> {
    const healedAt = performance.now()
    const elapsedMs = (): number => Math.round(performance.now() - healedAt)
    await this.#stopCleanly(this.#producer)
    const isDrained = await hasDrained(store, this.#options.drainMs - elapsedMs())
    return isDrained ? elapsedMs() : null
  }

  async #stopCleanly(slot: Slot): Promise<void> {
    if ((await slot.stop(20_000)) === 'killed')
      this.#surprise(`${slot.proc} did not stop within 20 s of being asked, although all is well.`)
  }

  async #judge(store: Store, harm: Harm, drainMs: number | null): Promise<ChaosResult> {
    const options = this.#options
    const counts = await store.counts({ space: 'default' })
    const { audit, final, faults = [] } = await this.#stage.read()
    for (const fault of faults.slice(0, 20)) this.#surprise(fault)
    const records = readRecords(this.#records)
    const facts: Facts = {
      drained: drainMs !== null,
      slackMs: SLACK_MS,
      leaseMs: options.leaseMs,
      queues: queueFacts(options.store),
      limits: limitFacts,
      order: strictLanes,
      overlapping: options.store === 'postgres',
      counts: Object.fromEntries(
        counts.queues.map(({ queue, states }) => [queue, states as Record<JobState, number>]),
      ),
      countedAt: counts.now,
      leaks: drainMs === null ? {} : await inUse(store),
      liveness: store.capabilities.liveness,
    }
    const report = check({ records, audit, final, facts })
    const procs = [...this.#workers, this.#producer].map(({ proc }) => proc)
    const recoveriesMs = this.#outages.map((outage) => recoveryMs(records, procs, outage))
    if (this.#outages.some((outage) => wasServed(records, outage))) {
      this.#surprise('Jobs ended in the middle of an outage: it was none.')
    }
    const ok = report.violations.length === 0 && this.#surprises.length === 0 && drainMs !== null
    const jobs = new Set(
      records.flatMap((record) => (record.f === 'enqueue' && record.type === 'invoke' ? [record.id] : [])),
    ).size
    const problem = ok ? '' : this.#describe(report, harm)
    if (!ok) writeFileSync(join(this.#folder, 'problem.txt'), problem)
    const surprises = this.#surprises
    return { ok, report, harm, jobs, drainMs, recoveriesMs, usedUp: usedUp(audit), surprises, problem }
  }

  #describe(report: Report, harm: Harm): string {
    const { keep: _keep, onProgress: _onProgress, ...options } = this.#options
    return [
      `Chaos on ${options.store} found something. Evidence: ${this.#folder}`,
      `Again: node --import jiti/register test/crash/soak.ts --options '${JSON.stringify(options)}'`,
      ...this.#surprises,
      `Harm: ${JSON.stringify(harm)}`,
      describeReport(report),
    ].join('\n')
  }

  #write(f: 'crash' | 'fault' | 'heal', what: string): void {
    this.#recorder.write({ f, type: 'ok', what })
  }

  /** Something that must not happen: there is no sense in going on. */
  #surprise(what: string): void {
    this.#surprises.push(what)
    this.#options.onProgress?.(what)
    this.#surprised.resolve()
  }

  #progress(harm: Harm): void {
    const sent = this.#sentInAll()
    const seconds = Math.round((Date.now() - this.#startedAt) / 1_000)
    this.#options.onProgress?.(
      `${this.#options.store} ${seconds} s: ${sent} jobs, ${harm.kills} kills, ${harm.stops} freezes`,
    )
  }
}

/** Waits until nothing waits and nothing runs, at most this long, and tells whether it came to that. */
export async function hasDrained(store: Store, withinMs: number): Promise<boolean> {
  const giveUpAt = performance.now() + withinMs
  for (;;) {
    const { queues } = await store.counts({ space: 'default' })
    if (queues.every(({ states }) => states.ready + states.delayed + states.running === 0)) return true
    if (performance.now() > giveUpAt) return false
    await sleep(50)
  }
}

function deferred(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = (): void => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

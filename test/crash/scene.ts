/** A store with its audit, worker processes, and a Skep in the test itself: for one fault at a time, done on purpose. */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createSkep, type JobHandle, type Skep, silentLogger } from '../../src/index.ts'
import { check } from '../proof/checker/index.ts'
import type { AuditEntry, AuditRow, Facts, HistoryRecord, Report } from '../proof/history.ts'
import { Recorder, recordedEnqueue, recordingStore } from '../proof/recorder.ts'
import { startPostgres } from '../servers/index.ts'
import { type Bundle, bundlePrograms } from './bundle.ts'
import { hasDrained } from './chaos.ts'
import { fileSink, readRecords, recordsIn, SLACK_MS } from './evidence.ts'
import { inUse, limitFacts, strictLanes } from './limited.ts'
import { type MortalPostgres, startMortalPostgres } from './mortal-postgres.ts'
import { type MortalRedis, startMortalRedis } from './mortal-redis.ts'
import { openStore, type ProgramConfig } from './program.ts'
import { Slot } from './slot.ts'
import { openStage, type Servers, type Stage, type StoreName } from './stage.ts'
import { type QueueName, queueFacts, queues, type Task } from './workload.ts'

export interface Verdict {
  readonly report: Report
  readonly audit: readonly AuditEntry[]
  readonly final: ReadonlyMap<string, AuditRow>
}

/** Made by the first scene that needs it. */
const shared: { bundle?: Promise<Bundle>; server?: Promise<MortalPostgres>; redis?: Promise<MortalRedis> } =
  {}

function mortalServer(): Promise<MortalPostgres> {
  shared.server ??= startMortalPostgres()
  return shared.server
}

/** The one of the whole test run, for scenes that leave the server alone. */
async function testServer(): Promise<MortalPostgres> {
  const { url } = await startPostgres()
  const never = (): never => {
    throw new Error('This server is not ours to stop.')
  }
  const port = Number(new URL(url).port)
  return { url, port, data: null, stop: never, start: never, remove: async () => {} }
}

async function serversFor(store: StoreName, mortal: boolean): Promise<Servers> {
  if (store === 'postgres') return { postgres: await (mortal ? mortalServer() : testServer()) }
  if (store === 'sqlite') return {}
  // That of the test run is not asked to sync before it answers.
  shared.redis ??= startMortalRedis()
  return { redis: await shared.redis }
}

/** The longest everything may take to end once all is well. */
const DRAIN_MS = 20_000

export class Scene {
  readonly stage: Stage
  readonly skep: Skep
  readonly leaseMs: number
  readonly #concurrency: number
  readonly #folder: string
  readonly #records: string
  readonly #bundle: Bundle
  readonly #recorder: Recorder
  readonly #slots: Slot[] = []
  readonly #surprises: string[] = []
  #n = 0

  private constructor(stage: Stage, bundle: Bundle, folder: string, leaseMs: number, concurrency: number) {
    this.stage = stage
    this.leaseMs = leaseMs
    this.#concurrency = concurrency
    this.#bundle = bundle
    this.#folder = folder
    this.#records = join(folder, 'records')
    mkdirSync(this.#records)
    this.#recorder = new Recorder({
      proc: 'test#1',
      now: Date.now,
      sink: fileSink(join(this.#records, 'test#1.jsonl')),
    })
    const store = recordingStore(openStore(stage.address('p1'), leaseMs), this.#recorder)
    this.skep = createSkep({ store, logger: silentLogger })
  }

  static async open(
    store: StoreName,
    { leaseMs = 1_500, mortal = true, concurrency = 10 } = {},
  ): Promise<Scene> {
    const folder = mkdtempSync(join(tmpdir(), `skep-scene-${store}-`))
    shared.bundle ??= bundlePrograms()
    const stage = await openStage(store, folder, await serversFor(store, mortal))
    return new Scene(stage, await shared.bundle, folder, leaseMs, concurrency)
  }

  /** Ends what the scenes of a file share. */
  static async closeShared(): Promise<void> {
    await (await shared.server)?.remove()
    await (await shared.redis)?.remove()
    ;(await shared.bundle)?.remove()
  }

  /** Starts a worker process in this slot and waits until it takes jobs. */
  async worker(name: 'w1' | 'w2' | 'w3'): Promise<Slot> {
    const slot = new Slot({
      name,
      script: this.#bundle.script('worker-program'),
      config: (proc) => this.#config(name, proc),
      onSurprise: (what) => this.#surprises.push(what),
    })
    this.#slots.push(slot)
    slot.start()
    await slot.ready
    return slot
  }

  /** Kills the process and starts the next one in its place, without waiting for it. */
  async replace(slot: Slot): Promise<void> {
    this.#recorder.write({ f: 'crash', type: 'ok', what: slot.proc })
    await slot.kill()
    slot.start()
  }

  /** Enqueues a job whose handler takes this long. */
  async enqueue(name: QueueName, task: Partial<Task> = {}): Promise<JobHandle<number>> {
    const promise = this.skep.enqueue(queues[name], { n: this.#n++, ms: 0, ...task })
    const handles = await recordedEnqueue(this.#recorder, name, promise)
    if (!handles?.[0]) throw new Error('The job was not enqueued.')
    return handles[0]
  }

  records(): HistoryRecord[] {
    return readRecords(this.#records)
  }

  /** Waits until a process has written such a record. */
  async written(fits: (record: HistoryRecord) => boolean): Promise<HistoryRecord> {
    for (;;) {
      const found = this.records().find(fits)
      if (found) return found
      await sleep(20)
    }
  }

  /** Waits until the handler of a job began in this process, which may only be starting. */
  async busy({ proc }: Slot): Promise<void> {
    const path = join(this.#records, `${proc}.jsonl`)
    while (!existsSync(path) || ![...recordsIn(path)].some(({ f }) => f === 'start')) await sleep(10)
  }

  /** Stops everybody, and has the checker judge what is left. No process may have ended by itself. */
  async judge(): Promise<Verdict> {
    await this.stage.heal()
    const store = this.stage.open()
    const drained = await hasDrained(store, DRAIN_MS)
    await Promise.all(this.#slots.map((slot) => slot.stop(20_000)))
    if (this.#surprises.length > 0) throw new Error(this.#surprises.join('\n'))
    const { queues: counted, now: countedAt } = await store.counts({ space: 'default' })
    const leaks = await inUse(store)
    const { liveness } = store.capabilities
    await store.close()
    const { audit, final, faults = [] } = await this.stage.read()
    if (faults.length > 0) throw new Error(faults.join('\n'))
    const facts: Facts = {
      drained,
      slackMs: SLACK_MS,
      leaseMs: this.leaseMs,
      queues: queueFacts(this.stage.store),
      limits: limitFacts,
      order: strictLanes,
      overlapping: this.stage.store === 'postgres',
      counts: Object.fromEntries(counted.map(({ queue, states }) => [queue, states])),
      countedAt,
      leaks,
      liveness,
    }
    return { report: check({ records: this.records(), audit, final, facts }), audit, final }
  }

  async close(): Promise<void> {
    await Promise.all(this.#slots.map((slot) => slot.kill()))
    await this.stage.heal()
    await this.skep.close()
    await this.stage.remove()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #config(name: string, proc: string): ProgramConfig {
    return {
      proc,
      address: this.stage.address(name),
      records: this.#records,
      hints: true,
      seed: 1,
      leaseMs: this.leaseMs,
      rescueGraceMs: 300,
      concurrency: this.#concurrency,
      callTimeoutMs: this.leaseMs,
      rate: 0,
      callers: 0,
      behind: 0,
    }
  }
}

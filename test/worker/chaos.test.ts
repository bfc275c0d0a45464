import { expect, it } from 'vitest'
import {
  archive,
  createSkep,
  discard,
  fixed,
  type JobContext,
  queue,
  retry,
  type Skep,
  silentLogger,
  snooze,
  type Worker,
} from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'
import { seededRandom, virtualRuntime } from '../../src/testing.ts'
import { Audit } from './support/audit.ts'
import { type Fault, FaultyStore } from './support/faulty-store.ts'
import { TestNotifier } from './support/test-notifier.ts'

const patient = {
  onError: retry(50, fixed('2s')),
  onTimeout: retry(50, fixed('2s')),
  onLost: retry(50, fixed(0)),
}
const kept = queue<number, number>('kept', { ...patient, timeout: '20s', onSuccess: archive('30d') })
const spool = queue<number>('spool', { ...patient, timeout: '20s', onSuccess: discard() })
const child = queue<string>('child', { ...patient, onSuccess: archive('30d') })

const JOBS = 40
const LIMIT = 4

/**
 * Three programs on one store, each with bad luck of its own: calls that fail before or after their effect, that take
 * long, or never end; programs that die. Then everything heals, and every job must have ended, once.
 */
async function trial(seed: number): Promise<void> {
  const random = seededRandom(seed)
  const runtime = virtualRuntime({ seed, ties: 'seeded' })
  const audit = new Audit()
  const truth = audit.wrap(memoryStore({ runtime }))
  const notifier = new TestNotifier(runtime)
  const faultRate = random.next() * 0.3
  const lease = random.pick(['2s', '5s', '30s'] as const)
  const programs: { skep: Skep; worker: Worker; faults: FaultyStore; isDead: boolean }[] = []
  const faults: string[] = []
  const running = new Map<string, Set<AbortSignal>>()
  const cancelled = new Set<string>()

  const luck = (): Fault | null => {
    if (!random.chance(faultRate)) return null
    return random.pick<Fault>(['before', 'after', 'lost', { slowMs: random.int(1, 3_000) }])
  }

  async function work(job: JobContext<unknown, unknown>, program: { running: number }): Promise<void> {
    const others = running.get(job.id) ?? new Set<AbortSignal>()
    running.set(job.id, others)
    for (const signal of others) if (!signal.aborted) faults.push(`${job.id} runs twice at once`)
    others.add(job.signal)
    if (cancelled.has(job.id)) faults.push(`${job.id} started after it was cancelled`)
    if (++program.running > LIMIT) faults.push(`${program.running} handlers at once`)
    try {
      await new Promise<void>((resolve) => {
        runtime.timer(random.pick([0, 1, 5, 50, 4_000, 25_000]) * random.next(), resolve)
        job.signal.addEventListener('abort', () => resolve(), { once: true })
      })
    } finally {
      program.running--
      others.delete(job.signal)
    }
    job.signal.throwIfAborted()
  }

  function start(): void {
    const program = { running: 0 }
    const faulty = new FaultyStore(truth, runtime)
    faulty.choose(luck)
    const skep = createSkep({
      store: faulty.store,
      notifier,
      runtime,
      logger: silentLogger,
      enqueueTimeout: '10m',
    })
    const handlers = [
      kept.handle(async (job) => {
        await work(job, program)
        if (random.chance(0.2)) throw new Error('bad luck')
        if (random.chance(0.1)) return snooze(random.int(0, 2_000))
        await job.enqueue(child, job.id)
        return job.payload
      }),
      spool.handle(async (job) => {
        await work(job, program)
        if (random.chance(0.2)) throw new Error('bad luck')
        await job.enqueue(child, job.id)
      }),
      child.handle((job) => work(job, program)),
    ]
    const worker = skep.worker(handlers, { concurrency: LIMIT, lease, grace: '1s', drain: '2s' })
    programs.push({ skep, worker, faults: faulty, isDead: false })
  }

  /** As an operator does it, whose own connection is fine. */
  async function cancel(id: string): Promise<void> {
    const failure = JSON.stringify({ kind: 'cancel', message: 'by the operator' })
    const { results } = await truth.change({
      action: 'cancel',
      space: 'default',
      target: { ids: [id] },
      failure,
      keepMs: 86_400_000,
    })
    if (results[0]?.status === 'ok') {
      cancelled.add(id)
      audit.ends.set(id, ['cancelled'])
    }
    notifier.publish([{ kind: 'cancel', space: 'default', ids: [id] }])
  }

  for (let n = 0; n < 3; n++) start()
  notifier.blackHole = random.chance(0.3)
  const enqueued: Promise<{ id: string }>[] = []
  for (let n = 0; n < JOBS; n++) {
    const { skep } = random.pick(programs.filter(({ isDead }) => !isDead))
    enqueued.push(skep.enqueue(random.chance(0.5) ? kept : spool, n, { delay: random.int(0, 3_000) }))
    await runtime.advance(random.int(0, 500))
    const victim = random.pick(programs)
    const fate = victim.isDead ? 1 : random.next()
    if (fate < 0.05) {
      // To everybody else it is dead: nothing it says arrives any more. Its handlers go on for a while.
      victim.isDead = true
      victim.faults.break('hang')
      start()
    } else if (fate < 0.15) {
      const { name } = random.pick<{ name: string }>([kept, spool, child])
      const state = random.pick(['ready', 'delayed', 'running'] as const)
      const { jobs } = await truth.list({ space: 'default', queue: name, state, limit: 10, cursor: null })
      if (jobs.length > 0) await cancel(random.pick(jobs).id)
    } else if (fate < 0.2) {
      // A deploy: the worker drains, and a new program takes its place.
      victim.isDead = true
      void victim.worker.stop()
      start()
    } else if (fate < 0.25) {
      victim.faults.break('before')
      await runtime.advance(random.int(100, 8_000))
      victim.faults.heal()
      victim.faults.choose(luck)
    }
  }

  await runtime.advance(10_000)
  for (const { faults: faulty, isDead } of programs) if (!isDead) faulty.heal()
  const isOver = async (): Promise<boolean> => {
    const { queues } = await truth.counts({ space: 'default' })
    return queues.every(({ states }) => states.ready + states.delayed + states.running === 0)
  }
  for (let s = 0; s < 600 && !(await isOver()); s++) await runtime.advance(1_000)

  // Those who died took the enqueues with them that they had not finished; nobody was told they were saved.
  const saved: string[] = []
  for (const promise of enqueued) {
    const id = await Promise.race([promise.then((job) => job.id), runtime.settle().then(() => null)])
    if (id !== null) saved.push(id)
  }
  expect(await isOver()).toBe(true)
  expect([...faults, ...audit.faults]).toEqual([])
  expect(saved.filter((id) => audit.ends.get(id)?.length !== 1)).toEqual([])
  const { jobs } = await truth.list({
    space: 'default',
    queue: 'child',
    state: 'done',
    limit: 1_000,
    cursor: null,
  })
  // A child that was cancelled is one too; a parent that was cancelled has none.
  const children = await truth.list({
    space: 'default',
    queue: 'child',
    state: 'cancelled',
    limit: 1_000,
    cursor: null,
  })
  const all = [...jobs, ...children.jobs]
  const parents = [...audit.ends]
    .filter(([id, ends]) => !ends.includes('cancelled') && !all.some((job) => job.id === id))
    .map(([id]) => id)
  expect(all.map(({ payload }) => JSON.parse(payload) as string).toSorted()).toEqual(parents.toSorted())

  for (const { faults: faulty } of programs) faulty.heal()
  const closing = Promise.all(programs.map(({ skep }) => skep.close()))
  for (let s = 0; s < 60; s++) await runtime.advance(1_000)
  await closing
  await Promise.allSettled(enqueued)
  expect(runtime.timers).toBe(0)
}

it.each(Array.from({ length: 24 }, (_, n) => n + 1))(
  'every job ends once, whatever happens to the programs and their store (seed %i)',
  (seed) => trial(seed),
)

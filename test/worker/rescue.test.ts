import { hostname } from 'node:os'
import { describe, expect, it } from 'vitest'
import { PLAIN_JOB } from '../../src/core/jobs/job.ts'
import { buried, fixed, queue, retry } from '../../src/index.ts'
import type { Store, WorkerPresence } from '../../src/store/store.ts'
import { claimAndDie } from './support/dead-worker.ts'
import { gate, openScene, type Scene } from './support/scene.ts'

const mail = queue<number, unknown>('mail')

const many = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

/** A store that knows which processes live: all of them, except those named here. */
function withLiveness(gone: Map<string, WorkerPresence['life']>): (store: Store) => Store {
  return (store) => ({
    ...store,
    capabilities: { ...store.capabilities, liveness: true },
    async workers(call) {
      const { workers } = await store.workers(call)
      return { workers: workers.map((worker) => ({ ...worker, life: gone.get(worker.id) ?? 'here' })) }
    },
  })
}

async function attend(
  scene: Scene,
  id: string,
  { space = 'default', queue = 'mail', aheadMs = 0, pid = 1, host = 'h' } = {},
): Promise<void> {
  const worker = {
    id,
    space,
    host,
    pid,
    queues: [queue],
    concurrency: 1,
    running: 1,
    startedAt: 0,
    vitals: '{}',
  }
  await scene.truth.attend({ worker, now: scene.runtime.now() + aheadMs })
}

/** A job without a hint, so that the victim claims it before any worker. */
async function insertSilently(scene: Scene): Promise<string> {
  const id = scene.runtime.uuid()
  const job = { ...PLAIN_JOB, id, space: 'default', queue: 'mail', payload: '1' }
  await scene.truth.insert({ jobs: [job] })
  return id
}

/** Counts how often all workers are listed, and how often some. */
function counting(list: Store['workers'], calls: { all: number; some: number }): Store['workers'] {
  return (call) => {
    calls[call.ids === undefined ? 'all' : 'some']++
    return list(call)
  }
}

describe('the rescue of jobs whose worker died', () => {
  it('comes when the lease is over, and the job runs again', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 1)
    await claimAndDie(scene, { leaseMs: 30_000 })
    scene.skep.worker([mail.handle(() => 'second time')])

    await scene.advance(29_000)
    expect(await scene.state(job.id)).toBe('running')
    expect(await scene.through(job.result(), 8_000)).toBe('second time')

    expect(await scene.job(job.id)).toMatchObject({ lost: 1, errors: 0, starts: 2 })
    expect(scene.toldOf(job.id)).toEqual(['lost', 'received', 'finished'])
  })

  it('ends with the budget for lost runs: then the job is dead', async () => {
    const scene = openScene()
    const fragile = queue<number>('fragile', { onLost: retry(2, fixed(0), { ending: buried() }) })
    const job = await scene.skep.enqueue(fragile, 1)
    // It takes what it gets and never comes back, as a job does that kills its process.
    scene.skep.worker([mail.handle(() => 1)])
    const killer = scene.client(scene.truth)
    killer.worker([fragile.handle(() => new Promise(() => {}))])
    let deaths = 0

    for (let round = 0; round < 10 && (await scene.state(job.id)) !== 'dead'; round++) {
      await scene.until(async () => ['running', 'dead'].includes(await scene.state(job.id)))
      if ((await scene.state(job.id)) === 'dead') break
      deaths++
      // Its process is gone with everything it held: nobody renews any more.
      await expire(scene, job.id)
      await scene.until(async () => (await scene.job(job.id)).lost === deaths)
    }

    expect(await scene.job(job.id)).toMatchObject({ state: 'dead', lost: 3 })
  })

  it('works off a mass expiry page by page', async () => {
    const scene = openScene()
    await scene.skep.enqueueMany(mail, many(1_100))
    await claimAndDie(scene, { limit: 1_100, leaseMs: 1_000 })
    await scene.advance(1_500)

    scene.skep.worker([mail.handle(() => 1)])

    await scene.until(async () => (await scene.counts('mail')).done === 1_100, 30_000)
  })

  it('leaves queues alone that this worker does not handle', async () => {
    const scene = openScene()
    const foreign = queue<number>('foreign')
    const job = await scene.skep.enqueue(foreign, 1)
    await claimAndDie(scene, { queue: 'foreign', leaseMs: 1_000 })

    scene.skep.worker([mail.handle(() => 1)])
    await scene.advance(120_000)

    expect(await scene.job(job.id)).toMatchObject({ state: 'running', lost: 0 })
  })

  it('never takes a lease that was renewed meanwhile', async () => {
    const scene = openScene()
    const work = gate()
    let runs = 0
    await scene.skep.enqueueMany(mail, many(5))
    const handler = mail.handle(() => {
      runs++
      return work.promise
    })

    scene.skep.worker([handler], { lease: '3s' })
    for (let n = 0; n < 3; n++) scene.client(scene.truth).worker([handler], { lease: '3s' })
    await scene.advance(60_000)

    expect(runs).toBe(5)
    work.open()
    await scene.until(async () => (await scene.counts('mail')).done === 5)
  })

  it('leaves a lease alone that its holder renewed after the rescuer had seen it as over', async () => {
    const scene = openScene({
      wrap: (store) => ({
        ...store,
        async expired(call) {
          const reply = await store.expired(call)
          const leases = reply.leases.map(({ space, id, token }) => ({ space, id, token }))
          await store.extend({ leases, leaseMs: 3_600_000 })
          return reply
        },
      }),
    })
    const job = await scene.skep.enqueue(mail, 1)
    await claimAndDie(scene, { leaseMs: 1_000 })

    scene.skep.worker([mail.handle(() => 1)])
    await scene.advance(60_000)

    expect(await scene.job(job.id)).toMatchObject({ state: 'running', lost: 0 })
  })

  it('by several at once settles each lease once', async () => {
    const scene = openScene()
    await scene.skep.enqueueMany(mail, many(30))
    await claimAndDie(scene, { leaseMs: 1_000 })
    const runs: number[] = []
    const handler = mail.handle(({ payload }) => void runs.push(payload))

    scene.skep.worker([handler], { lease: '3s' })
    for (let n = 0; n < 4; n++) scene.client(scene.truth).worker([handler], { lease: '3s' })
    await scene.until(async () => (await scene.counts('mail')).done === 30)

    expect(runs.toSorted((a, b) => a - b)).toEqual(many(30))
    const { jobs } = await scene.truth.list({
      space: 'default',
      queue: 'mail',
      state: 'done',
      limit: 50,
      cursor: null,
    })
    expect(jobs.every(({ lost, starts }) => lost === 1 && starts === 2)).toBe(true)
  })

  it('ends a job that somebody had cancelled while it ran', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 1)
    await claimAndDie(scene, { leaseMs: 1_000 })
    await job.cancel('no more')
    let runs = 0
    scene.skep.worker([mail.handle(() => ++runs)])

    await scene.until(async () => (await scene.state(job.id)) === 'cancelled')

    expect(runs).toBe(0)
    expect(scene.toldOf(job.id)).toEqual(['lost', 'cancelled'])
  })
})

describe("the rescue by the store's own knowledge of life", () => {
  it('frees the jobs of a process that is gone after the grace, long before the lease ends', async () => {
    const lives = new Map<string, WorkerPresence['life']>()
    const scene = openScene({ wrap: withLiveness(lives) })
    const job = await scene.skep.enqueue(mail, 1)
    const dead = await claimAndDie(scene)
    await attend(scene, dead)
    scene.skep.worker([mail.handle(() => 'again')], { rescueGrace: '2s' })
    await scene.advance(5_000)
    expect(await scene.state(job.id)).toBe('running')

    lives.set(dead, 'gone')
    await scene.advance(1_500)
    expect(await scene.state(job.id)).toBe('running')

    await scene.until(async () => (await scene.state(job.id)) === 'done', 3_000)
  })

  it.each([1, 10, 100])(
    'takes no longer with %i workers of other queues and spaces on the store',
    async (count) => {
      const lives = new Map<string, WorkerPresence['life']>()
      const scene = openScene({ wrap: withLiveness(lives) })
      const job = await scene.skep.enqueue(mail, 1)
      const dead = await claimAndDie(scene)
      await attend(scene, dead)
      // Their ids sort before every UUIDv7, so they would be the first in any order of workers.
      const others = many(count).map((n) => `0000-${n}`)
      const keepOthersAlive = async (): Promise<void> => {
        for (const [n, id] of others.entries()) {
          await attend(scene, id, {
            host: `h${n}`,
            ...(n % 2 === 0 ? { queue: 'foreign' } : { space: 'tenant' }),
          })
        }
      }
      await keepOthersAlive()
      scene.skep.worker([mail.handle(() => 'again')], { rescueGrace: '2s' })
      await scene.advance(11_000)
      await keepOthersAlive()
      await scene.advance(900)

      lives.set(dead, 'gone')
      await scene.until(async () => (await scene.state(job.id)) === 'done', 5_000)
    },
  )

  it.each([
    // Of 2 processes, and of 2 hosts, both are on duty.
    ['3 in one process', 3, true, () => ({ pid: 1, host: hostname() })],
    ['3 on one other host', 3, true, (n: number) => ({ pid: n })],
    ['3 in 3 processes', 3, false, (n: number) => ({ pid: n, host: hostname() })],
    ['100 on 10 hosts', 100, false, (n: number) => ({ pid: n, host: `h${n % 10}` })],
  ] as const)('takes no longer when many die together: %s', async (_, count, isOnDuty, placeOf) => {
    for (let seed = 1; seed <= 5; seed++) {
      const lives = new Map<string, WorkerPresence['life']>()
      const scene = openScene({ seed, wrap: withLiveness(lives) })
      // Their ids sort before every UUIDv7.
      const others = many(count).map((n) => `0000-${n}`)
      const beat = async (): Promise<void> => {
        for (const [n, id] of others.entries()) await attend(scene, id, placeOf(n))
      }
      const calls = { all: 0, some: 0 }
      scene.truth.workers = counting(scene.truth.workers, calls)
      await beat()
      scene.skep.worker([mail.handle(() => 'again')], { rescueGrace: '2s' })
      for (let n = 0; n < 3; n++) {
        await scene.advance(10_000)
        await beat()
      }
      expect(calls.all > 20).toBe(isOnDuty)
      expect(calls.some > 8).toBe(!isOnDuty)

      const id = await insertSilently(scene)
      const dead = await claimAndDie(scene)
      for (const each of [...others, dead]) lives.set(each, 'gone')
      await attend(scene, dead)
      // Seen after 1.25 s at most, or 2.5 s, and dead 2 s later.
      await scene.until(async () => (await scene.state(id)) === 'done', isOnDuty ? 3_500 : 4_800)
    }
  })

  it('relies on workers that can tell who lives, and not on those of which the store cannot tell it', async () => {
    const lives = new Map<string, WorkerPresence['life']>()
    const scene = openScene({ wrap: withLiveness(lives) })
    for (const n of many(3)) {
      lives.set(`0000-${n}`, 'unsure')
      await attend(scene, `0000-${n}`, { host: `h${n}` })
    }
    scene.skep.worker([mail.handle(() => 'again')], { rescueGrace: '2s' })
    await scene.advance(20_000)
    for (const n of many(3)) await attend(scene, `0000-${n}`, { host: `h${n}` })
    await scene.advance(900)

    const id = await insertSilently(scene)
    const dead = await claimAndDie(scene)
    lives.set(dead, 'gone')
    await attend(scene, dead)

    await scene.until(async () => (await scene.state(id)) === 'done', 3_300)
  })

  it('costs the store little, however many workers there are', async () => {
    const scene = openScene({ wrap: withLiveness(new Map()) })
    const calls = { all: 0, some: 0, expired: 0 }
    scene.truth.workers = counting(scene.truth.workers, calls)
    const { expired } = scene.truth
    scene.truth.expired = (call) => {
      calls.expired++
      return expired(call)
    }
    for (const _ of many(100)) scene.client(scene.truth).worker([mail.handle(() => 1)])
    await scene.advance(15_000)
    Object.assign(calls, { all: 0, some: 0, expired: 0 })
    await scene.advance(60_000)

    // 3 workers look every second, and 97 every ten; in between they ask for those 3 alone.
    expect(calls.all).toBeLessThan(1_000)
    expect(calls.expired).toBe(calls.all)
    expect(calls.some).toBeLessThan(97 * 30)
  })

  it.each([
    ['stopped sending heartbeats', 0],
    ["stopped before the store's clock was set back by an hour", 3_600_000],
  ])('does not rely on workers that %s', async (_, aheadMs) => {
    const lives = new Map<string, WorkerPresence['life']>()
    const scene = openScene({ wrap: withLiveness(lives) })
    for (const n of many(3)) await attend(scene, `0000-${n}`, { aheadMs, host: `h${n}` })
    scene.skep.worker([mail.handle(() => 'again')], { rescueGrace: '2s' })
    await scene.advance(61_000)

    const id = await insertSilently(scene)
    const dead = await claimAndDie(scene)
    await attend(scene, dead)
    lives.set(dead, 'gone')

    await scene.until(async () => (await scene.state(id)) === 'done', 5_000)
  })

  it('forgets that a process was gone when it comes back within the grace', async () => {
    const lives = new Map<string, WorkerPresence['life']>()
    const scene = openScene({ wrap: withLiveness(lives) })
    const job = await scene.skep.enqueue(mail, 1)
    const shaky = await claimAndDie(scene)
    await attend(scene, shaky)
    scene.skep.worker([mail.handle(() => 1)], { rescueGrace: '4s' })

    for (let n = 0; n < 5; n++) {
      lives.set(shaky, 'gone')
      await scene.advance(2_000)
      lives.set(shaky, 'here')
      await scene.advance(3_000)
    }

    expect(await scene.state(job.id)).toBe('running')
  })

  it('does not take "unsure" for "gone"', async () => {
    const lives = new Map<string, WorkerPresence['life']>()
    const scene = openScene({ wrap: withLiveness(lives) })
    const job = await scene.skep.enqueue(mail, 1)
    const silent = await claimAndDie(scene)
    await attend(scene, silent)
    lives.set(silent, 'unsure')
    scene.skep.worker([mail.handle(() => 1)])

    await scene.advance(25_000)

    expect(await scene.state(job.id)).toBe('running')
  })
})

/** Lets a lease run out: its holder is gone, and the clock moves on without anyone renewing it. */
async function expire(scene: Scene, id: string): Promise<void> {
  const job = await scene.job(id)
  await scene.truth.extend({ leases: [{ space: job.space, id, token: job.token as string }], leaseMs: -1 })
}

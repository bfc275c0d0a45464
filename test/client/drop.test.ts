// A queue that was dropped is listed by nothing any more, and no job that came late is lost with it.
import { describe, expect, it } from 'vitest'
import { never, queue, type Skep, type Store } from '../../src/index.ts'
import { gate } from '../worker/support/scene.ts'
import { openSkep, openStore, STORES } from './support/stores.ts'

const mail = queue<string>('mail', { onError: never() })
const other = queue<string>('other')

/** The same store, with one operation replaced. */
function altered<Name extends keyof Store>(
  store: Store,
  operation: Name,
  replaced: (forward: () => Promise<unknown>) => Promise<unknown>,
): Store {
  return new Proxy(store, {
    get(target, key) {
      const value = Reflect.get(target, key)
      if (typeof value !== 'function') return value
      if (key !== operation) return value.bind(target)
      return (...given: unknown[]) => replaced(() => value.apply(target, given))
    },
  })
}

/** Runs jobs to their ends, with a worker that has stopped when this returns. */
async function work(skep: Skep, payloads: readonly string[]): Promise<void> {
  const worker = skep.worker([
    mail.handle(({ payload }) => {
      if (payload === 'bad') throw new Error('no such street')
    }),
  ])
  await skep.enqueueMany(mail, payloads)
  await expect
    .poll(async () => (await skep.queues.list([mail]))[0], { timeout: 20_000 })
    .toMatchObject({ ready: 0, running: 0 })
  await worker.stop()
}

const codeAndFacts = (error: unknown): unknown => {
  const { code, facts, message } = error as { code: string; facts: Record<string, unknown>; message: string }
  return { code, ...facts, message }
}

describe.each(STORES)('on %s', (name) => {
  it('a dropped queue vanishes from everything that lists queues, however many finished jobs it had', async () => {
    const skep = openSkep(await openStore(name))
    await work(skep, ['good', 'bad'])
    await skep.enqueueMany(
      mail,
      Array.from({ length: 700 }, (_, n) => `${n}`),
    )
    await skep.jobs.cancel({ queue: 'mail' })
    await skep.enqueue(other, 'stays')
    await skep.limits.set(mail, { concurrency: 3 })
    await skep.limits.set({ queue: mail, lane: 'acme' }, { weight: 2 })
    await skep.queues.pause({ queue: mail, lane: 'acme' })
    await skep.queues.pause('other')

    const dry = await skep.queues.drop(mail, { dryRun: true })
    expect((await skep.queues.list()).map((one) => one.queue)).toEqual(['mail', 'other'])
    const dropped = await skep.queues.drop(mail)

    expect(dropped).toMatchObject({
      queue: 'mail',
      dryRun: false,
      known: true,
      jobs: 702,
      states: { done: 1, dead: 1, cancelled: 700 },
      limits: 2,
      holds: 1,
    })
    expect(dry).toEqual({ ...dropped, dryRun: true })
    expect((await skep.queues.list()).map((one) => one.queue)).toEqual(['other'])
    expect(await skep.queues.declarations()).toEqual([])
    expect(await skep.limits.list()).toEqual([])
    expect((await skep.queues.holds()).map((hold) => hold.queue)).toEqual(['other'])
    const exposed = await skep.metrics.prometheus()
    expect(exposed).toContain('queue="other"')
    expect(exposed).not.toContain('queue="mail"')
    expect(await skep.queues.drop(mail)).toMatchObject({ known: false, jobs: 0 })

    // It is no different from a queue that was never used.
    await work(skep, ['again'])
    expect((await skep.queues.list())[0]).toMatchObject({ queue: 'mail', done: 1, dead: 0, hold: null })
  })

  it('is refused while a worker handles it, jobs run or jobs wait; force removes those that wait', async () => {
    const skep = openSkep(await openStore(name))
    await skep.limits.set(mail, { concurrency: 1 })
    await skep.enqueue(mail, 'runs')
    await skep.enqueueMany(mail, ['waits', 'too'])
    await skep.enqueue(mail, 'later', { delay: '1h' })
    expect(await skep.queues.drop(mail).catch(codeAndFacts)).toMatchObject({
      code: 'QUEUE_IN_USE',
      waiting: 4,
      running: 0,
      message: expect.stringContaining('4 jobs wait in it. Let them run, or use force'),
    })

    const busy = gate()
    const worker = skep.worker([mail.handle(() => busy.promise)])
    await expect.poll(async () => (await skep.queues.list([mail]))[0]?.running, { timeout: 20_000 }).toBe(1)
    for (const dryRun of [true, false]) {
      expect(await skep.queues.drop(mail, { force: true, dryRun }).catch(codeAndFacts)).toMatchObject({
        code: 'QUEUE_IN_USE',
        running: 1,
        workers: [worker.id],
        message: expect.stringContaining('Stop the workers that handle it'),
      })
    }
    // A refusal leaves everything as it was.
    expect(await skep.queues.holds()).toEqual([])
    expect(await skep.limits.list()).toHaveLength(1)
    await skep.queues.pause(mail)
    busy.open()
    await worker.stop()
    expect((await skep.queues.list([mail]))[0]).toMatchObject({ done: 1, ready: 2, delayed: 1 })

    expect(await skep.queues.drop(mail, { force: true })).toMatchObject({
      jobs: 4,
      states: { done: 1, ready: 2, delayed: 1 },
      limits: 1,
      holds: 1,
    })
    expect(await skep.queues.list()).toEqual([])
  })

  it('a job whose worker is on no list refuses it too', async () => {
    const store = await openStore(name)
    const skep = openSkep(store)
    await skep.enqueue(mail, 'runs')
    const token = '01890a5d-ac96-774b-bcce-b302099a8057'
    const sources = [{ space: 'default', queue: 'mail', limit: 1 }]
    await store.claim({ sources, limit: 1, workerId: 'elsewhere', token, leaseMs: 3_600_000 })

    expect(await skep.queues.drop(mail, { force: true }).catch(codeAndFacts)).toMatchObject({
      code: 'QUEUE_IN_USE',
      running: 1,
      workers: [],
      message: expect.stringContaining('1 job of it runs. Wait for running jobs with drain'),
    })
    expect(await skep.queues.holds()).toEqual([])
  })

  it.each([
    ['list', { limits: 1 }],
    ['removeRecords', { limits: 0 }],
  ] as const)('a job enqueued during %s is not lost, and the drop is refused', async (operation, left) => {
    const store = await openStore(name)
    const skep = openSkep(store)
    await skep.limits.set(mail, { concurrency: 3 })
    await skep.enqueue(mail, 'early')
    let isFirst = true
    const dropping = openSkep(
      altered(store, operation, async (forward) => {
        const inserts = isFirst
        isFirst = false
        const reply = operation === 'list' ? null : await forward()
        // In another millisecond than the look before it.
        if (inserts) await new Promise((resolve) => setTimeout(resolve, 20))
        if (inserts) await skep.enqueue(mail, 'late')
        return reply ?? forward()
      }),
    )

    expect(await dropping.queues.drop(mail, { force: true }).catch(codeAndFacts)).toMatchObject({
      code: 'QUEUE_IN_USE',
      waiting: 1,
    })

    expect((await skep.jobs.list({ queue: 'mail' })).jobs.map(({ payload }) => payload)).toEqual(['late'])
    expect(await skep.limits.list()).toHaveLength(left.limits)
    expect(await skep.queues.holds()).toEqual([])
    await work(skep, [])
    expect((await skep.queues.list([mail]))[0]).toMatchObject({ done: 1 })
  })

  it.each(['change', 'setLimits', 'removeRecords', 'release'] as const)(
    'a drop whose process died at %s is finished by the next one',
    async (operation) => {
      const store = await openStore(name)
      const skep = openSkep(store)
      await work(skep, ['good'])
      await skep.limits.set(mail, { concurrency: 3 })
      await skep.queues.pause(mail)
      const reached = gate()
      const dying = openSkep(
        altered(store, operation, () => {
          reached.open()
          return new Promise(() => {})
        }),
      )
      void dying.queues.drop(mail).catch(() => {})
      await reached.promise
      expect((await skep.queues.list([mail]))[0]?.hold).toBe('block')
      expect((await skep.queues.holds()).find(({ kind }) => kind === 'block')?.until).not.toBeNull()

      expect(await skep.queues.drop(mail)).toMatchObject({ known: true, holds: 1 })

      expect(await skep.queues.list()).toEqual([])
      expect(await skep.queues.declarations()).toEqual([])
      expect(await skep.limits.list()).toEqual([])
      expect(await skep.queues.holds()).toEqual([])
    },
  )

  it('a refused drop keeps the block of an operator, and takes away that of a drop that died', async () => {
    const skep = openSkep(await openStore(name))
    await skep.enqueue(mail, 'waits')
    await skep.queues.block(mail, { reason: 'They have not paid.' })
    await skep.queues.drop(mail).catch(() => {})
    expect(await skep.queues.holds()).toMatchObject([{ kind: 'block', reason: 'They have not paid.' }])

    await skep.queues.block(mail, { reason: 'The queue is being dropped.' })
    expect(await skep.queues.drop(mail).catch(codeAndFacts)).toMatchObject({ code: 'QUEUE_IN_USE' })
    expect(await skep.queues.holds()).toEqual([])
  })

  it('an empty queue is listed while a worker, a declaration, a limit or a hold is left of it', async () => {
    const skep = openSkep(await openStore(name))
    const listed = async (): Promise<string[]> => (await skep.queues.list()).map((one) => one.queue)
    await skep.enqueue(mail, 'x')
    await skep.queues.purge(mail)
    expect(await listed()).toEqual([])

    await skep.limits.set(mail, { concurrency: 3 })
    expect(await listed()).toEqual(['mail'])
    await skep.limits.reset(mail)
    await skep.queues.pause(mail)
    expect(await listed()).toEqual(['mail'])
    await skep.queues.resume(mail)
    expect(await listed()).toEqual([])

    const worker = skep.worker([mail.handle(() => {})])
    await worker.ready
    expect(await listed()).toEqual(['mail'])
    await worker.stop()
    expect(await listed()).toEqual(['mail'])
    await skep.queues.drop(mail)
    expect(await listed()).toEqual([])
  })
})

it('refuses names and options that are none', async () => {
  const skep = openSkep(await openStore('memory'))
  const refused = [
    skep.queues.drop('mail.*'),
    skep.queues.drop(mail, { force: 'yes' as never }),
    skep.queues.drop(mail, { dry: true } as never),
  ]
  expect(await Promise.all(refused.map((one) => one.catch(codeAndFacts)))).toMatchObject([
    { code: 'NAME_INVALID' },
    { code: 'OPTION_INVALID' },
    { code: 'OPTION_INVALID' },
  ])
})

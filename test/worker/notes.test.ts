import { describe, expect, it } from 'vitest'
import { discard, fixed, type JobContext, queue, retry } from '../../src/index.ts'
import type { Settlement } from '../../src/store/store.ts'
import type { Fault } from './support/faulty-store.ts'
import { type Gate, gate, openScene, type Scene } from './support/scene.ts'
import { FakeTransaction, withTransactions } from './support/transactions.ts'

const mail = queue<number, number>('mail')

const texts = async (scene: Scene, id: string): Promise<string[]> =>
  (await scene.truth.notes({ space: 'default', id, after: 0, limit: 5_000 })).lines.map(({ text }) => text)

const notesSent = (scene: Scene) => scene.faults.arguments('note').flatMap(({ notes }) => notes)
const settlements = (scene: Scene): Settlement[] =>
  scene.faults.arguments('settle').flatMap((call) => call.settlements as Settlement[])

/** A worker whose handler is in the hands of the test. */
async function held(
  scene: Scene,
  count = 1,
): Promise<{ jobs: JobContext<number, number>[]; ends: Gate<number>[] }> {
  const jobs: JobContext<number, number>[] = []
  const ends: Gate<number>[] = []
  const handler = mail.handle((job) => {
    const end = gate<number>()
    jobs.push(job)
    ends.push(end)
    return end.promise
  })
  scene.skep.worker([handler], { concurrency: Math.max(10, count) })
  await scene.skep.enqueueMany(
    mail,
    Array.from({ length: count }, (_, i) => i),
  )
  await scene.until(() => jobs.length === count)
  return { jobs, ends }
}

describe('notes of a handler', () => {
  it('are there when the job has ended, without a call of their own', async () => {
    const scene = openScene()
    scene.skep.worker([
      mail.handle(({ progress, log, payload }) => {
        log('begun', { payload })
        progress(50, 'half')
        log.warn('odd')
        progress(100)
        return payload
      }),
    ])
    const job = await scene.skep.enqueue(mail, 1)

    await scene.through(job.result())

    const page = await job.logs()
    expect(page.lines.map(({ level, message, fields }) => [level, message, fields])).toEqual([
      ['info', 'begun', { payload: 1 }],
      ['warn', 'odd', {}],
    ])
    expect(page.progress).toMatchObject({ value: 100, note: null })
    expect(page).toMatchObject({ cursor: 2, more: false, dropped: 0 })
    expect(scene.faults.count('note')).toBe(0)
  })

  it('cost a job that tells nothing no call and no word', async () => {
    const scene = openScene()
    scene.skep.worker([mail.handle(({ payload }) => payload)])
    const [job] = await scene.skep.enqueueMany(mail, [1, 2, 3])

    await scene.through(job!.result())
    await scene.advance(1_000)

    expect(scene.faults.count('note')).toBe(0)
    for (const settlement of settlements(scene)) {
      expect(Object.keys(settlement).sort()).toEqual(['id', 'space', 'token', 'verdict'])
    }
    expect(scene.notifier.published.some(({ kind }) => kind === 'noted' || kind === 'watch')).toBe(false)
  })

  it('go while it runs: the first soon, those of all runs together, and the last progress alone', async () => {
    const scene = openScene()
    const { jobs } = await held(scene, 3)

    jobs[0]!.log('first')
    await scene.advance(20)
    const soon = scene.faults.count('note')
    for (let n = 0; n < 50; n++) {
      for (const job of jobs) {
        job.log(`line ${n}`)
        job.progress(n)
      }
      await scene.advance(3)
    }
    await scene.advance(500)

    expect(soon).toBe(1)
    expect(scene.faults.count('note')).toBe(2)
    const [, second] = scene.faults.arguments('note')
    expect(second?.notes.map(({ lines, progress }) => [lines.length, progress?.value])).toEqual([
      [50, 49],
      [50, 49],
      [50, 49],
    ])
    expect((await scene.skep.jobs.get(jobs[0]!.id))?.progress).toMatchObject({ value: 49, note: null })
  })

  it('never have more than one call under way, and gather while it is', async () => {
    const scene = openScene()
    const { jobs } = await held(scene)
    scene.faults.next('note', { slowMs: 1_000 })

    jobs[0]!.log('a')
    await scene.advance(50)
    jobs[0]!.log('b')
    await scene.advance(800)
    const meanwhile = scene.faults.count('note')
    await scene.advance(1_000)

    expect(meanwhile).toBe(1)
    expect(scene.faults.count('note')).toBe(2)
    expect(await texts(scene, jobs[0]!.id)).toEqual(['a', 'b'])
  })

  it.each<Fault>(['before', 'after', 'lost'])(
    'survive an outage, and none comes twice (%s)',
    async (fault) => {
      const scene = openScene()
      const { jobs, ends } = await held(scene)
      scene.faults.break(fault, ['note'])
      jobs[0]!.log('a')
      await scene.advance(300)
      jobs[0]!.log('b')
      await scene.advance(3_000)
      const tries = scene.faults.count('note')

      scene.faults.heal()
      await scene.advance(10_000)
      const whileItRuns = await texts(scene, jobs[0]!.id)
      ends[0]!.open(1)
      await scene.until(async () => (await scene.state(jobs[0]!.id)) === 'done')

      expect(tries).toBeGreaterThan(2)
      expect(tries).toBeLessThan(15)
      expect(whileItRuns).toEqual(['a', 'b'])
      expect(await texts(scene, jobs[0]!.id)).toEqual(['a', 'b'])
      expect(scene.logged('warn', /Notes cannot be written now/)).toBe(true)
    },
  )

  it('that the store refuses do not keep others from being written', async () => {
    const scene = openScene()
    const { jobs, ends } = await held(scene, 3)
    scene.faults.choose((operation, argument) =>
      operation === 'note' && JSON.stringify(argument).includes('poison') ? 'reject' : null,
    )

    jobs[0]!.log('good')
    jobs[1]!.log('poison')
    jobs[2]!.log('fine')
    await scene.advance(500)

    expect(await texts(scene, jobs[0]!.id)).toEqual(['good'])
    expect(await texts(scene, jobs[2]!.id)).toEqual(['fine'])
    expect(scene.logged('error', /cannot be written and were dropped/)).toBe(true)
    jobs[1]!.log('later')
    ends[1]!.open(1)
    await scene.until(async () => (await scene.state(jobs[1]!.id)) === 'done')
    expect(await texts(scene, jobs[1]!.id)).toEqual(['later'])
    expect(await scene.skep.jobs.logs(jobs[1]!.id)).toMatchObject({ dropped: 1 })
  })

  it('never cost a job its outcome, if they are what the store refuses', async () => {
    const scene = openScene()
    const { jobs, ends } = await held(scene)
    scene.faults.choose((operation, argument) =>
      operation === 'settle' && JSON.stringify(argument).includes('poison') ? 'reject' : null,
    )

    jobs[0]!.log('poison')
    ends[0]!.open(7)
    await scene.until(async () => (await scene.state(jobs[0]!.id)) === 'done')

    expect((await scene.job(jobs[0]!.id)).result).toBe('7')
  })

  it('delay no settlement: while a note hangs the job ends at once, with all its lines', async () => {
    const scene = openScene()
    const { jobs, ends } = await held(scene)
    scene.faults.break('hang', ['note'])
    jobs[0]!.log('sent and not answered')
    await scene.advance(300)
    jobs[0]!.log('not sent')

    ends[0]!.open(1)
    await scene.advance(5)

    expect(await scene.state(jobs[0]!.id)).toBe('done')
    expect(await texts(scene, jobs[0]!.id)).toEqual(['sent and not answered', 'not sent'])
  })

  it('hold up no stop: what is pending goes with the hand-back', async () => {
    const scene = openScene()
    const contexts: JobContext<number, number>[] = []
    const worker = scene.skep.worker([
      mail.handle(async (job) => {
        contexts.push(job)
        job.log('begun')
        await gate().promise
        return 1
      }),
    ])
    const { id } = await scene.skep.enqueue(mail, 1)
    await scene.until(() => contexts.length === 1)
    scene.faults.break('hang', ['note'])
    await scene.advance(300)
    contexts[0]!.log('more')

    await scene.through(worker.stop({ drain: 100, grace: 100 }), 2_000)
    contexts[0]!.log('too late')
    contexts[0]!.progress(99)
    await scene.advance(1_000)

    expect(await scene.state(id)).toBe('ready')
    expect(await texts(scene, id)).toEqual(['begun', 'more'])
    scene.faults.heal()
    await scene.advance(10)
    expect(scene.runtime.timers).toBe(0)
  })

  it('hold up no stop when the store is away, and leave no timer', async () => {
    const scene = openScene()
    const contexts: JobContext<number, number>[] = []
    const worker = scene.skep.worker([
      mail.handle(async (job) => {
        contexts.push(job)
        await gate().promise
        return 1
      }),
    ])
    await scene.skep.enqueue(mail, 1)
    await scene.until(() => contexts.length === 1)
    scene.faults.break('before')
    contexts[0]!.log('never seen')
    await scene.advance(500)

    await scene.through(worker.stop({ drain: 100 }), 16_000)

    expect(scene.runtime.timers).toBe(0)
  })

  it('are dropped, oldest first and counted, when an outage lasts', async () => {
    const scene = openScene()
    const { jobs, ends } = await held(scene)
    scene.faults.break('before', ['note'])
    for (let n = 1; n <= 1_500; n++) jobs[0]!.log(`line ${n}`)
    await scene.advance(1_000)

    scene.faults.heal()
    await scene.advance(10_000)
    ends[0]!.open(1)
    await scene.until(async () => (await scene.state(jobs[0]!.id)) === 'done')

    const page = await scene.skep.jobs.logs(jobs[0]!.id, { limit: 1_000 })
    expect([page.lines.length, page.lines[0]?.message, page.dropped]).toEqual([1_000, 'line 501', 500])
    expect(scene.logged('warn', /500 lines that handlers logged were dropped/)).toBe(true)
  })

  it('are bounded in all, however many jobs tell however much', async () => {
    const scene = openScene()
    const { jobs } = await held(scene, 40)
    scene.faults.break('before', ['note'])
    const long = 'x'.repeat(4_096)
    for (const job of jobs) for (let n = 0; n < 64; n++) job.log(long)
    await scene.advance(1_000)

    scene.faults.heal()
    await scene.until(() => scene.logged('warn', /lines that handlers logged were dropped/))
    await scene.advance(10_000)

    const kept = await Promise.all(jobs.map(({ id }) => texts(scene, id)))
    // 8 MiB for all of them; each alone would have had room for its 256 KiB.
    expect(kept.flat().length).toBe(2_048)
    expect(kept[0]).toHaveLength(64)
  })

  it('of a run that lost its lease are written by nobody', async () => {
    const scene = openScene()
    const { jobs, ends } = await held(scene)
    jobs[0]!.log('mine')
    await scene.advance(300)
    const { token } = await scene.job(jobs[0]!.id)
    const [held0] = notesSent(scene)
    expect(held0?.token).toBe(token)
    // Somebody else takes it over, as a rescuer does.
    await scene.truth.settle({
      settlements: [
        {
          space: jobs[0]!.space,
          id: jobs[0]!.id,
          token: token as string,
          rescue: true,
          verdict: {
            to: 'delayed',
            keepMs: 0,
            delayMs: 3_600_000,
            count: 'lost',
            refund: false,
            keepPlace: false,
            keepCancelledMs: 0,
            result: null,
            failure: null,
          },
        },
      ],
    })

    jobs[0]!.log('not mine any more')
    await scene.advance(500)
    ends[0]!.open(1)
    await scene.advance(5_000)

    expect(await texts(scene, jobs[0]!.id)).toEqual(['mine'])
  })

  it('go with a job that is discarded', async () => {
    const scene = openScene()
    const brief = queue<number>('brief', { onSuccess: discard() })
    const end = gate()
    scene.skep.worker([
      brief.handle(async ({ log, progress }) => {
        log('a')
        progress(1)
        await end.promise
        log('b')
      }),
    ])
    const { id } = await scene.skep.enqueue(brief, 1)
    await scene.until(() => scene.faults.count('note') === 1)
    await scene.advance(10)
    const before = await texts(scene, id)

    end.open()
    await scene.until(async () => (await scene.state(id)) === 'absent')
    await scene.advance(1_000)

    expect(before).toEqual(['a'])
    expect(await texts(scene, id)).toEqual([])
    expect((await scene.skep.jobs.logs(id)).progress).toBeNull()
  })

  it('of an earlier run go too when a later one is discarded', async () => {
    const scene = openScene()
    const brief = queue<number>('brief', { onSuccess: discard(), onError: retry(1, fixed(0)) })
    scene.skep.worker([
      brief.handle(({ log, attempt }) => {
        if (attempt > 1) return
        log('a')
        throw new Error('again')
      }),
    ])
    const { id } = await scene.skep.enqueue(brief, 1)

    await scene.until(async () => (await scene.state(id)) === 'absent')

    expect(await texts(scene, id)).toEqual([])
  })

  it('of every try are kept', async () => {
    const scene = openScene()
    const tried = queue<number, number>('tried', { onError: retry(2, fixed(0)) })
    scene.skep.worker([
      tried.handle(({ log, progress, attempt }) => {
        log(`try ${attempt}`)
        progress(attempt * 10)
        if (attempt < 3) throw new Error('again')
        return 1
      }),
    ])
    const job = await scene.skep.enqueue(tried, 1)

    await scene.through(job.result())

    expect(await texts(scene, job.id)).toEqual(['try 1', 'again', 'try 2', 'again', 'try 3'])
    expect((await job.get())?.progress?.value).toBe(30)
  })

  it('of each job of a batch are its own', async () => {
    const scene = openScene()
    scene.skep.worker([
      mail.handleBatch({ size: 5 }, async (jobs) => {
        for (const job of jobs) job.log(`of ${job.payload}`)
        return jobs.map(({ payload }) => payload)
      }),
    ])
    const jobs = await scene.skep.enqueueMany(mail, [1, 2, 3])

    await scene.through(Promise.all(jobs.map((job) => job.result())))

    expect(await Promise.all(jobs.map(({ id }) => texts(scene, id)))).toEqual([['of 1'], ['of 2'], ['of 3']])
  })

  it('come after a job that completed in its own transaction', async () => {
    const scene = openScene({ wrap: withTransactions })
    scene.skep.worker([
      mail.handle(async ({ complete, log }) => {
        const tx = new FakeTransaction()
        log('before')
        await complete(1, { tx })
        await tx.commit()
        log('after')
        return 1
      }),
    ])
    const { id } = await scene.skep.enqueue(mail, 1)

    await scene.until(async () => (await texts(scene, id)).length === 2)

    expect(await scene.state(id)).toBe('done')
    expect(await texts(scene, id)).toEqual(['before', 'after'])
  })

  it('that make no sense harm nobody', async () => {
    const scene = openScene()
    const { jobs, ends } = await held(scene)
    const { progress, log } = jobs[0]! as unknown as {
      progress: (...values: unknown[]) => void
      log: Record<string, (...values: unknown[]) => void>
    }

    for (const value of [Number.NaN, Infinity, '5', null, undefined, 5n]) progress(value)
    progress(7, 'n'.repeat(2_000))
    log['info']!(undefined, 5)
    log['error']!(Symbol('s'))
    ends[0]!.open(1)
    await scene.until(async () => (await scene.state(jobs[0]!.id)) === 'done')

    const page = await scene.skep.jobs.logs(jobs[0]!.id)
    expect(page.progress?.value).toBe(7)
    expect(page.progress?.note).toMatch(/^n+ … \(cut\)$/)
    expect(page.lines).toHaveLength(2)
    expect(scene.logged('warn', /a progress that is not a number/)).toBe(true)
  })
})

import { describe, expect, it } from 'vitest'
import { flow, queue, type SkepError, schedule, settled } from '../../src/index.ts'
import { openScene } from '../worker/support/scene.ts'
import { openSkep, openStore, STORES } from './support/stores.ts'

const mail = queue<unknown, unknown>('mail')
const id = '01a31c50-0000-7000-8000-0000000000aa'

async function refusal(call: () => unknown): Promise<SkepError> {
  try {
    await call()
  } catch (error) {
    return error as SkepError
  }
  throw new Error('It was accepted.')
}

describe('a filter that says nothing', () => {
  it.each([
    { text: undefined },
    { text: '' },
    { text: null },
    { text: 5 },
    { state: undefined },
    { after: undefined },
    { before: undefined },
    { limit: undefined },
  ])('is refused before anything is changed: %o', async (filter) => {
    const scene = openScene()
    const { skep } = scene
    await skep.enqueueMany(mail, [1, 2], { delay: '1h' })
    const target = { queue: 'mail', ...filter } as never
    const declared = { queue: mail, ...filter } as never
    const { limit: _limit, ...purgeable } = filter as { limit?: undefined }

    const calls = [
      () => skep.jobs.cancel(target),
      () => skep.jobs.bury(target),
      () => skep.jobs.retry(target),
      () => skep.jobs.promote(target),
      () => skep.jobs.reschedule(target, { delay: '2h' }),
      () => skep.jobs.remove(target),
      () => skep.jobs.prioritize(declared, 5),
      ...('limit' in filter ? [] : [() => skep.queues.purge(mail, purgeable as never)]),
    ]
    for (const call of calls) {
      expect(await refusal(call)).toMatchObject({
        code: 'OPTION_INVALID',
        facts: { name: Object.keys(filter)[0] },
      })
    }

    expect(await scene.counts('mail')).toEqual({ delayed: 2 })
  })
})

describe('a reason', () => {
  it('is a string', async () => {
    const { skep } = openScene()
    const job = await skep.enqueue(mail, 1, { delay: '1h' })
    const run = await skep.start(
      flow('order', (f) => f.input<object>().step(mail)),
      {},
    )
    const wrong = { reasn: 'x' } as never

    const calls = [
      () => run.cancel(wrong),
      () => job.cancel(wrong),
      () => skep.jobs.cancel(job.id, { reason: wrong }),
      () => skep.jobs.bury(job.id, { reason: wrong }),
    ]
    for (const call of calls) {
      const error = await refusal(call)
      expect([error.code, error.message]).toEqual(['OPTION_INVALID', expect.stringContaining('use a string')])
    }
    expect(await run.get()).toMatchObject({ status: 'running' })
    expect(await job.get()).toMatchObject({ state: 'delayed' })
  })
})

describe('what cannot be a target or an option of a change', () => {
  it('is refused with a code', async () => {
    const { skep } = openScene()
    const { jobs, queues } = skep as any
    const calls: readonly (readonly [() => unknown, RegExp])[] = [
      [() => jobs.reschedule([id], { delay: '1h', typo: 1 }), /no option "typo"/],
      [() => jobs.reschedule([id], undefined), /object with delay/],
      [() => jobs.reschedule([id], 5), /object with delay/],
      [() => jobs.retry({}), /an id, an array of ids, or a filter/],
      [() => jobs.retry(undefined), /options of the target/],
      [() => jobs.cancel({ queue: 'mail', before: '2026' }), /before is "2026"; use a valid Date/],
      [() => queues.purge(mail, { dryRun: 'false' }), /dryRun .* use true or false/],
      [() => queues.purge(mail, { before: '2026' }), /before is "2026"; use a valid Date/],
      [() => queues.purge(undefined), /pass a declared queue or its name/],
      [() => queues.list({ state: 'ready' }), /pass an array of queues/],
      [() => queues.list([undefined]), /pass a declared queue or its name/],
      [() => queues.explain(null), /pass a declared queue or its name/],
    ]
    for (const [call, message] of calls) {
      const error = await refusal(call)
      expect([error.code, error.message]).toEqual(['OPTION_INVALID', expect.stringMatching(message)])
    }
  })
})

describe('a queue that moves the runs of a flow on', () => {
  it.each(['flow:order', 'flow.2:order'])('takes no jobs of others: %s', async (name) => {
    const { skep } = openScene()
    const control = queue<unknown>(name)
    const calls = [
      () => skep.enqueue(control, {}),
      () => skep.enqueueMany(control, [{}]),
      () => skep.groups.group([control.job({})]),
      () => skep.groups.group([mail.job(1)], { next: control.job({}) }),
      () => skep.groups.chain([mail.job(1), control.job({})]),
      () => skep.groups.open('key', { next: control.job({}) }),
      () => schedule('nightly', { queue: control, every: '1h' }),
    ]

    for (const call of calls) {
      expect((await refusal(call)).message).toMatch(
        /moves the runs of a flow on; jobs cannot be enqueued in it/,
      )
    }
    expect(await skep.queues.list()).toEqual([])
  })

  it('is not every queue whose name begins like it, and a schedule may start its flow', async () => {
    const { skep } = openScene()
    const order = flow('order', (f) => f.input<object>().step(mail))

    await skep.enqueue(queue('flowers'), {})
    await skep.schedules.put(schedule('nightly', { flow: order, input: {}, every: '1h' }))

    await expect(skep.schedules.runNow('nightly')).resolves.toMatchObject({ duplicate: false })
  })
})

describe('the id of the job that follows an open group', () => {
  it.each(STORES)('is known from the first call on: %s', async (name) => {
    const skep = openSkep(await openStore(name))
    const next = queue<unknown>('next')

    const group = await skep.groups.open('mails', { next: next.job(1) })
    const again = await skep.groups.open('mails', { next: next.job(2) })
    const bare = await skep.groups.open('bare', { onComplete: next.job(3) })
    const late = await skep.groups.open('late', { join: settled, next: next.job(4) })
    await group.seal()

    const { jobs } = await skep.jobs.list({ queue: 'next' })
    expect(jobs.map((job) => [job.id, job.payload])).toEqual([[group.nextId, 1]])
    expect(again.nextId).toBe(group.nextId)
    expect([bare.nextId, skep.groups.keyed('mails').nextId]).toEqual([null, null])
    expect(late.nextId).toEqual(expect.any(String))
  })
})

describe('the retry of a run', () => {
  it('that is done needs a step, and runs it again', async () => {
    const scene = openScene()
    let runs = 0
    const step = queue<unknown, number>('step')
    const order = flow('order', (f) => f.input<object>().step(step))
    scene.skep.worker([step.handle(() => ++runs), order])
    const run = await scene.skep.start(order, {})
    await scene.through(run.result())

    expect(await run.retry()).toBe(false)
    expect(await run.get()).toMatchObject({ status: 'done' })

    expect(await run.retry({ from: 'step' })).toBe(true)
    await scene.through(run.result())
    expect(runs).toBe(2)
  })
})

import { describe, expect, it } from 'vitest'
import { queue, type Skep } from '../../src/index.ts'
import { openSkep, openStore, STORES } from './support/stores.ts'

const laned = queue<{ tenant: string }>('crm', {
  lane: ({ payload }) => payload.tenant,
  lanes: { concurrency: 1 },
})
const plain = queue<number>('mail')
const full = queue<number>('invoice', { concurrency: 1 })

/** A worker whose handlers go on until the test is over. */
function occupy(skep: Skep): void {
  const forever = ({ signal }: { readonly signal: AbortSignal }): Promise<void> =>
    new Promise((resolve) => signal.addEventListener('abort', () => resolve()))
  skep.worker([laned.handle(forever), full.handle(forever)], { concurrency: 20, drain: 0 })
}

async function running(skep: Skep, name: string, jobs: number): Promise<void> {
  await expect
    .poll(async () => (await skep.queues.list([name]))[0]?.running, { timeout: 20_000, interval: 20 })
    .toBe(jobs)
}

describe.each(STORES)('why the jobs of a queue wait in %s', (name) => {
  it('counts those of held lanes and of full lanes, with who and why', async () => {
    const skep = openSkep(await openStore(name))
    await skep.queues.pause({ queue: laned, lane: 'acme' }, { by: 'ada', reason: '3am incident' })
    for (const [tenant, jobs] of [
      ['acme', 4],
      ['globex', 3],
      ['initech', 1],
    ] as const)
      await skep.enqueueMany(
        laned,
        Array.from({ length: jobs }, () => ({ tenant })),
      )
    occupy(skep)
    await running(skep, 'crm', 2)

    const explanation = await skep.queues.explain(laned)
    const { lanes } = await skep.queues.lanes(laned)

    expect(explanation).toMatchObject({ queue: 'crm', waiting: 6, delayed: 0, isWhole: true })
    expect(explanation.causes).toMatchObject([
      {
        cause: 'held',
        jobs: 4,
        isExact: true,
        lane: 'acme',
        lanes: 1,
        hold: { kind: 'pause', queue: 'crm', lane: 'acme', by: 'ada', reason: '3am incident' },
        text: '4 jobs wait: lane "acme" is paused by "ada": "3am incident".',
      },
      {
        cause: 'lane-full',
        jobs: 2,
        lane: 'globex',
        text: '2 jobs wait: lane "globex" is full, 1 of 1 are running.',
      },
    ])
    expect(lanes.map(({ lane, waitsFor }) => [lane, waitsFor?.text])).toEqual([
      ['acme', 'Paused by "ada": "3am incident".'],
      ['globex', 'Full, 1 of 1 are running.'],
      ['initech', 'Full, 1 of 1 are running.'],
    ])
  })

  it('tells of many lanes with one cause together', async () => {
    const skep = openSkep(await openStore(name))
    for (let n = 0; n < 9; n++) await skep.enqueueMany(laned, [{ tenant: `t${n}` }, { tenant: `t${n}` }])
    occupy(skep)
    await running(skep, 'crm', 9)

    const { causes } = await skep.queues.explain('crm')

    expect(causes.map(({ jobs, lanes }) => [jobs, lanes])).toEqual([
      [4, 4],
      [1, 1],
      [1, 1],
      [1, 1],
      [1, 1],
      [1, 1],
    ])
    expect(causes[0]?.text).toBe('4 jobs wait: 4 more lanes are full.')
  })

  it('names holds of the queue, a missing worker and jobs that are not due', async () => {
    const skep = openSkep(await openStore(name))
    await skep.enqueueMany(plain, [1, 2])
    await skep.enqueue(plain, 3, { delay: '1h' })
    await skep.queues.pause({ queue: 'ma*' }, { by: 'ada' })
    await skep.queues.block('mail', { reason: 'No money' })

    const { causes, waiting, delayed } = await skep.queues.explain(plain)

    expect({ waiting, delayed }).toEqual({ waiting: 2, delayed: 1 })
    expect(causes.map(({ cause, jobs }) => [cause, jobs])).toEqual([
      ['held', 2],
      ['held', 2],
      ['no-worker', 2],
      ['not-due', 1],
    ])
    expect(causes[0]?.text).toBe('2 jobs wait: the queue is blocked: "No money".')
    expect(causes[1]?.text).toBe('2 jobs wait: the queues "ma*" are paused by "ada".')
    expect(causes[3]?.until).toBeInstanceOf(Date)
  })

  it('names the limit of a full queue', async () => {
    const skep = openSkep(await openStore(name))
    await skep.enqueueMany(full, [1, 2, 3])
    occupy(skep)
    await running(skep, 'invoice', 1)

    const { causes } = await skep.queues.explain(full)

    expect(causes).toMatchObject([
      { cause: 'queue-full', jobs: 2, text: '2 jobs wait: the queue is full, 1 of 1 are running.' },
    ])
  })

  it('says nothing of a queue without waiting jobs', async () => {
    const skep = openSkep(await openStore(name))

    expect(await skep.queues.explain('nothing')).toEqual({
      queue: 'nothing',
      waiting: 0,
      delayed: 0,
      causes: [],
      isWhole: true,
    })
  })
})

import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { flow, type JobHandle, queue, type StandardSchema } from '../../src/index.ts'
import { openSkep, openStore, STORES } from './support/stores.ts'

const mail = queue<{ n: number }, { n: number }>('mail')

/** A schema that needs a while for its answer. */
const slowly: StandardSchema<{ n: number }> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: async (value) => {
      await sleep(5)
      return { value: value as { n: number } }
    },
  },
}
const checked = queue('checked', { payload: slowly })

const order = flow('order', (f) => f.step(mail))

async function stored(jobs: readonly JobHandle[]): Promise<unknown[]> {
  return Promise.all(jobs.map(async (job) => (await job.get())?.payload))
}

describe.each(STORES)('a payload is stored as it was at the call (%s)', (name) => {
  it('by the first enqueues of a process, which wait for the store to open', async () => {
    const skep = openSkep(await openStore(name))
    const payload = { n: 0 }
    const calls: Promise<JobHandle>[] = []
    for (; payload.n < 3; payload.n++) calls.push(skep.enqueue(mail, payload))

    expect(await stored(await Promise.all(calls))).toEqual([{ n: 0 }, { n: 1 }, { n: 2 }])
  })

  it('by enqueueMany, groups, chains and starts that are the first of a process', async () => {
    const store = await openStore(name)
    const payload = { n: 1 }
    const calls = [
      openSkep(store).enqueueMany(mail, [payload, payload]),
      openSkep(store).groups.group([mail.job(payload)], { next: mail.job(payload) }),
      openSkep(store).groups.chain([mail.job(payload)]),
      openSkep(store).groups.map(mail, [payload]),
      openSkep(store)
        .groups.open('key')
        .then(() => 'opened'),
      openSkep(store).start(order, payload),
    ]
    payload.n = 9
    await Promise.all(calls)

    const skep = openSkep(store)
    const { jobs } = await skep.jobs.list({ queue: 'mail', limit: 50 })
    expect(jobs.map((job) => job.payload)).toEqual(Array.from({ length: 6 }, () => ({ n: 1 })))
  })

  it('where a schema is checked asynchronously', async () => {
    const skep = openSkep(await openStore(name))
    await skep.ready()
    const payload = { n: 0 }
    const calls: Promise<JobHandle>[] = []
    for (; payload.n < 3; payload.n++) calls.push(skep.enqueue(checked, payload))
    const many = skep.enqueueMany(checked, [payload])
    payload.n = 9

    const jobs = [...(await Promise.all(calls)), ...(await many)]
    expect(await stored(jobs)).toEqual([{ n: 0 }, { n: 1 }, { n: 2 }, { n: 3 }])
  })

  it('inside a handler, and of its result', async () => {
    const skep = openSkep(await openStore(name))
    const other = queue<{ n: number }>('other')
    const shared = { n: 0 }
    const worker = skep.worker([
      mail.handle(async ({ payload, enqueue, spawn }) => {
        Object.assign(shared, payload)
        const enqueuing = [enqueue(other, shared), spawn([checked.job(shared)], { next: other.job(shared) })]
        shared.n = 9
        await Promise.all(enqueuing)
        return payload
      }),
    ])
    const job = await skep.enqueue(mail, { n: 4 })
    expect(await job.result()).toEqual({ n: 4 })
    await worker.stop()

    const { jobs } = await skep.jobs.list({ limit: 50 })
    const payloads = jobs.filter(({ queue: of }) => of !== 'mail').map((one) => one.payload)
    expect(payloads).toEqual(payloads.map(() => ({ n: 4 })))
    expect(payloads.length).toBeGreaterThanOrEqual(2)
  })
})

describe('a payload that an asynchronous schema refuses', () => {
  it('is refused with what the schema says, also where a lane cannot be made of it', async () => {
    const skep = openSkep(await openStore('memory'))
    const never: StandardSchema<{ n: number }> = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: async () => ({ issues: [{ message: 'no number', path: ['n'] }] }),
      },
    }
    const laned = queue('laned', {
      payload: never,
      lane: ({ payload }) => (payload as unknown as { deep: { key: string } }).deep.key,
    })

    await expect(skep.enqueue(laned, { n: 1 })).rejects.toMatchObject({ code: 'PAYLOAD_INVALID' })
    await expect(skep.enqueueMany(laned, [{ n: 1 }, { n: 2 }])).rejects.toMatchObject({
      code: 'BATCH_ITEM_INVALID',
      facts: { index: 0, code: 'PAYLOAD_INVALID' },
    })
  })
})

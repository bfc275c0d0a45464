import { afterEach, describe, expect, it, vi } from 'vitest'
import { discard, never, queue } from '../../src/index.ts'
import { caller, hurried, type Scene, scene } from './support/scene.ts'

const mail = queue<{ n: number }>('mail')
const patience = { timeout: 20_000, interval: 10 }

describe('receivers', () => {
  let open: Scene | null = null
  const begin = (...options: Parameters<typeof scene>): Scene => {
    open = scene(...options)
    return open
  }
  afterEach(async () => {
    await open?.close()
    open = null
  })

  const numbers = (count: number): { n: number }[] => Array.from({ length: count }, (_, n) => ({ n }))

  it('gives jobs to a receiver and saves how they ended', async () => {
    const { skep, connect } = begin()
    const handles = await skep.enqueueMany(mail, numbers(3))
    const receiver = await connect()
    await vi.waitFor(() => expect(receiver.jobs).toHaveLength(3), patience)
    expect(receiver.jobs[0]).toMatchObject({ queue: 'mail', payload: '{"n":0}', attempt: 1 })
    const answer = await receiver.ack(receiver.jobs, { done: { ok: true } })
    expect(answer).toEqual({ saved: 3, results: [] })
    expect(await handles[0]?.result()).toEqual({ ok: true })
    expect((await skep.jobs.get(receiver.jobs[2]?.id as string))?.state).toBe('done')
  })

  it('replaces characters of a name that nobody sees or that turn the text around', async () => {
    const { connect } = begin()
    const receiver = await connect({ name: 'pay\u202eelif\u2069\u200b\u0007s' })
    expect(receiver.receiver?.name).toBe('pay elif   s')
  })

  it('never gives a receiver more than its credits, and more when it is granted more', async () => {
    const { skep, connect } = begin()
    const receiver = await connect({ credits: 4 })
    let most = 0
    let done = 0
    receiver.onJobs = (jobs) => {
      most = Math.max(most, receiver.held)
      if (done >= 20) return
      done += jobs.length
      void receiver.ack(jobs)
    }
    await skep.enqueueMany(mail, numbers(50))
    await vi.waitFor(() => expect(receiver.held).toBe(4), patience)
    expect(most).toBe(4)
    receiver.receiver?.grant(7)
    await vi.waitFor(() => expect(receiver.held).toBe(7), patience)
    expect(most).toBe(7)
  })

  it('gives to the least busy, counted in shares of what each may hold', async () => {
    const { skep, connect } = begin()
    const large = await connect({ credits: 30 })
    const small = await connect({ credits: 10 })
    await skep.enqueueMany(mail, numbers(20))
    await vi.waitFor(() => expect(large.held + small.held).toBe(20), patience)
    expect(large.held).toBe(15)
    expect(small.held).toBe(5)
  })

  it('frees at once what a vanished receiver held, and counts it as lost', async () => {
    const { skep, connect } = begin()
    await skep.enqueueMany(mail, numbers(5))
    const first = await connect()
    await vi.waitFor(() => expect(first.jobs).toHaveLength(5), patience)
    const second = await connect()
    first.receiver?.close()
    await vi.waitFor(() => expect(second.jobs).toHaveLength(5), patience)
    expect(second.jobs.every(({ attempt }) => attempt === 2)).toBe(true)
    const late = await first.ack(first.jobs.slice(0, 1))
    expect(late.results).toMatchObject([{ status: 'lost' }])
    await second.ack(second.jobs)
    expect((await skep.jobs.get(second.jobs[0]?.id as string))?.lost).toBe(1)
  })

  it('takes back without a count what a receiver that says goodbye held', async () => {
    const { skep, connect } = begin()
    await skep.enqueueMany(mail, numbers(2))
    const first = await connect()
    await vi.waitFor(() => expect(first.jobs).toHaveLength(2), patience)
    first.receiver?.close('done')
    const second = await connect()
    await vi.waitFor(() => expect(second.jobs).toHaveLength(2), patience)
    const job = await skep.jobs.get(second.jobs[0]?.id as string)
    expect(job).toMatchObject({ lost: 0, errors: 0 })
  })

  it('judges by the policy that a worker of the queue told, or that the server was given', async () => {
    const told = queue<number>('told', { onError: never(), onSuccess: discard() })
    const given = queue<number>('given', { onError: never() })
    const { skep, connect } = begin({}, { queues: [given] })
    await skep.worker([told.handle(() => {})]).stop()
    const jobs = [await skep.enqueue(told, 1), await skep.enqueue(told, 2), await skep.enqueue(given, 1)]
    const receiver = await connect({ queues: ['told', 'given'] })
    await vi.waitFor(() => expect(receiver.jobs).toHaveLength(3), patience)
    const of = (index: number): typeof receiver.jobs =>
      receiver.jobs.filter(({ id }) => id === jobs[index]?.id)
    await receiver.ack(of(0))
    await receiver.ack([...of(1), ...of(2)], { failed: { message: 'no' } })
    expect(await skep.jobs.get(jobs[0]?.id as string)).toBeNull()
    expect((await skep.jobs.get(jobs[1]?.id as string))?.state).toBe('dead')
    expect((await skep.jobs.get(jobs[2]?.id as string))?.state).toBe('dead')
  })

  it('tells of a time limit, and counts what comes after it as a timeout', async () => {
    const slow = queue<number>('slow', { timeout: '300ms', onTimeout: never() })
    const { skep, connect } = begin({}, { queues: [slow] })
    const job = await skep.enqueue(slow, 1)
    const receiver = await connect({ queues: ['slow'] })
    await vi.waitFor(() => expect(receiver.jobs).toHaveLength(1), patience)
    expect(receiver.jobs[0]?.timeoutMs).toBe(300)
    await vi.waitFor(() => expect(receiver.stops).toHaveLength(1), patience)
    expect(receiver.stops[0]).toMatchObject({ id: job.id, reason: 'timeout' })
    expect(await receiver.ack(receiver.jobs)).toEqual({ saved: 1, results: [] })
    expect(await skep.jobs.get(job.id)).toMatchObject({ state: 'dead', timeouts: 1 })
  })

  it('ends its streams when the worker behind them is ordered to stop, and serves those who come again', async () => {
    const { skep, connect } = begin()
    await skep.enqueue(mail, { n: 1 })
    const first = await connect()
    await vi.waitFor(() => expect(first.jobs).toHaveLength(1), patience)
    const [worker] = await skep.workers.list()
    await first.ack(first.jobs)
    await skep.workers.stop(worker?.id as string)
    await vi.waitFor(() => expect(first.ended).toBe('stopped'), patience)
    await skep.enqueue(mail, { n: 2 })
    const second = await connect()
    await vi.waitFor(() => expect(second.jobs).toHaveLength(1), patience)
  }, 40_000)

  it('tells receivers when the server stops and the drain is over, and still takes how their jobs ended', async () => {
    const { skep, hub, connect } = begin()
    const handles = await skep.enqueueMany(mail, numbers(2))
    const receiver = await connect()
    await vi.waitFor(() => expect(receiver.jobs).toHaveLength(2), patience)

    const closing = hub.close({ drain: 0, grace: '1m' })
    await vi.waitFor(() => expect(receiver.stops).toHaveLength(2), patience)

    expect(receiver.stops[0]).toMatchObject({ reason: 'stopping' })
    expect((await skep.queues.list([mail]))[0]).toMatchObject({ running: 2 })
    expect(await receiver.ack(receiver.jobs.slice(0, 1), { done: 1 })).toEqual({ saved: 1, results: [] })
    expect(await receiver.ack(receiver.jobs.slice(1), { failed: { message: 'aborted' } })).toEqual({
      saved: 1,
      results: [],
    })
    await closing
    expect(await handles[0]?.get()).toMatchObject({ state: 'done' })
    expect(await handles[1]?.get()).toMatchObject({ state: 'ready', errors: 0, lost: 0 })
  })

  it('gives no jobs that move flows on', async () => {
    const { connect } = begin()
    await expect(connect({ queues: ['flow:order'] })).rejects.toMatchObject({ code: 'NAME_INVALID' })
  })

  it('ends the stream of a caller whose credential is not good any more, and frees its jobs', async () => {
    // It is asked every ten seconds of the hub's clock.
    const { skep, hub, connect } = begin({}, {}, hurried(10))
    let isGood = true
    const revoked = caller({ name: 'revoked', isStillGood: async () => isGood })
    const receiver = await connect({ caller: revoked })
    await skep.enqueue(mail, { n: 1 })
    await vi.waitFor(() => expect(receiver.jobs).toHaveLength(1), patience)

    isGood = false
    await vi.waitFor(() => expect(receiver.ended).toBe('closed'), patience)
    const other = await connect()

    await vi.waitFor(() => expect(other.jobs).toHaveLength(1), patience)
    expect((await hub.list('default')).map(({ name }) => name)).toEqual(['worker'])
  }, 40_000)

  it('shows and ends those of one space alone, and finds those of one caller', async () => {
    const { hub, connect } = begin()
    const own = await connect()
    const id = own.receiver?.id as string

    expect(await hub.list('other')).toEqual([])
    expect(await hub.list('default')).toHaveLength(1)
    expect(hub.find(caller({ space: 'other' }), id)).toBeNull()
    expect(hub.find(caller({ name: 'another' }), id)).toBeNull()
    expect(hub.find(caller(), id)).toBe(own.receiver)
    expect(await hub.disconnect('other', id)).toBe(false)
    expect(own.ended).toBeNull()
    expect(await hub.disconnect('default', id)).toBe(true)
    expect(own.ended).toBe('closed')
    expect(await hub.list('default')).toEqual([])
  })

  it('refuses the token of another job, and one who may not touch the queue', async () => {
    const { skep, hub, connect } = begin()
    await skep.enqueueMany(mail, numbers(2))
    const receiver = await connect()
    await vi.waitFor(() => expect(receiver.jobs).toHaveLength(2), patience)
    const [a, b] = receiver.jobs
    const crossed = [{ id: a?.id as string, token: b?.token as string }]
    expect(await hub.settle(caller(), crossed)).toEqual({
      saved: 0,
      results: [{ id: a?.id, status: 'lost' }],
    })
    const right = [{ id: a?.id as string, token: a?.token as string }]
    expect(await hub.settle(caller({ queues: ['other'] }), right)).toEqual({
      saved: 0,
      results: [{ id: a?.id, status: 'gone' }],
    })
    expect(await hub.settle(caller(), right)).toEqual({ saved: 1, results: [] })
    expect(await hub.settle(caller(), right)).toEqual({ saved: 1, results: [] })
    await expect(hub.settle(caller({ scopes: new Set() }), right)).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
    await expect(connect({ caller: caller({ queues: ['other'] }) })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
  })
})

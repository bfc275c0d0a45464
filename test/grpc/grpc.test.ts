import { once } from 'node:events'
import { status } from '@grpc/grpc-js'
import { queue, settled } from 'skep'
import { describe, expect, it, vi } from 'vitest'
import { grpcClient, stage } from './stage.ts'

const mail = queue<{ to: string }, unknown>('mail')

describe('gRPC with grpc-js', () => {
  it('enqueues a batch, streams it to a receiver and takes the acks on the same stream', async () => {
    const { skep, address } = await stage()
    const { skep: client, call } = grpcClient(address)

    const { jobs } = await call(client, 'Enqueue', {
      jobs: [
        { queue: 'mail', payload: '{"to":"a"}', headers: { tenant: 'x' } },
        { queue: 'mail', payload: '{"to":"b"}', delay_ms: 5 },
      ],
    })
    const stream = client['Receive']()
    const seen: any[] = []
    let saved = 0
    stream.on('data', (batch: any) => {
      seen.push(...batch.jobs)
      saved += batch.saved
      const acks = batch.jobs.map(({ id, token, payload }: any) => ({ id, token, done: payload }))
      if (acks.length > 0) stream.write({ acks })
    })
    stream.on('error', () => {})
    stream.write({ open: { name: 'test', queues: ['m*'], credits: 10 } })
    const results = await Promise.all(
      jobs.map(({ id }: { id: string }) => skep.jobs.handle(id).result({ timeout: '20s' })),
    )
    await vi.waitFor(() => expect(saved).toBe(2), { timeout: 20_000 })
    stream.end()

    expect(results).toEqual([{ to: 'a' }, { to: 'b' }])
    expect(seen.find(({ payload }) => payload === '{"to":"a"}')).toMatchObject({
      queue: 'mail',
      attempt: 1,
      headers: { tenant: 'x' },
    })
  })

  it('brings along what the job before gave, and what became of a group', async () => {
    const { skep, address } = await stage()
    const { skep: client, call } = grpcClient(address)
    const after = queue<string>('after')
    await skep.groups.chain([mail.job({ to: 'a' }), after.job('then')])
    const take = async (name: string): Promise<any> =>
      (await call(client, 'Poll', { queues: [name], max: 1, wait_ms: 20_000 })).jobs[0]
    const { id, token, results } = await take('mail')
    await call(client, 'Settle', { acks: [{ id, token, done: '{"sent": 1}' }] })

    const then = await take('after')
    await call(client, 'Settle', { acks: [{ id: then.id, token: then.token }] })

    expect(results).toEqual([])
    expect(then.results).toMatchObject([{ ok: true, result: '{"sent":1}' }])

    await skep.groups.group([mail.job({ to: 'b' })], { join: settled, next: after.job('all') })
    const member = await take('mail')
    await call(client, 'Settle', { acks: [{ id: member.id, token: member.token, bury: 'no' }] })
    const last = await take('after')
    await call(client, 'Settle', { acks: [{ id: last.id, token: last.token }] })

    expect(last).toMatchObject({
      results: [{ ok: false, state: 'dead', message: 'no' }],
      results_left_out: false,
    })
  })

  it('refuses numbers that would be changed, times that do not exist, and JSON that is none', async () => {
    const { skep, address } = await stage()
    const { skep: client, call } = grpcClient(address)
    const codeOf = async (job: object): Promise<string> => {
      const error = await call(client, 'Enqueue', { jobs: [{ queue: 'mail', ...job }] }).catch((one) => one)
      return String(error.metadata?.get('skep-code'))
    }

    expect(await codeOf({ payload: '{"id":9007199254740993}' })).toBe('NUMBER_INEXACT')
    expect(await codeOf({ payload: '{"id":' })).toBe('PAYLOAD_NOT_JSON')
    expect(await codeOf({ payload: '['.repeat(100_000) })).toBe('REQUEST_TOO_LARGE')
    expect(await codeOf({ payload: '1', run_at_ms: '9223372036854775807' })).toBe('OPTION_INVALID')
    expect((await skep.jobs.list({})).jobs).toEqual([])

    // A result that cannot be kept as it is fails its run, as any result does that cannot be stored.
    const job = await skep.enqueue(mail, { to: 'a' })
    const polled = await call(client, 'Poll', { queues: ['mail'], max: 1, wait_ms: 20_000 })
    const { id, token } = polled.jobs[0]
    await call(client, 'Settle', { acks: [{ id, token, done: '9007199254740993' }] })
    expect(await skep.jobs.get(job.id)).toMatchObject({
      errors: 1,
      failure: { message: expect.stringContaining('9007199254740993') },
    })
  })

  it('reads why a call is refused, in the credential and where gRPC is off', async () => {
    const token = 'a-token-that-is-long-enough-for-tests-0123456789'
    const tokens = [{ name: 'test', token, scopes: ['read'] as const }]
    const closed = grpcClient((await stage({ tokens })).address)
    const off = grpcClient((await stage({ grpc: false })).address)
    const refusalOf = async ({ skep: client, call }: typeof closed): Promise<unknown> =>
      call(client, 'Enqueue', { jobs: [] }).catch(({ code, details }) => [status[code], details])

    expect(await refusalOf(closed)).toEqual(['UNAUTHENTICATED', expect.stringContaining('Say who you are')])
    expect(await refusalOf(off)).toEqual(['UNIMPLEMENTED', expect.stringContaining('without gRPC')])
  })

  it('retries what failed, snoozes and buries as the acks say', async () => {
    const { skep, address } = await stage()
    const { skep: client } = grpcClient(address)
    const [again, later, dead] = await skep.enqueueMany(mail, [
      { to: 'again' },
      { to: 'later' },
      { to: 'dead' },
    ])
    const attempts: string[] = []
    const stream = client['Receive']()
    stream.on('error', () => {})
    stream.on('data', (batch: any) => {
      for (const { id, token, payload, attempt } of batch.jobs) {
        const { to } = JSON.parse(payload)
        attempts.push(`${to} ${attempt}`)
        if (attempt > 1) stream.write({ acks: [{ id, token, done: '"fine"' }] })
        else if (to === 'again')
          stream.write({
            acks: [{ id, token, failed: { message: 'not yet', name: 'Busy', retry_in_ms: 10 } }],
          })
        else if (to === 'later') stream.write({ acks: [{ id, token, snooze: { delay_ms: 10 } }] })
        else stream.write({ acks: [{ id, token, bury: 'unreadable' }] })
      }
    })
    stream.write({ open: { queues: ['mail'], credits: 3 } })

    await expect(again?.result({ timeout: '20s' })).resolves.toBe('fine')
    await expect(later?.result({ timeout: '20s' })).resolves.toBe('fine')
    await expect(dead?.result({ timeout: '20s' })).rejects.toMatchObject({ code: 'JOB_FAILED' })
    expect(await skep.jobs.get(again?.id as string)).toMatchObject({ errors: 1, state: 'done' })
    expect(await skep.jobs.get(dead?.id as string)).toMatchObject({
      state: 'dead',
      failure: { message: 'unreadable' },
    })
    stream.end()
  })

  it('frees the jobs of a stream that breaks, at once and for another', async () => {
    const { skep, address } = await stage()
    const first = grpcClient(address)
    const second = grpcClient(address)
    const job = await skep.enqueue(mail, { to: 'a' })
    const breaking = first.skep['Receive']()
    breaking.on('error', () => {})
    breaking.write({ open: { queues: ['mail'], credits: 1 } })
    for (;;) {
      const [batch] = await once(breaking, 'data')
      if (batch.jobs.length > 0) break
    }

    breaking.cancel()
    const stream = second.skep['Receive']()
    stream.on('error', () => {})
    stream.on('data', (batch: any) => {
      for (const { id, token } of batch.jobs) stream.write({ acks: [{ id, token, done: '"second"' }] })
    })
    stream.write({ open: { queues: ['mail'], credits: 1 } })

    await expect(job.result({ timeout: '20s' })).resolves.toBe('second')
    expect(await skep.jobs.get(job.id)).toMatchObject({ lost: 1 })
    stream.end()
  })

  it('serves those who can stream in one direction only, and those who poll', async () => {
    const { skep, address } = await stage()
    const { skep: client, call } = grpcClient(address)
    const polled = await skep.enqueue(mail, { to: 'poll' })
    const { jobs } = await call(client, 'Poll', { queues: ['mail'], max: 5, wait_ms: 5_000 })
    const held = jobs.map(({ id, token }: any) => ({ id, token }))
    const extended = await call(client, 'Extend', { jobs: held, lease_ms: 60_000 })
    const settled = await call(client, 'Settle', { acks: held.map((one: any) => ({ ...one, done: '1' })) })
    const twice = await call(client, 'Settle', { acks: [{ id: polled.id, token: 'wrong', done: '2' }] })

    const stream = client['Subscribe']({ queues: ['mail'], credits: 2 })
    stream.on('error', () => {})
    const hello = (await once(stream, 'data'))[0].hello.receiver
    const streamed = await skep.enqueue(mail, { to: 'stream' })
    const [batch] = await once(stream, 'data')
    const acks = batch.jobs.map(({ id, token }: any) => ({ id, token, done: '"acked"' }))
    const acked = await call(client, 'Ack', { receiver: hello, acks })

    expect(extended.results).toEqual([{ id: polled.id, status: 'ok', cancel_reason: '' }])
    expect(settled).toEqual({ saved: 1, results: [] })
    expect(twice).toEqual({ saved: 0, results: [{ id: polled.id, status: 'gone' }] })
    expect(acked).toEqual({ saved: 1, results: [] })
    await expect(streamed.result({ timeout: '20s' })).resolves.toBe('acked')
    stream.cancel()
  })

  it('offers every other operation with the objects of the HTTP API', async () => {
    const { skep, address, url } = await stage()
    const { operations, call } = grpcClient(address)
    await skep.enqueue(mail, { to: 'a' })

    const { fields } = await call(operations, 'QueuesList', { fields: {} })
    const byJson = await fetch(`${url}/skep.v1.Operations/QueuesList`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })

    const [first] = fields.queues.listValue.values
    expect(first.structValue.fields.queue.stringValue).toBe('mail')
    expect(await byJson.json()).toMatchObject({ queues: [{ queue: 'mail', counts: { ready: 1 } }] })
  })

  it('says with a status and a code what was wrong, before anything is written', async () => {
    const { skep, address } = await stage()
    const { skep: client, call } = grpcClient(address)

    const wrong = call(client, 'Enqueue', {
      jobs: [
        { queue: 'mail', payload: '1' },
        { queue: 'mail', payload: '{' },
      ],
    })

    await expect(wrong).rejects.toMatchObject({ code: 3, details: expect.stringContaining('not JSON') })
    expect(await skep.queues.list()).toEqual([])
  })
})

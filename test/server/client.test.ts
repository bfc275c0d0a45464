import { createServer } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { queue, schedule } from '../../src/index.ts'
import { revived, ServerClient } from '../../src/server.ts'
import { startServer } from './support.ts'

const mail = queue<{ to: string; at: string }, { at: string }>('mail.send')

describe('a client of a server', () => {
  it('calls operations, and rejects with the code of the server', async () => {
    const { url } = await startServer()
    const client = new ServerClient({ url })

    const { id } = await client.call('jobs.enqueue', { queue: 'mail.send', payload: { to: 'ada' } })
    const { job } = await client.call('jobs.get', { id })
    const { queues } = await client.call('queues.list')
    const unknown = client.call('jobs.get', { id: '01890a5d-ac96-774b-bcce-b302099a8057' })
    const wrong = client.call('jobs.list', { limit: 0 })

    expect(job).toMatchObject({ id, state: 'ready', payload: { to: 'ada' } })
    expect(queues.map((one) => one.queue)).toEqual(['mail.send'])
    await expect(unknown).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(wrong).rejects.toMatchObject({ code: 'OPTION_INVALID', facts: { path: 'input.limit' } })
  })

  it('brings its token and its space', async () => {
    const token = 'a'.repeat(40)
    const { url, skep } = await startServer({
      tokens: [{ name: 'ada', token, scopes: ['read'], space: '*' }],
    })
    await skep.inSpace('acme').enqueue(queue('there'), 1)

    const { queues } = await new ServerClient({ url, token, space: 'acme' }).call('queues.list')
    const nobody = new ServerClient({ url, token: 'b'.repeat(40) }).call('queues.list')

    expect(queues.map((one) => one.queue)).toEqual(['there'])
    await expect(nobody).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  it('tells what happens to a job until it has ended', async () => {
    const { url, skep } = await startServer()
    const { id } = await skep.enqueue(mail, { to: 'ada', at: '' })
    skep.worker([mail.handle(() => ({ at: 'x' }))])
    const seen: unknown[] = []

    for await (const event of new ServerClient({ url }).watch(id)) seen.push(event)

    expect(seen.at(-1)).toMatchObject({ kind: 'state', state: 'done', job: { id } })
    await expect(
      new ServerClient({ url }).watch('01890a5d-ac96-774b-bcce-b302099a8057').next(),
    ).rejects.toMatchObject({ code: expect.stringMatching(/NOT_FOUND$/) })
  })

  it('takes an address with a path, and says what is wrong with one', async () => {
    const { url } = await startServer()
    const other = createServer((_request, response) => response.end('<p>hello</p>'))
    const gateway = createServer((_request, response) => response.writeHead(502).end('bad gateway'))
    const [shop, proxy] = await Promise.all([other, gateway].map(listening))

    await expect(new ServerClient({ url: `${url}/` }).call('me.get')).resolves.toMatchObject({
      space: 'default',
    })
    await expect(new ServerClient({ url: `${url}/api/v1` }).call('me.get')).resolves.toBeTypeOf('object')
    await expect(new ServerClient({ url: shop as string }).call('me.get')).rejects.toMatchObject({
      code: 'OPTION_INVALID',
    })
    await expect(new ServerClient({ url: proxy as string }).call('me.get')).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    })
    expect(() => new ServerClient({ url: 'jobs.example.com' })).toThrow(/url must be an address/)
  })

  it('knows whether a request that failed can have arrived', async () => {
    const cut = createServer((request) => request.socket.destroy())
    const url = await listening(cut)
    const gone = createServer()
    const nowhere = await listening(gone)
    await new Promise((resolve) => gone.close(resolve))

    await expect(new ServerClient({ url }).call('me.get')).rejects.toMatchObject({ code: 'STORE_UNKNOWN' })
    await expect(new ServerClient({ url: nowhere }).call('me.get')).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    })
  })
})

describe('what the wire carries', () => {
  it('has dates where the library has them, and leaves what users wrote as it is', async () => {
    const { url, skep } = await startServer()
    const client = new ServerClient({ url })
    const moment = '2026-11-16T09:30:00.000Z'
    const { id } = await skep.enqueue(mail, { to: 'ada', at: moment }, { runAt: new Date(moment) })
    await skep.queues.pause('mail.send', { for: '1h' })
    await skep.schedules.put(
      schedule('nightly', { queue: mail, payload: { to: 'a', at: moment }, cron: '@daily' }),
    )

    const { jobs } = revived<Awaited<ReturnType<typeof skep.jobs.list>>>(
      'jobs.list',
      await client.call('jobs.list'),
    )
    const { holds } = revived<{ holds: unknown }>('holds.list', (await client.call('holds.list')) as never)
    const { schedules } = revived<Awaited<ReturnType<typeof skep.schedules.list>>>(
      'schedules.list',
      await client.call('schedules.list'),
    )
    const [job] = jobs

    const [near] = (await skep.jobs.list({ query: `id:${id}` })).jobs
    expect({ ...job, result: undefined }).toEqual({ ...near, result: undefined })
    expect(job?.payload).toEqual({ to: 'ada', at: moment })
    expect(holds).toEqual(await skep.queues.holds())
    expect(schedules[0]).toMatchObject({ ...(await skep.schedules.get('nightly')) })
  })
})

async function listening(server: ReturnType<typeof createServer>): Promise<string> {
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return `http://127.0.0.1:${port}`
}

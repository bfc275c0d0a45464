import { afterEach, describe, expect, it, vi } from 'vitest'
import { queue } from '../../src/index.ts'
import { type Frame, post, receive, type WireAcked, type WireJob } from './support/client.ts'
import { serveReceivers } from './support/http.ts'
import { caller, type Scene, scene } from './support/scene.ts'

const mail = queue<{ n: number }>('mail')
const numbers = (count: number): { n: number }[] => Array.from({ length: count }, (_, n) => ({ n }))

describe('receivers over HTTP', () => {
  const ends: (() => unknown)[] = []
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end()
  })

  async function begin(...options: Parameters<typeof scene>): Promise<Scene & { url: string }> {
    const made = scene(...options)
    ends.push(() => made.close())
    const server = await serveReceivers(made.hub, (name) =>
      caller({ name, queues: name === 'narrow' ? ['other'] : ['*'] }),
    )
    ends.push(() => server.close())
    return { ...made, url: server.url }
  }

  it('streams jobs as lines and takes acks beside the stream', async () => {
    const { skep, url } = await begin()
    const handles = await skep.enqueueMany(mail, numbers(30))
    const stop = new AbortController()
    ends.push(() => stop.abort())
    let receiver = ''
    const seen: WireJob[] = []
    for await (const frame of receive(url, { queues: ['mail'], credits: 8, name: 'a' }, stop.signal)) {
      if (frame.hello) receiver = frame.hello.receiver
      if (!frame.jobs) continue
      seen.push(...frame.jobs)
      const acks = frame.jobs.map(({ id, token, payload }) => ({ id, token, done: payload }))
      const answer = await post(`${url}/receivers/${receiver}/ack`, { acks })
      expect(answer).toEqual({ saved: acks.length, results: [] })
      if (seen.length === 30) break
    }
    expect(seen.map(({ payload }) => (payload as { n: number }).n).toSorted((a, b) => a - b)).toEqual(
      numbers(30).map(({ n }) => n),
    )
    expect(await handles[7]?.result()).toEqual({ n: 7 })
  })

  it('sends what the jobs before gave, unless that is too large', async () => {
    const { skep, url } = await begin()
    const next = queue<string>('next')
    const large = 'x'.repeat(200_000)
    await skep.groups.chain([mail.job({ n: 1 }), next.job('chain')])
    const [first] = (await post<{ jobs: WireJob[] }>(`${url}/poll`, { queues: ['mail'], waitMs: 10_000 }))
      .jobs
    await post(`${url}/settle`, { acks: [{ id: first?.id, token: first?.token, done: { a: 'line\n' } }] })
    const asked = { queues: ['next'], waitMs: 10_000 }
    const [follower] = (await post<{ jobs: WireJob[] }>(`${url}/poll`, asked)).jobs
    expect(follower).toMatchObject({ payload: 'chain', results: [{ ok: true, result: { a: 'line\n' } }] })

    await skep.groups.group(
      numbers(6).map((one) => mail.job(one)),
      { next: next.job('group') },
    )
    const { jobs } = await post<{ jobs: WireJob[] }>(`${url}/poll`, {
      queues: ['mail'],
      max: 6,
      waitMs: 10_000,
    })
    await post(`${url}/settle`, { acks: jobs.map(({ id, token }) => ({ id, token, done: large })) })
    const [after] = (await post<{ jobs: WireJob[] }>(`${url}/poll`, asked)).jobs
    expect(after).toMatchObject({ payload: 'group', results: null })
  })

  it('frees the jobs of a client that hangs up', async () => {
    const { skep, url, connect } = await begin()
    await skep.enqueueMany(mail, numbers(3))
    const stop = new AbortController()
    const frames = receive(url, { queues: ['mail'], credits: 8 }, stop.signal)
    let jobs: readonly WireJob[] = []
    for await (const frame of frames) {
      jobs = [...jobs, ...(frame.jobs ?? [])]
      if (jobs.length === 3) break
    }
    stop.abort()
    const other = await connect()
    await vi.waitFor(() => expect(other.jobs).toHaveLength(3), { timeout: 10_000 })
  })

  it('answers a long poll as soon as there is a job, settles it, and refuses it after that', async () => {
    const { skep, url } = await begin()
    const polled = post<{ jobs: WireJob[] }>(`${url}/poll`, { queues: ['m*'], max: 5, waitMs: 30_000 })
    const job = await skep.enqueue(mail, { n: 1 })
    const { jobs } = await polled
    expect(jobs).toHaveLength(1)
    const acks = jobs.map(({ id, token }) => ({ id, token, done: 'yes' }))
    expect(await post(`${url}/settle`, { acks })).toEqual({ saved: 1, results: [] })
    expect(await job.result()).toBe('yes')
    const failed = acks.map(({ id, token }) => ({ id, token, failed: { message: 'no' } }))
    expect(await post(`${url}/settle`, { acks: failed })).toEqual({
      saved: 0,
      results: [{ id: job.id, status: 'gone' }],
    })
    expect(await post(`${url}/poll`, { queues: ['mail'], waitMs: 10 })).toEqual({ jobs: [] })
  })

  it('gives a polled job to somebody else when it is neither settled nor extended', async () => {
    const { skep, url } = await begin()
    await skep.enqueueMany(mail, numbers(2))
    const poll = { queues: ['mail'], max: 2, waitMs: 20_000, leaseMs: 1_000 }
    const { jobs } = await post<{ jobs: WireJob[] }>(`${url}/poll`, poll)
    expect(jobs).toHaveLength(2)
    const [kept, left] = jobs as [WireJob, WireJob]
    const extend = { jobs: [{ id: kept.id, token: kept.token }], leaseMs: 60_000 }
    expect(await post(`${url}/extend`, extend)).toEqual({
      results: [{ id: kept.id, status: 'ok', cancelReason: null }],
    })
    const again = await post<{ jobs: WireJob[] }>(`${url}/poll`, poll)
    expect(again.jobs.map(({ id }) => id)).toEqual([left.id])
    expect(again.jobs[0]?.attempt).toBe(2)
    const acks = [kept, left].map(({ id, token }) => ({ id, token }))
    expect(await post(`${url}/settle`, { acks })).toEqual({
      saved: 1,
      results: [{ id: left.id, status: 'lost' }],
    })
  })

  it('refuses queues that the caller may not have, and says nothing of their jobs', async () => {
    const { skep, url } = await begin()
    await skep.enqueue(mail, { n: 1 })
    const narrow = { 'x-caller': 'narrow' }
    await expect(post(`${url}/poll`, { queues: ['mail'] }, narrow)).rejects.toThrow('FORBIDDEN')
    expect(await post(`${url}/poll`, { queues: ['*'], waitMs: 300 }, narrow)).toEqual({ jobs: [] })
    const { jobs } = await post<{ jobs: WireJob[] }>(`${url}/poll`, { queues: ['mail'], waitMs: 20_000 })
    const acks = jobs.map(({ id, token }) => ({ id, token }))
    const { results } = await post<WireAcked>(`${url}/settle`, { acks }, narrow)
    expect(results[0]?.status).toBe('gone')
  })

  it('writes server-sent events for those who ask for them', async () => {
    const { skep, url } = await begin()
    await skep.enqueue(mail, { n: 1 })
    const stop = new AbortController()
    ends.push(() => stop.abort())
    const response = await fetch(`${url}/receive`, {
      method: 'POST',
      body: JSON.stringify({ queues: ['mail'] }),
      headers: { accept: 'text/event-stream', 'content-type': 'application/json' },
      signal: stop.signal,
    })
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    let text = ''
    for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += Buffer.from(part).toString()
      if (text.includes('event: jobs')) break
    }
    const [hello, jobs] = text.trim().split('\n\n')
    expect(hello).toMatch(/^event: hello\ndata: \{"receiver":"/)
    const data = JSON.parse((jobs as string).split('\ndata: ')[1] as string) as NonNullable<Frame['jobs']>
    expect(data[0]?.payload).toEqual({ n: 1 })
  })

  it('says how many credits there may be, and not more than that', async () => {
    const { url } = await begin()
    const response = await fetch(`${url}/receive`, {
      method: 'POST',
      body: JSON.stringify({ queues: ['mail'], credits: 200_000 }),
      headers: { 'content-type': 'application/json' },
    })
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining('from 1 to 10000.'),
    ])
  })
})

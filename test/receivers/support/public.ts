/** Receivers as users have them: a real server, and clients over HTTP and gRPC that know nothing of what is behind it. */
import { Metadata } from '@grpc/grpc-js'
import { expect, onTestFinished, vi } from 'vitest'
import { type Queue, queue, type Skep, silentLogger } from '../../../src/index.ts'
import { createServer } from '../../../src/server.ts'
import { grpcClient } from '../../grpc/stage.ts'
import { post, receive, type WireAcked } from './client.ts'

const patience = { timeout: 90_000, interval: 50 }
const TOKEN = 'a-token-of-receivers-that-is-long-enough-for-tests-0123456789'
const AUTHORIZATION = { authorization: `Bearer ${TOKEN}` }

interface Delivered {
  readonly id: string
  readonly token: string
}

/** A client that holds the jobs that it was given. */
interface Client {
  readonly queue: Queue<number, string>
  /** Each delivery, so a job that came twice is in it twice. */
  readonly delivered: readonly Delivered[]
  /** Acknowledges these with their tokens as results, so that the store tells which attempt it took. */
  ack(jobs: readonly Delivered[]): Promise<WireAcked>
}

export interface PublicReceivers {
  /** Acknowledges every job once. Returns the statuses of the answers. */
  ackOnce(): Promise<ReadonlySet<string>>
  /** Acknowledges every job until no answer is unknown. Returns the number of jobs that are lost or were run twice. */
  ackAll(): Promise<{ readonly lost: number; readonly doubled: number; readonly done: number }>
}

/** A server with a client for each protocol. Resolves when each of them has been given `count` jobs. */
export async function deliverJobs(
  skep: Skep,
  { count, protocols }: { readonly count: number; readonly protocols: readonly ('http' | 'grpc')[] },
): Promise<PublicReceivers> {
  const server = createServer(skep, {
    logger: silentLogger,
    dashboard: false,
    tokens: [{ name: 'receivers', token: TOKEN, scopes: ['work'] }],
    // Longer than a failover takes, or the jobs would rightly run again.
    receivers: { ackGrace: '1s', worker: { lease: '60s' } },
  })
  onTestFinished(() => server.close())
  const { url, host, port } = await server.listen({ port: 0 })
  const clients = await Promise.all(
    protocols.map((one) => (one === 'http' ? overHttp(`${url}/api/v1`) : overGrpc(`${host}:${port}`))),
  )
  for (const client of clients) {
    await skep.enqueueMany(
      client.queue,
      Array.from({ length: count }, (_, n) => n),
    )
  }
  await vi.waitFor(() => {
    expect(clients.map(({ delivered }) => delivered.length)).toEqual(clients.map(() => count))
  }, patience)
  const given = clients.map((client) => ({ client, jobs: [...client.delivered] }))
  const all = given.flatMap(({ jobs }) => jobs)

  return {
    async ackOnce() {
      const answers = await Promise.all(given.map(({ client, jobs }) => client.ack(jobs)))
      return new Set(
        answers.flatMap(({ saved, results }) => [
          ...(saved > 0 ? ['saved'] : []),
          ...results.map(({ status }) => status),
        ]),
      )
    },
    async ackAll() {
      const answers = await Promise.all(given.map(({ client, jobs }) => ackUntilKnown(client, jobs)))
      const views = await Promise.all(
        all.map(async ({ id, token }) => ({ token, job: await skep.jobs.get(id) })),
      )
      const isDone = ({ token, job }: (typeof views)[number]): boolean =>
        job?.state === 'done' && job.result === token
      const deliveries = clients.reduce((sum, { delivered }) => sum + delivered.length, 0)
      return {
        lost: views.filter((view) => !isDone(view)).length + answers.reduce((sum, one) => sum + one, 0),
        doubled: views.filter(({ job }) => job?.starts !== 1).length + deliveries - all.length,
        done: views.filter(isDone).length,
      }
    },
  }
}

/** The number of jobs whose acknowledgement was refused. */
async function ackUntilKnown(client: Client, jobs: readonly Delivered[]): Promise<number> {
  let left = jobs
  let refused = 0
  while (left.length > 0) {
    const { results } = await client.ack(left)
    const unknown = new Set(results.filter(({ status }) => status === 'unknown').map(({ id }) => id))
    refused += results.length - unknown.size
    left = left.filter(({ id }) => unknown.has(id))
  }
  return refused
}

async function overHttp(url: string): Promise<Client> {
  const delivered: Delivered[] = []
  const stop = new AbortController()
  let receiver = ''
  const read = async (): Promise<void> => {
    const frames = receive(url, { queues: ['over-http'], credits: 1_000 }, stop.signal, AUTHORIZATION)
    for await (const { hello, jobs } of frames) {
      if (hello) receiver = hello.receiver
      delivered.push(...(jobs ?? []))
    }
  }
  const reading = read().catch((error: unknown) => {
    if (!stop.signal.aborted) throw error
  })
  onTestFinished(async () => {
    stop.abort()
    await reading
  })
  await vi.waitFor(() => expect(receiver).not.toBe(''), patience)
  return {
    queue: queue('over-http'),
    delivered,
    ack: (jobs) => {
      const acks = jobs.map(({ id, token }) => ({ id, token, done: token }))
      return post<WireAcked>(`${url}/receivers/${receiver}/ack`, { acks }, AUTHORIZATION)
    },
  }
}

async function overGrpc(address: string): Promise<Client> {
  const delivered: Delivered[] = []
  const { skep: client } = grpcClient(address)
  const metadata = new Metadata()
  metadata.set('authorization', AUTHORIZATION.authorization)
  const stream = client['Receive'](metadata)
  onTestFinished(() => void stream.cancel())
  let failure: Error | null = null
  let isOpen = false
  let saved = 0
  const results: WireAcked['results'][number][] = []
  stream.on('error', (error: Error) => {
    failure = error
  })
  stream.on('data', (batch: any) => {
    isOpen ||= batch.hello !== null
    delivered.push(...batch.jobs)
    saved += batch.saved
    results.push(...batch.results)
  })
  stream.write({ open: { queues: ['over-grpc'], credits: 1_000 } })
  await vi.waitFor(() => expect([isOpen, failure]).toEqual([true, null]), patience)
  return {
    queue: queue('over-grpc'),
    delivered,
    async ack(jobs) {
      const before = { saved, results: results.length }
      stream.write({ acks: jobs.map(({ id, token }) => ({ id, token, done: JSON.stringify(token) })) })
      await vi.waitFor(() => {
        if (failure !== null) throw failure
        expect(saved - before.saved + results.length - before.results).toBe(jobs.length)
      }, patience)
      return { saved: saved - before.saved, results: results.slice(before.results) }
    },
  }
}

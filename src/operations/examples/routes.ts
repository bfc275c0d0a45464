/** The same for what receivers send and get over HTTP. Of a stream one line is shown. */
import { IDS } from './samples.ts'

const token = '7Zq1m0c'
const job = {
  id: IDS.job,
  queue: 'mail.send',
  payload: { to: 'ada@example.com' },
  attempt: 1,
  token,
  headers: {},
  lane: null,
  enqueuedAtMs: 1_794_821_398_000,
  timeoutMs: null,
  results: [],
}
const done = { id: IDS.job, token, done: { sent: true } }
const acked = { saved: 1, results: [] }

export interface RouteExample {
  readonly request: unknown
  readonly response: unknown
  /** The fields of its path. */
  readonly params?: Readonly<Record<string, string>>
}

export const ROUTE_EXAMPLES: Readonly<Record<string, RouteExample>> = {
  '/receive': {
    request: { queues: ['mail.*'], name: 'python-1', credits: 20 },
    response: { jobs: [job] },
  },
  '/receivers/:id/ack': {
    params: { id: IDS.receiver },
    request: { acks: [done], credits: 0 },
    response: acked,
  },
  '/poll': {
    request: { queues: ['mail.*'], max: 10, waitMs: 20_000, leaseMs: 30_000 },
    response: { jobs: [job] },
  },
  '/settle': {
    request: { acks: [{ id: IDS.job, token, failed: { message: 'The mailbox is full.' } }] },
    response: acked,
  },
  '/extend': {
    request: { jobs: [{ id: IDS.job, token }], leaseMs: 30_000 },
    response: { results: [{ id: IDS.job, status: 'ok', cancelReason: null }] },
  },
}

import { Agent, type IncomingMessage, request } from 'node:http'
import type { Payload } from '../contest.ts'

interface Frame {
  readonly hello?: { readonly receiver: string }
  readonly jobs?: readonly { readonly id: string; readonly token: string; readonly payload: Payload }[]
}

/** Requests with acks that are under way at the same time. */
const MOST_ACKING = 2

/**
 * Takes jobs as a stream of lines and acks them by requests beside it, as a program in any language would. Returns what stops it
 * when all of its acks are answered.
 */
export async function receiveByHttp(
  url: string,
  credits: number,
  note: (job: Payload) => void,
): Promise<() => Promise<void>> {
  const agent = new Agent({ keepAlive: true })
  const post = (path: string, body: unknown): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const text = JSON.stringify(body)
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
      request(`${url}/api/v1${path}`, { method: 'POST', agent, headers }, resolve)
        .on('error', reject)
        .end(text)
    })

  const stream = await post('/receive', { queues: ['bench'], credits })
  if (stream.statusCode !== 200)
    throw new Error(`The server answered ${stream.statusCode}: ${await textOf(stream)}`)
  let receiver = ''
  let waiting: { readonly id: string; readonly token: string }[] = []
  let acking = 0
  let quiet: () => void = () => {}

  const flush = async (): Promise<void> => {
    if (waiting.length === 0 || acking >= MOST_ACKING) return
    acking++
    const acks = waiting
    waiting = []
    const answer = await post(`/receivers/${receiver}/ack`, { acks })
    const text = await textOf(answer)
    if (answer.statusCode !== 200) throw new Error(`The server answered ${answer.statusCode}: ${text}`)
    acking--
    if (waiting.length === 0 && acking === 0) quiet()
    await flush()
  }

  let rest = ''
  stream.setEncoding('utf8')
  stream.on('data', (part: string) => {
    const lines = (rest + part).split('\n')
    rest = lines.pop() as string
    for (const line of lines) {
      const { hello, jobs = [] } = JSON.parse(line) as Frame
      if (hello) receiver = hello.receiver
      for (const { id, token, payload } of jobs) {
        note(payload)
        waiting.push({ id, token })
      }
    }
    void flush()
  })
  stream.on('error', () => {})

  return async () => {
    await new Promise<void>((resolve) => {
      quiet = resolve
      if (waiting.length === 0 && acking === 0) resolve()
    })
    stream.destroy()
    agent.destroy()
  }
}

async function textOf(message: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of message) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}

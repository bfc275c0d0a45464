import { type ClientHttp2Session, connect } from 'node:http2'
import type { createClient } from '@connectrpc/connect'
import type { createGrpcTransport } from '@connectrpc/connect-node'
import type { Payload } from '../contest.ts'
import { importBuilt, requireFromRoot } from '../root.ts'

interface Message {
  readonly acks: readonly { readonly id: string; readonly token: string }[]
  readonly open?: { readonly queues: readonly string[]; readonly credits: number }
}

/** Bytes that may be on their way to here. HTTP/2 begins with 64 KiB, which are 300 jobs; clients in C, Go or Java widen it by themselves. */
const WINDOW_BYTES = 8_388_608

type SessionManager = NonNullable<Parameters<typeof createGrpcTransport>[0]['sessionManager']>

/** One connection with a wide window. */
function wideSession(url: string): {
  readonly session: ClientHttp2Session
  readonly manager: SessionManager
} {
  const session = connect(url, { settings: { initialWindowSize: WINDOW_BYTES } })
  session.on('connect', () => session.setLocalWindowSize(WINDOW_BYTES))
  const manager: SessionManager = {
    authority: url,
    request: async (method, path, headers, options) =>
      session.request({ ...headers, ':method': method, ':path': path }, options),
    notifyResponseByteRead: () => {},
  }
  return { session, manager }
}

/** Takes jobs and acks them on one stream of gRPC. Returns what stops it when all of its acks are answered. */
export async function receiveByGrpc(
  url: string,
  credits: number,
  note: (job: Payload) => void,
): Promise<() => Promise<void>> {
  const { createClient: clientOf } = requireFromRoot('@connectrpc/connect') as {
    createClient: typeof createClient
  }
  const { createGrpcTransport: transportOf } = requireFromRoot('@connectrpc/connect-node') as {
    createGrpcTransport: typeof createGrpcTransport
  }
  const { Skep } = (await importBuilt('server/grpc/gen/skep/v1/skep_pb')) as { Skep: never }
  const { session, manager } = wideSession(url)
  const client = clientOf(Skep, transportOf({ baseUrl: url, sessionManager: manager })) as unknown as {
    receive(
      messages: AsyncIterable<Message>,
      options: { readonly signal: AbortSignal },
    ): AsyncIterable<{
      readonly jobs: readonly { readonly id: string; readonly token: string; readonly payload: string }[]
      readonly results: readonly unknown[]
      readonly saved: number
    }>
  }
  const outgoing: Message[] = [{ open: { queues: ['bench'], credits }, acks: [] }]
  let wake: () => void = () => {}
  let unanswered = 0
  let quiet: () => void = () => {}
  async function* messages(): AsyncGenerator<Message, void, void> {
    for (;;) {
      const message = outgoing.shift()
      if (message) yield message
      else
        await new Promise<void>((resolve) => {
          wake = resolve
        })
    }
  }
  const stop = new AbortController()
  void (async () => {
    for await (const { jobs, results, saved } of client.receive(messages(), { signal: stop.signal })) {
      unanswered -= results.length + saved
      if (jobs.length > 0) {
        for (const { payload } of jobs) note(JSON.parse(payload) as Payload)
        unanswered += jobs.length
        outgoing.push({ acks: jobs.map(({ id, token }) => ({ id, token })) })
        wake()
      }
      if (unanswered === 0) quiet()
    }
  })().catch((error: unknown) => {
    if (!stop.signal.aborted) process.stderr.write(`${String(error)}\n`)
  })

  return async () => {
    await new Promise<void>((resolve) => {
      quiet = resolve
      if (unanswered === 0) resolve()
    })
    stop.abort()
    session.close()
  }
}

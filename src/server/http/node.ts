/** Between node's own requests, of HTTP/1.1 and HTTP/2, and those of fetch. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2'
import type { Readable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { Runtime } from '../../index.ts'
import type { Remote } from '../../operations/authorize/guard.ts'
import { DISCARD_MS } from './unread.ts'

export type Incoming = IncomingMessage | Http2ServerRequest
export type Outgoing = ServerResponse | Http2ServerResponse
export type NodeHandler = (incoming: Incoming, outgoing: Outgoing) => void

/** A node request as fetch has it. `url` is the path that counts, if a framework has changed the request's own. */
export function toRequest(
  incoming: Incoming,
  signal: AbortSignal,
  url: string = incoming.url ?? '/',
): Request {
  const method = incoming.method ?? 'GET'
  const hasBody = method !== 'GET' && method !== 'HEAD'
  return new Request(addressOf(incoming, url), {
    method,
    headers: headersOf(incoming),
    signal,
    ...(hasBody ? { body: bodyOf(incoming), duplex: 'half' } : {}),
  })
}

/** The same without its body, which stays where it is. */
export function headOf(incoming: Incoming): Request {
  const { method = 'GET', url = '/' } = incoming
  return new Request(addressOf(incoming, url), { method, headers: headersOf(incoming) })
}

function headersOf(incoming: Incoming): Headers {
  const headers = new Headers()
  for (let i = 0; i < incoming.rawHeaders.length; i += 2) {
    const name = incoming.rawHeaders[i] as string
    if (!name.startsWith(':')) headers.append(name, incoming.rawHeaders[i + 1] as string)
  }
  if (!headers.has('host')) headers.set('host', hostOf(incoming))
  return headers
}

export function remoteOf({ socket }: Pick<Incoming, 'socket'>): Remote {
  return { address: socket.remoteAddress ?? null, isEncrypted: (socket as TLSSocket).encrypted === true }
}

/** What the request says it was sent to. */
function hostOf({ headers }: Incoming): string {
  return (headers[':authority'] as string | undefined) ?? headers.host ?? 'localhost'
}

/**
 * The address of a request. The guard judges the host itself; here it only has to make an address. The path is put behind it as it
 * is, because resolved against it `//elsewhere/x` would be another host.
 */
function addressOf(incoming: Incoming, target: string): string {
  const base = `${remoteOf(incoming).isEncrypted ? 'https' : 'http'}://${hostOf(incoming)}`
  // A proxy is asked with the whole address; whoever asks us so means the path.
  const path = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
  const isHost = URL.canParse(base) && new URL(base).href === `${new URL(base).origin}/`
  return `${isHost ? base : 'http://invalid.host'}${path.startsWith('/') ? '' : '/'}${path}`
}

/** The body: what is left of it, or what a framework has already read. */
function bodyOf(
  incoming: Incoming & { readonly body?: unknown },
): ReadableStream<Uint8Array> | Uint8Array | string {
  const { body } = incoming
  if (incoming.readableEnded && body !== undefined) {
    if (typeof body === 'string' || body instanceof Uint8Array) return body
    return JSON.stringify(body)
  }
  return streamOf(incoming)
}

/** Reads only when asked to, and leaves the connection open when its reader stops early: the response goes over it. */
function streamOf(incoming: Incoming): ReadableStream<Uint8Array> {
  const parts = (incoming as Readable).iterator({ destroyOnReturn: false })
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = (await parts.next()) as IteratorResult<Uint8Array>
        if (done) controller.close()
        else controller.enqueue(value)
      },
      async cancel() {
        await parts.return?.()
        incoming.resume()
      },
    },
    { highWaterMark: 0 },
  )
}

/** Discards the rest of a request. Resolves when it has ended, or after a while. */
export function discard(incoming: Incoming, runtime: Runtime): Promise<void> {
  if (incoming.complete || incoming.destroyed) return Promise.resolve()
  return new Promise((resolve) => {
    const done = (): void => {
      cancel()
      incoming.off('end', done)
      incoming.off('close', done)
      resolve()
    }
    const cancel = runtime.timer(DISCARD_MS, done, { background: true })
    incoming.on('end', done)
    incoming.on('close', done)
    // A reader that stopped early may have left its listeners, and with them the stream stands still.
    incoming.removeAllListeners('readable')
    incoming.removeAllListeners('data')
    incoming.resume()
  })
}

/** Discards the rest of a request once its response is sent, and closes the connection if the rest does not come. */
export function discardAfter(incoming: Incoming, outgoing: Outgoing, runtime: Runtime): void {
  // A stream of HTTP/2 stands in no other's way.
  if ('stream' in incoming) return
  outgoing.once('finish', () => {
    if (incoming.complete) return
    void discard(incoming, runtime).then(() => {
      if (!incoming.complete) incoming.socket.destroy()
    })
  })
}

/** Sends an answer. Resolves when it is sent, or when nobody is there any more. */
export async function sendResponse(
  response: Response,
  outgoing: Outgoing,
  { isHead, isLast = false }: { readonly isHead: boolean; readonly isLast?: boolean },
): Promise<void> {
  const headers: Record<string, string | string[]> = Object.fromEntries(response.headers)
  const cookies = response.headers.getSetCookie()
  if (cookies.length > 0) headers['set-cookie'] = cookies
  // A stream ends when its server closes, or nearly: a connection that stayed open then would keep the server from closing.
  const isStream = /event-stream|ndjson/.test(response.headers.get('content-type') ?? '')
  const isHttp2 = 'stream' in outgoing
  if ((isLast || isStream) && !isHttp2) headers['connection'] = 'close'
  // Over HTTP/2 it is the stream that closes.
  const closesStream = isHttp2 && headers['connection'] === 'close'
  if (closesStream) delete headers['connection']
  const end = (): void => {
    outgoing.end()
    if (!closesStream) return
    const { stream } = outgoing as Http2ServerResponse
    if (!stream.readableEnded) stream.close()
  }
  outgoing.writeHead(response.status, headers)
  if (response.body === null || isHead) {
    await response.body?.cancel()
    end()
    return
  }
  const reader = response.body.getReader()
  const gone = (): void => void reader.cancel().catch(() => {})
  outgoing.on('close', gone)
  try {
    // So that a stream of events shows that it is open before the first of them.
    if ('flushHeaders' in outgoing) outgoing.flushHeaders()
    for (;;) {
      const { done, value } = await reader.read()
      if (done || outgoing.destroyed) break
      if (!write(outgoing, value)) await drained(outgoing)
    }
    end()
  } catch {
    outgoing.destroy()
  } finally {
    outgoing.off('close', gone)
  }
}

/** Both have it, with types that do not fit each other. */
function write(outgoing: Outgoing, bytes: Uint8Array): boolean {
  return (outgoing as ServerResponse).write(bytes)
}

function drained(outgoing: Outgoing): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      outgoing.off('drain', done)
      outgoing.off('close', done)
      resolve()
    }
    outgoing.on('drain', done)
    outgoing.on('close', done)
  })
}

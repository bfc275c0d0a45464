/** Between node's own requests and those of fetch. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import type { Remote } from '../access/guard-contract.ts'

/** A node request as fetch has it. `url` is the path that counts, if a framework has changed the request's own. */
export function toRequest(
  incoming: IncomingMessage,
  signal: AbortSignal,
  url: string = incoming.url ?? '/',
): Request {
  const headers = new Headers()
  for (let i = 0; i < incoming.rawHeaders.length; i += 2) {
    const name = incoming.rawHeaders[i] as string
    if (!name.startsWith(':')) headers.append(name, incoming.rawHeaders[i + 1] as string)
  }
  const method = incoming.method ?? 'GET'
  const hasBody = method !== 'GET' && method !== 'HEAD'
  return new Request(addressOf(incoming, url), {
    method,
    headers,
    signal,
    ...(hasBody ? { body: bodyOf(incoming), duplex: 'half' } : {}),
  })
}

export function remoteOf({ socket }: IncomingMessage): Remote {
  return { address: socket.remoteAddress ?? null, isEncrypted: (socket as TLSSocket).encrypted === true }
}

/**
 * The address of a request. The guard judges the host itself; here it only has to make an address. The path is put behind it as it
 * is, because resolved against it `//elsewhere/x` would be another host.
 */
function addressOf(incoming: IncomingMessage, target: string): string {
  const base = `${remoteOf(incoming).isEncrypted ? 'https' : 'http'}://${incoming.headers.host ?? 'localhost'}`
  // A proxy is asked with the whole address; whoever asks us so means the path.
  const path = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
  const isHost = URL.canParse(base) && new URL(base).href === `${new URL(base).origin}/`
  return `${isHost ? base : 'http://invalid.host'}${path.startsWith('/') ? '' : '/'}${path}`
}

/** The body: what is left of it, or what a framework has already parsed. */
function bodyOf(
  incoming: IncomingMessage & { readonly body?: unknown },
): ReadableStream<Uint8Array> | string {
  const { body } = incoming
  if (incoming.readableEnded && body !== undefined)
    return typeof body === 'string' ? body : JSON.stringify(body)
  return Readable.toWeb(incoming) as ReadableStream<Uint8Array>
}

/** Sends an answer. Resolves when it is sent, or when nobody is there any more. */
export async function sendResponse(
  response: Response,
  outgoing: ServerResponse,
  isHead: boolean,
): Promise<void> {
  const headers: Record<string, string | string[]> = Object.fromEntries(response.headers)
  const cookies = response.headers.getSetCookie()
  if (cookies.length > 0) headers['set-cookie'] = cookies
  outgoing.writeHead(response.status, headers)
  if (response.body === null || isHead) {
    await response.body?.cancel()
    outgoing.end()
    return
  }
  const reader = response.body.getReader()
  const gone = (): void => void reader.cancel().catch(() => {})
  outgoing.on('close', gone)
  try {
    // So that a stream of events shows that it is open before the first of them.
    outgoing.flushHeaders()
    for (;;) {
      const { done, value } = await reader.read()
      if (done || outgoing.destroyed) break
      if (!outgoing.write(value)) await drained(outgoing)
    }
    outgoing.end()
  } catch {
    outgoing.destroy()
  } finally {
    outgoing.off('close', gone)
  }
}

function drained(outgoing: ServerResponse): Promise<void> {
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

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SkepError, systemRuntime } from '../../../src/index.ts'
import type { Caller } from '../../../src/operations/operation.ts'
import { type ReceiverRoute, receiverRoutes } from '../../../src/server/receivers/http.ts'
import type { ReceiverHub } from '../../../src/server/receivers/receiver-registry.ts'

/** Serves the routes of receivers on a port of this machine. Who asks is said by the header `x-caller`. */
export async function serveReceivers(
  hub: ReceiverHub,
  callerOf: (name: string) => Caller,
  port = 0,
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const routes = receiverRoutes(hub, systemRuntime())
  const server = createServer((request, response) => {
    void answer(routes, callerOf, request, response)
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const { port: bound } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${bound}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function answer(
  routes: readonly ReceiverRoute[],
  callerOf: (name: string) => Caller,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const gone = new AbortController()
  response.on('close', () => {
    if (!response.writableFinished) gone.abort()
  })
  try {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const asked = new Request(`http://server${request.url}`, {
      method: 'POST',
      body: Buffer.concat(parts),
      headers: {
        accept: request.headers.accept ?? '*/*',
        'content-type': request.headers['content-type'] ?? '',
      },
      signal: gone.signal,
    })
    const found = match(routes, request.url ?? '')
    if (found === null) throw new SkepError('NOT_FOUND', 'There is nothing at this address.')
    const caller = callerOf(String(request.headers['x-caller'] ?? 'worker'))
    const answered = await found.route.handle(asked, caller, found.params)
    response.writeHead(answered.status, Object.fromEntries(answered.headers))
    response.flushHeaders()
    const reader = answered.body?.getReader()
    if (!reader) return void response.end()
    response.on('close', () => void reader.cancel().catch(() => {}))
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      if (!response.write(value)) await new Promise<void>((resolve) => response.once('drain', resolve))
    }
    response.end()
  } catch (error) {
    if (response.headersSent) return void response.destroy()
    const code = error instanceof SkepError ? error.code : 'INTERNAL'
    response.writeHead(code === 'FORBIDDEN' ? 403 : code === 'TOO_MANY_REQUESTS' ? 429 : 400)
    response.end(JSON.stringify({ error: { code, message: String(error) } }))
  }
}

function match(
  routes: readonly ReceiverRoute[],
  url: string,
): { readonly route: ReceiverRoute; readonly params: Record<string, string> } | null {
  const words = url.split('/')
  for (const route of routes) {
    const pattern = route.path.split('/')
    if (pattern.length !== words.length) continue
    if (!pattern.every((word, index) => word.startsWith(':') || word === words[index])) continue
    const params: Record<string, string> = {}
    pattern.forEach((word, index) => {
      if (word.startsWith(':')) params[word.slice(1)] = words[index] as string
    })
    return { route, params }
  }
  return null
}

/** Every way in which a server can be reached over HTTP/1.1, each with a page `/own` of the program that it is mounted in. */
import {
  createServer as createHttp,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { onTestFinished } from 'vitest'
import { createSkep, type Skep, silentLogger } from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory.ts'
import {
  createServer,
  type ServerOptions,
  type SkepHandler,
  skepHandler,
  toFastify,
  toHono,
  toKoa,
  toNext,
  toNode,
} from '../../../src/server.ts'

export interface Mounted {
  readonly url: string
  /** In front of the server's own paths. */
  readonly mount: string
  /** A path that answers 200 to a GET without a token. */
  readonly own: string
}

const MOUNT = '/admin/jobs'
const OWN = '/own'

export const MOUNTS: Readonly<Record<string, (options: ServerOptions) => Promise<Mounted>>> = {
  'a server of its own': async (options) => {
    const skep = newSkep()
    const server = createServer(skep, { logger: silentLogger, dashboard: false, ...options })
    onTestFinished(() => server.close())
    const { url } = await server.listen({ port: 0 })
    return { url, mount: '', own: '/healthz' }
  },
  'node:http': (options) => {
    const node = toNode(handler(options))
    return listening((request, response) => {
      if (request.url === OWN) return void response.end('mine')
      node(Object.assign(request, { baseUrl: MOUNT, originalUrl: request.url }), response)
    })
  },
  Express: (options) => {
    const app = express()
    app.use(MOUNT, toNode(handler(options)))
    app.get(OWN, (_request, response) => void response.send('mine'))
    return listening(app as unknown as RequestListener)
  },
  Fastify: async (options) => {
    const app = fastify({ forceCloseConnections: true })
    onTestFinished(async () => {
      await app.close()
    })
    await app.register(toFastify(handler(options)), { prefix: MOUNT })
    app.get(OWN, async () => 'mine')
    return { url: await app.listen({ port: 0, host: '127.0.0.1' }), mount: MOUNT, own: OWN }
  },
  Koa: (options) => {
    const app = new Koa()
    app.use(toKoa(handler(options), MOUNT))
    app.use((context) => {
      context.body = 'mine'
    })
    const answer = app.callback()
    return listening((request, response) => void answer(request, response))
  },
  Hono: (options) => {
    const app = new Hono()
    app.all(`${MOUNT}/*`, toHono(handler(options)))
    app.get(OWN, (context) => context.text('mine'))
    const answer = getRequestListener(app.fetch)
    return listening((request, response) => void answer(request, response))
  },
  Next: (options) => {
    const routes = toNext(handler(options))
    return listening(
      fromFetch(async (request) => {
        const { pathname } = new URL(request.url)
        if (pathname === OWN) return new Response('mine')
        const path = pathname.slice(MOUNT.length).split('/').filter(Boolean)
        const route = routes[request.method as 'GET'] as (typeof routes)['GET'] | undefined
        return route?.(request, { params: Promise.resolve({ path }) }) ?? new Response(null, { status: 405 })
      }),
    )
  },
}

function newSkep(): Skep {
  const skep = createSkep({ store: memoryStore(), logger: silentLogger })
  onTestFinished(() => skep.close())
  return skep
}

function handler(options: ServerOptions): SkepHandler {
  const made = skepHandler(newSkep(), { logger: silentLogger, dashboard: false, ...options })
  onTestFinished(() => made.close())
  return made
}

async function listening(listener: RequestListener): Promise<Mounted> {
  const server = createHttp(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve()).closeAllConnections()))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, mount: MOUNT, own: OWN }
}

/** What Next does for Node, in its plainest form: no care is taken of bodies that nobody reads. */
function fromFetch(answer: (request: Request) => Promise<Response>): RequestListener {
  const respond = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const { method = 'GET', url = '/' } = incoming
    const hasBody = method !== 'GET' && method !== 'HEAD'
    const request = new Request(`http://127.0.0.1${url}`, {
      method,
      headers: Object.entries(incoming.headers).map(([name, value]): [string, string] => [
        name,
        String(value),
      ]),
      ...(hasBody ? { body: Readable.toWeb(incoming) as ReadableStream<Uint8Array>, duplex: 'half' } : {}),
    })
    const response = await answer(request)
    outgoing.writeHead(response.status, Object.fromEntries(response.headers))
    for await (const bytes of response.body ?? []) outgoing.write(bytes)
    outgoing.end()
  }
  return (incoming, outgoing) => void respond(incoming, outgoing).catch(() => outgoing.destroy())
}

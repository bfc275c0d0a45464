import type { IncomingMessage, ServerResponse } from 'node:http'
import type { SkepHandler } from '../handler.ts'
import { answerNode } from './node.ts'

/** The part of Fastify that is used, so that it need not be installed. */
interface Fastify {
  readonly prefix: string
  removeAllContentTypeParsers(): unknown
  addContentTypeParser(
    type: string,
    parser: (request: never, payload: never, done: (error: null, body?: unknown) => void) => void,
  ): unknown
  addHook(name: 'preClose', hook: () => Promise<void>): unknown
  all(path: string, handler: (request: FastifyRequest, reply: FastifyReply) => unknown): unknown
}

interface FastifyRequest {
  readonly raw: IncomingMessage
  readonly originalUrl?: string
}

interface FastifyReply {
  readonly raw: ServerResponse
  hijack(): unknown
}

/**
 * A plugin for Fastify: `app.register(toFastify(handler), { prefix: '/admin/jobs' })`. Its prefix is where it is mounted. It is closed
 * with the app.
 */
export function toFastify(
  handler: SkepHandler,
): (app: object, options: unknown, done: (error?: Error) => void) => void {
  return (instance, _options, done) => {
    const app = instance as Fastify
    // Bodies are read by us alone, within our limits.
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null))
    const answer = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
      reply.hijack()
      const url = request.originalUrl ?? request.raw.url ?? '/'
      await answerNode(handler, request.raw, reply.raw, { url, mount: app.prefix })
    }
    // With a prefix, Fastify itself makes both `/prefix` and `/prefix/` of this.
    app.all('/', answer)
    app.all('/*', answer)
    // Fastify waits for its connections, and a stream of events would never end by itself.
    app.addHook('preClose', () => handler.close())
    done()
  }
}

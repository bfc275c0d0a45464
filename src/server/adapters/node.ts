import type { IncomingMessage, ServerResponse } from 'node:http'
import type { SkepHandler } from '../handler.ts'
import { remoteOf, sendResponse, toRequest } from '../http/node.ts'

/** A request of node, with what Express adds to it. */
type NodeRequest = IncomingMessage & {
  readonly baseUrl?: string | undefined
  readonly originalUrl?: string | undefined
}

/**
 * For `node:http` and Express: `app.use('/admin/jobs', toNode(handler))`. Express tells where that is. A body that somebody has
 * parsed already is taken as it was parsed.
 */
export function toNode(
  handler: SkepHandler,
): (request: NodeRequest, response: ServerResponse, next?: (error?: unknown) => void) => void {
  return (request, response, next) => {
    const fail = (error: unknown): void => (next ? next(error) : void response.destroy())
    const url = request.originalUrl ?? request.url ?? '/'
    answerNode(
      handler,
      request,
      response,
      request.baseUrl === undefined ? { url } : { url, mount: request.baseUrl },
    ).catch(fail)
  }
}

/** Answers a node request. Resolves when the answer is sent. */
export async function answerNode(
  handler: SkepHandler,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  { url, mount }: { readonly url: string; readonly mount?: string },
): Promise<void> {
  const gone = new AbortController()
  outgoing.on('close', () => gone.abort())
  const how = { ...remoteOf(incoming), ...(mount === undefined ? {} : { mount }) }
  const response = await handler(toRequest(incoming, gone.signal, url), how)
  await sendResponse(response, outgoing, { isHead: incoming.method === 'HEAD' })
}

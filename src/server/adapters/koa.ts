import type { IncomingMessage, ServerResponse } from 'node:http'
import { mountOf, type SkepHandler } from '../handler.ts'
import { answerNode } from './node.ts'

/** The part of Koa that is used, so that it need not be installed. */
interface KoaContext {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly path: string
  /** As it was before something like koa-mount has cut it. */
  readonly originalUrl: string
  respond?: boolean
}

/**
 * For Koa: `app.use(toKoa(handler, '/admin/jobs'))`, or mounted by koa-mount without a path. What is not below it goes on to the
 * next.
 */
export function toKoa(
  handler: SkepHandler,
  path = '',
): (context: KoaContext, next: () => Promise<unknown>) => Promise<void> {
  return async (context, next) => {
    const [whole = '/'] = context.originalUrl.split('?')
    const cut =
      path === '' && whole.endsWith(context.path) ? whole.slice(0, whole.length - context.path.length) : path
    const mount = mountOf(cut)
    if (whole !== mount && !whole.startsWith(`${mount}/`)) {
      await next()
      return
    }
    // From here on the answer is ours, not Koa's.
    context.respond = false
    await answerNode(handler, context.req, context.res, { url: context.originalUrl, mount })
  }
}

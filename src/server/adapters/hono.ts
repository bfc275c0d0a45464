import type { SkepHandler } from '../handler.ts'

/** The part of Hono that is used, so that it need not be installed. */
interface HonoContext {
  readonly req: { readonly raw: Request; readonly path: string; readonly routePath: string }
  /** What the adapter adds: of node, the request as node has it. */
  readonly env?: unknown
}

/** For Hono: `app.all('/admin/jobs/*', toHono(handler))`. The part of the pattern before the star is where it is mounted. */
export function toHono(handler: SkepHandler): (context: HonoContext) => Promise<Response> {
  return ({ req, env }) => {
    const mount = mountIn(req.routePath, req.path)
    return handler(req.raw, { mount, address: addressIn(env) })
  }
}

/** As many parts of the path as the pattern has before its star. */
function mountIn(pattern: string, path: string): string {
  const [fixed = ''] = pattern.split('*')
  const parts = fixed.split('/').filter((part) => part !== '').length
  return path
    .split('/')
    .slice(0, parts + 1)
    .join('/')
}

/** Where a request comes from, if the adapter for node says it. */
function addressIn(env: unknown): string | null {
  const { incoming } = (env ?? {}) as { incoming?: { socket?: { remoteAddress?: string } } }
  return incoming?.socket?.remoteAddress ?? null
}

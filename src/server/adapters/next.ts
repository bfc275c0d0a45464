import type { SkepHandler } from '../handler.ts'

/** What Next gives to a route beside the request. Its catch-all is a promise since Next 15. */
interface NextContext {
  readonly params?: Params | Promise<Params>
}

type Params = Readonly<Record<string, string | readonly string[] | undefined>>

type NextRoute = (request: Request, context?: NextContext) => Promise<Response>

/**
 * For Next, in `app/admin/jobs/[[...path]]/route.ts`: `export const { GET, POST, PUT, DELETE } = toNext(handler)`. The name of the
 * catch-all does not matter: what it caught is taken away from the path, and the rest is where it is mounted.
 */
export function toNext(
  handler: SkepHandler,
): Readonly<Record<'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE', NextRoute>> {
  const route: NextRoute = async (request, context = {}) => {
    const caught = caughtIn((await context.params) ?? {})
    const parts = new URL(request.url).pathname.split('/').filter((part) => part !== '')
    return handler(request, { mount: parts.slice(0, parts.length - caught.length).join('/') })
  }
  return { GET: route, HEAD: route, POST: route, PUT: route, DELETE: route }
}

function caughtIn(params: Params): readonly string[] {
  return Object.values(params).find((value): value is readonly string[] => Array.isArray(value)) ?? []
}

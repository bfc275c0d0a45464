/**
 * What a browser tells of the page that asks, so that another site's page can make nobody's browser do something here (CSRF). Browsers
 * set these headers themselves and pages cannot; programs send none of them, and need none: nobody can make a program of yours ask.
 */
import { SkepError } from '../../index.ts'
import { hostOf } from './address.ts'

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])
/** Types that a page of another site cannot send without being asked first (a preflight, which is never granted here). */
const TYPES = /^application\/(?:json|proto|grpc(?:[-+].*)?|[\w.-]+\+(?:json|proto))$/

/**
 * Throws `FORBIDDEN` for what another site's page asks, and for bodies of a type that it could send, unless it is our own form.
 */
export function refuseForeign(request: Request, isForm = false): void {
  const { headers, method } = request
  const isSafe = SAFE_METHODS.has(method)
  const site = headers.get('sec-fetch-site')
  if (site !== null) {
    // To follow a link from elsewhere is fine: it shows a page and does nothing.
    const isVisit = isSafe && headers.get('sec-fetch-mode') === 'navigate'
    if (site !== 'same-origin' && site !== 'none' && !isVisit)
      throw foreign(`a page of another site (${site})`)
  } else if (!isSafe) {
    const origin = headers.get('origin')
    if (origin !== null && !isSameOrigin(origin, headers.get('host') ?? new URL(request.url).host)) {
      throw foreign('a page of another origin')
    }
  }
  if (!isSafe && !isForm) refuseType(request)
}

function isSameOrigin(origin: string, host: string): boolean {
  if (!URL.canParse(origin) || hostOf(host) === null) return false
  const from = new URL(origin)
  // Read with the scheme of the page, so that a port which is the usual one of that counts as none on both sides.
  return from.host !== '' && new URL(`${from.protocol}//${host}`).host === from.host
}

function refuseType({ headers, body }: Request): void {
  const type = headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? ''
  if (TYPES.test(type)) return
  const length = headers.get('content-length')
  // Over HTTP/2 a body need not announce itself; one without a type is then refused by whoever reads it.
  const hasBody = body !== null && (headers.has('transfer-encoding') || (length !== null && length !== '0'))
  if (type === '' && !hasBody) return
  throw new SkepError(
    'REQUEST_INVALID',
    'A body must be JSON: send it with "content-type: application/json".',
    {
      facts: { status: 415 },
    },
  )
}

function foreign(what: string): SkepError {
  return new SkepError(
    'FORBIDDEN',
    `The request comes from ${what}, which is not accepted. Ask from a page of this server.`,
  )
}

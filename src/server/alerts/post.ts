/**
 * Posts one message to a configured URL, with protection against SSRF: the host is resolved once, all its
 * addresses are checked, and the connection uses these addresses, which prevents DNS rebinding. Redirects are
 * not followed, proxy settings are ignored, and only the status of the response is used.
 */
import { lookup as systemLookup } from 'node:dns/promises'
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type RequestOptions,
} from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { isIP } from 'node:net'
import { SkepError } from '../../index.ts'
import { bare } from '../access/request-checks.ts'
import { type Allowed, isPublic } from './reach.ts'

export interface Address {
  readonly address: string
  readonly family: number
}

/** Resolves all addresses of a host. */
export type Lookup = (host: string) => Promise<readonly Address[]>

export interface Post {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly allowed: Allowed
  /** CA certificates in PEM format. @default the ones Node trusts */
  readonly ca?: string
  /** @default the system resolver */
  readonly lookup?: Lookup
  /** Aborted on timeout. */
  readonly signal: AbortSignal
}

/** How much of a response is read before the connection is closed. */
const MAX_RESPONSE_BYTES = 65_536

const bySystem: Lookup = (host) => systemLookup(host, { all: true, verbatim: true })

/** Throws `OPTION_INVALID` for a URL that is never allowed. Does not resolve the host. */
export function assertPostable(url: URL, allowed: Allowed): void {
  const host = bare(url.hostname)
  const isNamed = allowed.hasName(host) || allowed.hasAddress(host)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isNamed)) {
    throw new SkepError(
      'OPTION_INVALID',
      `Alerts cannot be posted to ${url.origin}: https is required. To use http in your own network, add ${host} to allow.`,
    )
  }
  if (url.username !== '' || url.password !== '') {
    throw new SkepError('OPTION_INVALID', 'The URL for alerts must not contain a user or password.')
  }
  if (isIP(host) !== 0) assertReach(host, [host], allowed)
}

/** Posts the message and returns the status. Rejects if there is no response. */
export async function post({
  url,
  headers,
  body,
  allowed,
  ca,
  lookup = bySystem,
  signal,
}: Post): Promise<number> {
  assertPostable(url, allowed)
  const host = bare(url.hostname)
  const version = isIP(host)
  const found = version === 0 ? await within(signal, lookup(host)) : [{ address: host, family: version }]
  if (found.length === 0) throw new Error(`${host} has no address.`)
  const addresses = found.map(({ address }) => address)
  assertReach(host, addresses, allowed)
  signal.throwIfAborted()
  return send(url, body, {
    method: 'POST',
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
    signal,
    // Own agents: the global ones may be configured with a proxy.
    agent:
      url.protocol === 'https:'
        ? new HttpsAgent({ keepAlive: false, ...(ca === undefined ? {} : { ca }) })
        : new HttpAgent({ keepAlive: false }),
    // The host was resolved above. A second lookup could return other addresses.
    lookup(_host, options, done) {
      const [first] = found as [Address]
      if (options.all) done(null, [...found])
      else done(null, first.address, first.family)
    },
  })
}

/** A DNS lookup cannot be cancelled, so its result is ignored after the abort. */
function within<T>(signal: AbortSignal, looking: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(signal.reason as Error)
    if (signal.aborted) late()
    signal.addEventListener('abort', late, { once: true })
    looking.then(resolve, reject).finally(() => signal.removeEventListener('abort', late))
  })
}

/** All addresses must be allowed: a private one would be tried when another does not respond. */
function assertReach(host: string, addresses: readonly string[], allowed: Allowed): void {
  if (allowed.hasName(host)) return
  const wrong = addresses.find((address) => !isPublic(address) && !allowed.hasAddress(address))
  if (wrong === undefined) return
  const what = wrong === host ? 'it is' : `it resolves to ${wrong}, which is`
  throw new SkepError(
    'OPTION_INVALID',
    `Alerts cannot be posted to ${host}: ${what} not a public address. If this is intended, add it to allow.`,
    { facts: { host, address: wrong } },
  )
}

function send(url: URL, body: string, options: RequestOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    let hasResponse = false
    const make = url.protocol === 'https:' ? httpsRequest : httpRequest
    const request: ClientRequest = make(url, options, (response) => {
      hasResponse = true
      const status = response.statusCode ?? 0
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.byteLength
        if (bytes > MAX_RESPONSE_BYTES) response.destroy()
      })
      response.on('error', () => {})
      response.on('close', () => resolve(status))
    })
    request.on('error', reject)
    // Neither a response nor an error, such as after a protocol upgrade.
    request.on('close', () => {
      if (!hasResponse) reject(new Error('The connection was closed without a response.'))
    })
    request.end(body)
  })
}

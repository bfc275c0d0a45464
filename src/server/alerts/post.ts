/**
 * One message to an address that somebody wrote into the options of a server, so that it can reach nothing else than that: the
 * name is looked up once, every address that it has is checked, and the connection goes to those and not to what the name says a
 * moment later. No redirect is followed, no proxy of the environment is used, and of the answer no more than its status counts.
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

/** All addresses of a host. */
export type Lookup = (host: string) => Promise<readonly Address[]>

export interface Post {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly allowed: Allowed
  /** Certificates of an authority of your own, as PEM. @default those that node trusts */
  readonly ca?: string
  /** @default the system's */
  readonly lookup?: Lookup
  /** Aborted when it takes too long. */
  readonly signal: AbortSignal
}

/** Of an answer so much is read, that the connection ends in peace. */
const MOST_ANSWER_BYTES = 65_536

const bySystem: Lookup = (host) => systemLookup(host, { all: true, verbatim: true })

/** Throws `OPTION_INVALID` for what nothing may ever be posted to. What its name means is not looked up here. */
export function assertPostable(url: URL, allowed: Allowed): void {
  const host = bare(url.hostname)
  const isNamed = allowed.hasName(host) || allowed.hasAddress(host)
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isNamed)) {
    throw new SkepError(
      'OPTION_INVALID',
      `Alerts cannot go to ${url.origin}: only https is safe. For http inside of your own network, name ${host} in allow.`,
    )
  }
  if (url.username !== '' || url.password !== '') {
    throw new SkepError('OPTION_INVALID', 'The address for alerts must have no user and password in it.')
  }
  if (isIP(host) !== 0) assertReach(host, [host], allowed)
}

/** Posts, and answers with the status. Rejects if nothing was sent, or nothing answered. */
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
    // Agents of its own, made here: the global ones may have been told of a proxy.
    agent:
      url.protocol === 'https:'
        ? new HttpsAgent({ keepAlive: false, ...(ca === undefined ? {} : { ca }) })
        : new HttpAgent({ keepAlive: false }),
    // The name was looked up above. Asked again it could say something else.
    lookup(_host, options, done) {
      const [first] = found as [Address]
      if (options.all) done(null, [...found])
      else done(null, first.address, first.family)
    },
  })
}

/** What is looked up cannot be called off. So it is left alone when the time is over, whatever it finds. */
function within<T>(signal: AbortSignal, looking: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = (): void => reject(signal.reason as Error)
    if (signal.aborted) late()
    signal.addEventListener('abort', late, { once: true })
    looking.then(resolve, reject).finally(() => signal.removeEventListener('abort', late))
  })
}

/** Every address counts: one that is private would be tried as soon as another does not answer. */
function assertReach(host: string, addresses: readonly string[], allowed: Allowed): void {
  if (allowed.hasName(host)) return
  const wrong = addresses.find((address) => !isPublic(address) && !allowed.hasAddress(address))
  if (wrong === undefined) return
  const what = wrong === host ? `${host} is` : `${host} is ${wrong},`
  throw new SkepError(
    'OPTION_INVALID',
    `Alerts cannot go to ${host}: ${what} no address of the open internet. If it is meant, name it in allow.`,
    { facts: { host, address: wrong } },
  )
}

function send(url: URL, body: string, options: RequestOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    let isAnswered = false
    const make = url.protocol === 'https:' ? httpsRequest : httpRequest
    const request: ClientRequest = make(url, options, (response) => {
      isAnswered = true
      const status = response.statusCode ?? 0
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.byteLength
        if (bytes > MOST_ANSWER_BYTES) response.destroy()
      })
      response.on('error', () => {})
      response.on('close', () => resolve(status))
    })
    request.on('error', reject)
    // Neither an answer nor an error: it was told to speak another protocol.
    request.on('close', () => {
      if (!isAnswered) reject(new Error('The connection ended without an answer.'))
    })
    request.end(body)
  })
}

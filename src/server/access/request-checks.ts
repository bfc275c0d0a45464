import { isIP } from 'node:net'
import { SkepError, showValue } from '../../index.ts'
import type { Remote } from '../../operations/authorize/guard.ts'

/**
 * Which names the server answers to. A page may give its own name the address of your machine (DNS rebinding); its requests then look as
 * if they came from you, but the `Host` header still has that page's name.
 */

export interface HostRules {
  /** What the server listens on; null: it is mounted in another one, which has its own idea of names. */
  readonly listens: string | null
  /** Names that are accepted besides, in which `*.` at the beginning stands for any; `'*'`: all. */
  readonly hosts: readonly string[] | '*'
  /** The name of this machine. */
  readonly machine: string
}

/** Throws `FORBIDDEN` if a request asks for a host that is not this one. */
export function refuseHost(header: string | null, rules: HostRules): void {
  if (rules.hosts === '*') return
  const host = hostOf(header)
  if (host !== null && isOurs(host, rules.hosts, rules)) return
  throw new SkepError(
    'FORBIDDEN',
    `This server does not answer to the host ${showValue(header)}. If that is its name, add it to the option hosts.`,
  )
}

function isOurs(host: string, hosts: readonly string[], { listens, machine }: HostRules): boolean {
  if (isLoopbackHost(host) || hosts.some((name) => isNamed(host, bare(name)))) return true
  if (listens === null) return false
  if (host === bare(listens)) return true
  // Who listens everywhere is asked for by address, or by the machine's name. No page can have an address as its name.
  return isEveryHost(listens) && (isLiteral(host) || host === bare(machine))
}

function isNamed(host: string, name: string): boolean {
  return name.startsWith('*.') ? host.endsWith(name.slice(1)) && host.length > name.length - 1 : host === name
}

/**
 * What a browser tells of the page that asks, so that another site's page can make nobody's browser do something here (CSRF). Browsers
 * set these headers themselves and pages cannot; programs send none of them, and need none: nobody can make a program of yours ask.
 */

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

/** What addresses and names of hosts mean: which are this machine, and which one a `Host` header names. */

/** Whether an address of a socket is this machine's own. An unknown one is not. */
export function isLoopback(address: string | null): boolean {
  if (address === null) return false
  const plain = unmapped(address)
  return isIP(plain) === 4 ? plain.startsWith('127.') : isIP(plain) === 6 && isLoopback6(plain)
}

/** Whether a server that listens on this host can be reached from this machine alone. */
export function isLoopbackHost(host: string): boolean {
  const name = bare(host)
  return name === 'localhost' || name.endsWith('.localhost') || isLoopback(name)
}

/** Whether a server that listens on this host takes calls for every address of the machine. */
export function isEveryHost(host: string): boolean {
  const name = bare(host)
  return name === '' || name === '0.0.0.0' || /^[0:]+$/.test(name)
}

/**
 * The host that a `Host` header names, in lower case and without its port; null if the header is nothing of the kind. A literal
 * IPv6 address is without its brackets.
 */
export function hostOf(header: string | null): string | null {
  if (header === null || header.length > 300) return null
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i.exec(header)
  if (match === null) return null
  const [, six, name] = match
  if (six !== undefined) return isIP(six) === 6 ? bare(six) : null
  return bare(name as string)
}

/** Whether a host is written as an address. No name server can make a page's name into one. */
export function isLiteral(host: string): boolean {
  return isIP(host) !== 0
}

/** Lower case, no brackets, no dot at the end: one spelling for one host. */
export function bare(host: string): string {
  const name = host.toLowerCase().replace(/^\[|\]$/g, '')
  return unmapped(name.endsWith('.') ? name.slice(0, -1) : name)
}

/** An IPv4 address that came over an IPv6 socket, as the one that it is. */
function unmapped(address: string): string {
  return /^::ffff:(?=\d+\.)/i.test(address) ? address.slice('::ffff:'.length) : address
}

function isLoopback6(address: string): boolean {
  // All the ways to write ::1.
  return /^(?:0{0,4}:){2,7}0{0,3}1$/.test(address.split('%')[0] as string)
}

/** Where a request came from, with the word of as many proxies as are the user's own. */

/** The other end: of the socket, or as the outermost proxy that is trusted saw it. Whoever asks can write the rest of that header. */
export function clientOf(request: Request, remote: Remote, proxies: number): Remote {
  if (proxies === 0) return remote
  const forwarded = (request.headers.get('x-forwarded-for') ?? '').split(',').map((part) => bare(part.trim()))
  const address = forwarded.at(-proxies)
  const schemes = (request.headers.get('x-forwarded-proto') ?? '').split(',')
  const scheme = schemes.at(-Math.min(proxies, schemes.length))?.trim().toLowerCase()
  return {
    address: address !== undefined && isIP(address) !== 0 ? address : remote.address,
    isEncrypted: scheme === undefined || scheme === '' ? remote.isEncrypted : scheme === 'https',
  }
}

const FORWARDED = [
  'x-forwarded-for',
  'x-forwarded-host',
  'x-real-ip',
  'forwarded',
  'via',
  'cf-connecting-ip',
] as const

/** Whether somebody passed the request on. Then the end of the socket says nothing about who asks. */
export function isForwarded({ headers }: Request): boolean {
  return FORWARDED.some((name) => headers.has(name))
}

/** What is counted as one address: of IPv6 the network, because whoever has one address of it has all. */
export function networkOf(address: string | null): string {
  if (address === null) return 'unknown'
  if (isIP(address) !== 6) return address
  const [head = '', tail] = (address.split('%')[0] as string).toLowerCase().split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length)
  return [...before, ...Array<string>(zeros).fill('0'), ...after].slice(0, 4).join(':')
}

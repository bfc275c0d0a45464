/** Where a request came from, with the word of as many proxies as are the user's own. */
import { isIP } from 'node:net'
import { bare } from './address.ts'
import type { Remote } from './guard-contract.ts'

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

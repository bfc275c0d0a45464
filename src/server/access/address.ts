/** What addresses and names of hosts mean: which are this machine, and which one a `Host` header names. */
import { isIP } from 'node:net'

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

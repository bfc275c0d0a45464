/**
 * Which addresses alerts may be posted to. A configurable URL could reach services behind the firewall, or
 * the metadata service of a cloud (SSRF). Only public addresses are allowed, unless the operator lists
 * others.
 */
import { BlockList, isIP } from 'node:net'
import { SkepError } from '../../index.ts'
import { bare } from '../access/request-checks.ts'

/** Not public: this host, private, link-local, carrier-grade NAT, documentation, multicast, reserved. */
const NOT_PUBLIC_4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // In a public range, but it is the metadata service of a cloud.
  '168.63.129.16/32',
]

/**
 * The only allocated range of public IPv6. IPv4-mapped addresses, such as ::ffff:10.0.0.1, are outside of it.
 */
const PUBLIC_6 = '2000::/3'
/** Tunnels, which lead to IPv4 addresses, and documentation ranges. */
const NOT_PUBLIC_6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

const notPublic = listOf([...NOT_PUBLIC_4, ...NOT_PUBLIC_6])
const public6 = listOf([PUBLIC_6])

/** Whether a string is a public IP address. */
export function isPublic(address: string): boolean {
  const version = isIP(address)
  if (version === 4) return !notPublic.check(address, 'ipv4')
  return version === 6 && public6.check(address, 'ipv6') && !notPublic.check(address, 'ipv6')
}

/** Hosts and networks that are allowed although they are not public. */
export class Allowed {
  readonly #names: ReadonlySet<string>
  readonly #networks: BlockList

  /**
   * Accepts host names, addresses, and networks such as `10.1.0.0/16`. Throws `OPTION_INVALID` for anything
   * else.
   */
  constructor(allow: readonly string[]) {
    const networks = allow.filter((one) => one.includes('/') || isIP(bare(one)) !== 0)
    this.#networks = listOf(networks)
    const names = allow.filter((one) => !networks.includes(one)).map(bare)
    const wrong = names.find((name) => !/^[a-z0-9._-]{1,253}$/.test(name))
    if (wrong !== undefined) throw notAllowed(wrong)
    this.#names = new Set(names)
  }

  /** Whether this host name is allowed, regardless of its addresses. */
  hasName(host: string): boolean {
    return this.#names.has(bare(host))
  }

  hasAddress(address: string): boolean {
    const version = isIP(address)
    return version !== 0 && this.#networks.check(address, version === 4 ? 'ipv4' : 'ipv6')
  }
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const version = isIP(bare(address))
    const most = version === 4 ? 32 : 128
    const prefix = bits === undefined ? most : /^\d{1,3}$/.test(bits) ? Number(bits) : -1
    if (version === 0 || prefix < 0 || prefix > most) throw notAllowed(network)
    list.addSubnet(bare(address), prefix, version === 4 ? 'ipv4' : 'ipv6')
  }
  return list
}

function notAllowed(text: string): SkepError {
  return new SkepError(
    'OPTION_INVALID',
    `"${text.slice(0, 100)}" is not valid in allow: use a host, an address, or a network such as 10.1.0.0/16.`,
  )
}

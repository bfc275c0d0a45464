import { describe, expect, it } from 'vitest'
import { Allowed, isPublic } from '../../../src/server/alerts/reach.ts'

describe('an address of the open internet', () => {
  it.each([
    '8.8.8.8',
    '1.1.1.1',
    '172.32.0.1',
    '100.128.0.1',
    '169.253.0.1',
    '2606:4700::1111',
    '2a00:1450::1',
  ])('%s is one', (address) => expect(isPublic(address)).toBe(true))

  it.each([
    ['this host', '0.0.0.0'],
    ['loopback', '127.0.0.1'],
    ['loopback, far end', '127.255.255.254'],
    ['private', '10.0.0.1'],
    ['private', '172.16.0.1'],
    ['private', '172.31.255.255'],
    ['private', '192.168.1.1'],
    ['shared by carriers', '100.64.0.1'],
    ['link-local', '169.254.1.1'],
    ['metadata of clouds', '169.254.169.254'],
    ['metadata of another', '100.100.100.200'],
    ['metadata of another', '192.0.0.192'],
    ['metadata of another', '168.63.129.16'],
    ['for tests', '198.18.0.1'],
    ['an example', '203.0.113.7'],
    ['multicast', '224.0.0.1'],
    ['reserved', '240.0.0.1'],
    ['everybody', '255.255.255.255'],
    ['loopback', '::1'],
    ['none', '::'],
    ['IPv4 in IPv6', '::ffff:10.0.0.1'],
    ['IPv4 in IPv6', '::ffff:7f00:1'],
    ['IPv4 in IPv6, public or not', '::ffff:8.8.8.8'],
    ['translated', '64:ff9b::a00:1'],
    ['6to4', '2002:a00:1::1'],
    ['a tunnel', '2001:0:a00:1::1'],
    ['unique local', 'fd00:ec2::254'],
    ['link-local', 'fe80::1'],
    ['multicast', 'ff02::1'],
    ['an example', '2001:db8::1'],
    ['no address', 'localhost'],
    ['no address', ''],
  ])('%s is none: %s', (_what, address) => expect(isPublic(address)).toBe(false))
})

describe('what is allowed by name', () => {
  it('is a host, an address or a network, and nothing beside it', () => {
    const allowed = new Allowed(['Hooks.Internal', '10.1.0.0/16', '127.0.0.1', 'fd00::/8', '[::1]'])

    expect([allowed.hasName('hooks.internal'), allowed.hasName('other.internal')]).toEqual([true, false])
    const addresses = ['10.1.2.3', '10.2.0.1', '127.0.0.1', '127.0.0.2', 'fd12::1', 'fe80::1', '::1']
    expect(addresses.filter((address) => allowed.hasAddress(address))).toEqual([
      '10.1.2.3',
      '127.0.0.1',
      'fd12::1',
      '::1',
    ])
  })

  it.each(['10.0.0.0/33', '10.0.0.0/', '10.0.0.0/-1', 'fd00::/129', 'a b', 'x/8', ''])(
    '"%s" is refused',
    (one) => expect(() => new Allowed([one])).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' })),
  )
})

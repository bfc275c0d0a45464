import { describe, expect, it } from 'vitest'
import {
  hostOf,
  isEveryHost,
  isLiteral,
  isLoopback,
  isLoopbackHost,
} from '../../../src/server/access/request-checks.ts'

describe('addresses', () => {
  it.each(['127.0.0.1', '127.8.9.10', '::1', '::ffff:127.0.0.1', '0:0:0:0:0:0:0:1', '0000:0000::0001'])(
    'of this machine are known: %s',
    (address) => expect(isLoopback(address)).toBe(true),
  )

  it.each([
    null,
    '',
    '10.0.0.1',
    '::',
    '::2',
    '::11',
    '1::1',
    '::ffff:10.0.0.1',
    '127.evil.example',
    '127.0.0.1.evil.example',
    'fe80::1',
  ])('of others are not taken for them: %s', (address) => expect(isLoopback(address)).toBe(false))

  it('of all interfaces are known', () => {
    expect(['0.0.0.0', '::', '[::]', '0:0:0:0:0:0:0:0', ''].map(isEveryHost)).toEqual(Array(5).fill(true))
    expect(['127.0.0.1', 'localhost', '::1', '10.0.0.1'].map(isEveryHost)).toEqual(Array(4).fill(false))
  })

  it('may be names', () => {
    expect(['localhost', 'LOCALHOST', 'skep.localhost', '[::1]', '127.0.0.1'].map(isLoopbackHost)).toEqual(
      Array(5).fill(true),
    )
    expect(['localhost.example', 'notlocalhost', 'example.com', '0.0.0.0'].map(isLoopbackHost)).toEqual(
      Array(4).fill(false),
    )
  })
})

describe('a Host header', () => {
  it.each([
    ['localhost:4000', 'localhost'],
    ['LocalHost.', 'localhost'],
    ['[::1]:80', '::1'],
    ['[::ffff:127.0.0.1]', '127.0.0.1'],
    ['jobs.example.com:443', 'jobs.example.com'],
  ])('names a host: %s', (header, host) => expect(hostOf(header)).toBe(host))

  it.each([
    null,
    '',
    'a b',
    'user@host',
    'host/path',
    'host:port',
    'host:123456',
    '[::1',
    '::1',
    '[zz]',
    '[1.2.3.4]',
    'a,b',
    'x'.repeat(400),
  ])('that is none is refused: %s', (header) => expect(hostOf(header)).toBeNull())

  it('may be an address, which no name server can have made', () => {
    expect([isLiteral('10.1.2.3'), isLiteral('::1'), isLiteral('evil.example')]).toEqual([true, true, false])
  })
})

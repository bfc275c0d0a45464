import { describe, expect, it } from 'vitest'
import { fingerprintOf, hashText, normalMessage } from '../../src/core/jobs/fingerprint.ts'
import type { Failure } from '../../src/core/jobs/job.ts'

const failure = (message: string, more: Partial<Failure> = {}): Failure => ({
  kind: 'error',
  message,
  ...more,
})

describe('the group of an error', () => {
  it.each([
    ['User 17 was not found', 'User 99181 was not found'],
    ['No order 01890a5d-ac96-774b-bcce-b302099a8057', 'No order 7f3c1a52-11d2-4b6e-9d4e-0123456789ab'],
    ['Cannot mail to ann@example.org', 'Cannot mail to bob.b+x@mail.example.co.uk'],
    ["Unexpected token 'a' in JSON at position 3", "Unexpected token '}' in JSON at position 17"],
    ['ENOENT: no such file, open /var/tmp/a1/b.csv', 'ENOENT: no such file, open /home/x/y/z.csv'],
    ['Bad digest deadbeef00112233', 'Bad digest 00aa11bb22cc33dd'],
    ['GET https://a.example.org/x?y=1 answered 500', 'GET https://b.example.org/z answered 502'],
    ['Timed out after 1.5 s\n  (try 3)', 'Timed out after 20 s (try 4)'],
    ['Pointer 0xff12 is bad', 'Pointer 0x1 is bad'],
  ])('is the same for %j and %j', (one, other) => {
    expect(normalMessage(one)).toBe(normalMessage(other))
    expect(fingerprintOf('mail', failure(one))).toBe(fingerprintOf('mail', failure(other)))
  })

  it('differs by queue, name, code and what the message says', () => {
    const ids = [
      fingerprintOf('mail', failure('Not found')),
      fingerprintOf('sms', failure('Not found')),
      fingerprintOf('mail', failure('Not found', { name: 'TypeError' })),
      fingerprintOf('mail', failure('Not found', { name: 'TypeError', code: 'E_GONE' })),
      fingerprintOf('mail', failure('Refused')),
      fingerprintOf('mail', failure('Not found', { kind: 'timeout' })),
    ]

    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.every((id) => /^[0-9a-f]{16}$/.test(id))).toBe(true)
  })

  it('leaves words alone, also those made of the letters a to f', () => {
    expect(normalMessage('The facade was defaced, decade by decade')).toBe(
      'The facade was defaced, decade by decade',
    )
  })

  it('does not depend on the version: these are stored', () => {
    expect(hashText('')).toBe('1aee8d83488bdcb8')
    expect(fingerprintOf('mail', failure('User 17 was not found', { name: 'Error' }))).toBe(
      '91713a3931639507',
    )
  })

  it('takes a bounded time for any message', () => {
    const nasty = `${'a'.repeat(2_000)}@${'/a'.repeat(1_000)}"${'1.'.repeat(500)}`
    for (let i = 0; i < 200; i++) fingerprintOf('mail', failure(nasty))
    expect(normalMessage(nasty).length).toBeLessThanOrEqual(600)
  })
})

import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { keyOf, signed, verifyAlert } from '../../../src/server/alerts/message.ts'

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const OTHER = `whsec_${Buffer.alloc(32, 8).toString('base64')}`
const NOW = 1_800_000_000_000
const body = '{"type":"alert.opened"}'
const headers = (secrets: readonly string[] = [SECRET], now = NOW) =>
  signed(secrets.map(keyOf), { id: 'msg_1', body, now })

const refused = expect.objectContaining({ code: 'UNAUTHENTICATED' })

describe('a signed alert', () => {
  it('is signed as Standard Webhooks say', () => {
    const wanted = createHmac('sha256', Buffer.alloc(32, 7))
      .update(`msg_1.1800000000.${body}`)
      .digest('base64')
    expect(headers()).toMatchObject({
      'webhook-id': 'msg_1',
      'webhook-timestamp': '1800000000',
      'webhook-signature': `v1,${wanted}`,
    })
  })

  it('is known by whoever has the secret', () => {
    expect(verifyAlert(SECRET, { headers: headers(), body, now: NOW })).toEqual({ type: 'alert.opened' })
    expect(verifyAlert(SECRET, { headers: new Headers(headers()), body, now: NOW })).toBeTruthy()
  })

  it('is known by the new secret and by the old one while it is changed', () => {
    const both = headers([OTHER, SECRET])
    expect(verifyAlert(SECRET, { headers: both, body, now: NOW })).toBeTruthy()
    expect(verifyAlert(OTHER, { headers: both, body, now: NOW })).toBeTruthy()
  })

  it.each([
    ['another secret', { headers: headers([OTHER]) }],
    ['another body', { body: '{"type":"alert.resolved"}' }],
    ['another id', { headers: { ...headers(), 'webhook-id': 'msg_2' } }],
    ['another time', { headers: { ...headers(), 'webhook-timestamp': '1800000001' } }],
    ['a time that is none', { headers: { ...headers(), 'webhook-timestamp': 'now' } }],
    ['no signature', { headers: {} }],
    [
      'half a signature',
      { headers: { ...headers(), 'webhook-signature': headers()['webhook-signature']?.slice(0, 20) } },
    ],
    ['an old one, played again', { now: NOW + 301_000 }],
    ['one from the future', { now: NOW - 301_000 }],
  ])('is refused: %s', (_what, change) => {
    expect(() => verifyAlert(SECRET, { headers: headers(), body, now: NOW, ...change })).toThrow(refused)
  })

  it.each(['', 'secret', 'whsec_', `whsec_${Buffer.alloc(23).toString('base64')}`, 'whsec_ä'])(
    'cannot be made with "%s"',
    (secret) => expect(() => keyOf(secret)).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' })),
  )
})

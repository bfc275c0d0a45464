import { describe, expect, it } from 'vitest'
import { ERROR_CODES, LeaseLostError, messageOf, SkepError, StoreError } from '../../src/core/errors.ts'
import { failureOf, reasonFailure } from '../../src/core/jobs/failure.ts'
import { LIMITS } from '../../src/core/limits.ts'
import { hasControl } from '../../src/core/names.ts'

describe('error codes', () => {
  it('are listed once each, in order, in one spelling', () => {
    expect(ERROR_CODES).toEqual([...new Set(ERROR_CODES)].toSorted())
    for (const code of ERROR_CODES) expect(code).toMatch(/^[A-Z]+(_[A-Z]+)*$/)
  })
})

describe('errors', () => {
  it('carry a code, the facts and the cause', () => {
    const cause = new Error('below')
    const error = new SkepError('CLOSED', 'It is closed.', { facts: { name: 'x' }, cause })

    expect(error).toBeInstanceOf(Error)
    expect([error.name, error.code, error.message, error.facts, error.cause]).toEqual([
      'SkepError',
      'CLOSED',
      'It is closed.',
      { name: 'x' },
      cause,
    ])
  })

  it('have no cause unless they are given one', () => {
    expect('cause' in new SkepError('CLOSED', 'x')).toBe(false)
    expect('cause' in new SkepError('CLOSED', 'x', { cause: undefined })).toBe(true)
  })

  it.each([
    ['STORE_UNAVAILABLE', 'none', true],
    ['STORE_UNKNOWN', 'unknown', true],
    ['STORE_REJECTED', 'none', false],
  ] as const)('of a store say what is known of its effect: %s', (code, effect, transient) => {
    const error = new StoreError(code, 'x')

    expect([error.name, error.effect, error.transient]).toEqual(['StoreError', effect, transient])
    expect(error).toBeInstanceOf(SkepError)
  })

  it('of a lost lease name the job and what to do', () => {
    const error = new LeaseLostError('id-1')

    expect([error.code, error.jobId, error.facts]).toEqual(['LEASE_LOST', 'id-1', { jobId: 'id-1' }])
    expect(error.message).toMatch(/"id-1".*leaseMs/)
  })
})

/** What a handler may throw. */
const THROWN: readonly [string, () => unknown][] = [
  ['an error', () => new Error('boom')],
  ['an error with a cause', () => new Error('boom', { cause: new TypeError('below') })],
  ['a text', () => 'boom'],
  ['an empty text', () => ''],
  ['nothing', () => undefined],
  ['null', () => null],
  ['a number', () => 42],
  ['a bigint', () => 42n],
  ['a symbol', () => Symbol('boom')],
  ['an object', () => ({ a: 1 })],
  ['an object that contains itself', selfContaining],
  ['an object without a prototype', () => Object.create(null)],
  ['an object that cannot be read', hostile],
  ['a proxy that was revoked', revoked],
  ['a function', () => () => 1],
  ['an error whose message is no text', () => Object.assign(new Error('x'), { message: { a: 1 } })],
  ['an error whose name is no text', () => Object.assign(new Error('x'), { name: 5 })],
  ['an error whose stack is no text', () => Object.assign(new Error('x'), { stack: 5 })],
  ['an error whose fields throw', throwingError],
  ['an error that causes itself', selfCaused],
  ['an error with a NUL and half a pair', () => new Error('a\0b\ud800c')],
  ['an error of a megabyte', () => new Error('🐝'.repeat(250_000))],
]

describe('what is kept of a thrown value', () => {
  it.each(THROWN)('is bounded and can be stored: %s', (_, make) => {
    const failure = failureOf('error', make())

    const text = JSON.stringify(failure)
    expect(failure.kind).toBe('error')
    expect(typeof failure.message).toBe('string')
    expect(text.includes('\\u0000')).toBe(false)
    expect(text.isWellFormed()).toBe(true)
    expect(Buffer.byteLength(failure.message)).toBeLessThanOrEqual(LIMITS.errorMessageBytes)
    expect(Buffer.byteLength(failure.stack ?? '')).toBeLessThanOrEqual(LIMITS.errorStackBytes)
    expect(failure.causes?.length ?? 0).toBeLessThanOrEqual(LIMITS.errorCauses)
    expect(typeof (failure.name ?? '')).toBe('string')
  })

  it.each(THROWN)('has a message, whatever it is: %s', (_, make) => {
    expect(typeof messageOf(make())).toBe('string')
  })

  it('keeps name, code and causes', () => {
    const below = Object.assign(new TypeError('below'), {})
    const error = Object.assign(new Error('boom', { cause: below }), { name: 'PaymentError', code: 'E_CARD' })

    expect(failureOf('timeout', error)).toMatchObject({
      kind: 'timeout',
      name: 'PaymentError',
      message: 'boom',
      code: 'E_CARD',
      causes: [{ name: 'TypeError', message: 'below' }],
    })
  })

  it('does not end in the middle of a letter', () => {
    for (const extra of ['', 'x', 'xx', 'xxx']) {
      const { message } = failureOf('error', new Error(extra + '🐝'.repeat(5_000)))
      expect(message.endsWith('🐝')).toBe(true)
    }
  })

  it('bounds a reason as well', () => {
    const { message } = reasonFailure('cancel', `${'r'.repeat(10_000)}\0`)

    expect(Buffer.byteLength(message)).toBe(LIMITS.reasonBytes)
    expect(hasControl(message)).toBe(false)
  })
})

function selfContaining(): object {
  const object: Record<string, unknown> = {}
  object['self'] = object
  return object
}

function hostile(): object {
  const no = (): never => {
    throw new Error('no')
  }
  return { toJSON: no, toString: no, valueOf: no }
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

function throwingError(): Error {
  const error = new Error('x')
  for (const field of ['stack', 'message', 'name', 'code', 'cause']) {
    Object.defineProperty(error, field, {
      get: () => {
        throw new Error('no')
      },
    })
  }
  return error
}

function selfCaused(): Error {
  const error = new Error('x')
  error.cause = error
  return error
}

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { HIDDEN, redactor } from '../../../src/operations/redaction/redact.ts'

const usual = redactor()

describe('keys whose values are hidden', () => {
  it.each([
    'password',
    'Password',
    'dbPassword',
    'db_password',
    'PASSWORD_OLD',
    'passwordHash',
    'newPasswd',
    'pwd',
    'secret',
    'clientSecret',
    'aws_secret_access_key',
    'AWSAccessKeyId',
    'token',
    'accessToken',
    'refresh-token',
    'X-Auth-Token',
    'csrf_token',
    'authorization',
    'Proxy-Authorization',
    'apiKey',
    'x-api-key',
    'apikey',
    'API_KEY',
    'stripeApiKey',
    'privateKey',
    'private_key',
    'signingKey',
    'cookie',
    'Set-Cookie',
    'sessionId',
    'card',
    'cardNumber',
    'card_number',
    'creditCard',
    'cvc',
    'cvv',
    'iban',
    'ssn',
    'pin',
    'otp',
    'jwt',
    'credentials',
    'databaseCredentials',
    'connectionString',
    'dsn',
  ])('%s', (key) => {
    expect(usual.value({ [key]: 'x-1' })).toEqual({ [key]: HIDDEN })
    expect(usual.value({ [key]: { inner: 1 } })).toEqual({ [key]: HIDDEN })
    expect(usual.value({ [key]: ['a'] })).toEqual({ [key]: HIDDEN })
    expect(usual.value({ [key]: 1234 })).toEqual({ [key]: HIDDEN })
  })
})

describe('keys whose values are shown', () => {
  it.each([
    'tokenCount',
    'key',
    'idempotencyKey',
    'primaryKey',
    'uniqueKey',
    'keyboard',
    'author',
    'authorId',
    'authored',
    'discard',
    'cardinality',
    'dashboardId',
    'postcard',
    'cardCount',
    'shopping',
    'spinner',
    'pinned',
    'company',
    'span',
    'expand',
    'passenger',
    'passed',
    'compass',
    'secretary',
    'sessions',
    'email',
    'name',
    'id',
  ])('%s', (key) => expect(usual.value({ [key]: 'x-1' })).toEqual({ [key]: 'x-1' }))

  it('with nothing secret in them', () => {
    const value = { hasPassword: true, password: null, token: '', secret: false }
    expect(usual.value(value)).toBe(value)
  })
})

describe('texts', () => {
  it.each([
    ['connect postgres://ada:geheim@db:5432/x failed', 'connect postgres://ada:***@db:5432/x failed'],
    ['redis://:p%40ss@cache:6379', 'redis://:***@cache:6379'],
    ['Authorization: Bearer abcdefghijkl.mno', 'Authorization: Bearer ***'],
    ['got basic YWRhOmdlaGVpbQ==', 'got basic ***'],
    ['password=geheim&user=ada', 'password=***&user=ada'],
    ['{"apiKey":"k-123456","n":1}', '{"apiKey":"***","n":1}'],
    ["token: 'abc def'", "token: '***'"],
    ['--client-secret=abc123', '--client-secret=***'],
    [`used skep_0123456789abcdef_${'A'.repeat(43)}.`, 'used skep_0123456789abcdef_***.'],
    ['jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_def end', 'jwt *** end'],
    [
      '-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- rest',
      '-----BEGIN RSA PRIVATE KEY-----*** rest',
    ],
  ])('have their secrets hidden: %s', (text, shown) => {
    expect(usual.text(text)).toBe(shown)
    expect(usual.value({ note: [text] })).toEqual({ note: [shown] })
  })

  it.each([
    'Error: connect ECONNREFUSED 127.0.0.1:5432',
    'the password is wrong',
    'unexpected token < in JSON at position 0',
    'https://example.com/a?b=c#d',
    'at Object.<anonymous> (/app/src/token.ts:12:34)',
    '2026-11-16T08:52:10.000Z',
    'mail to ada@example.com: ok',
    'key=value; max-age=3600',
    'a basic idea',
  ])('without one stay as they are: %s', (text) => expect(usual.text(text)).toBe(text))
})

describe('structures', () => {
  it('without a secret are the very same', () => {
    const big = {
      rows: Array.from({ length: 3_000 }, (_, id) => ({ id, name: `row ${id}`, tags: ['a', 'b'] })),
    }

    expect(usual.value(big)).toBe(big)
  })

  it('with one share all that is beside it', () => {
    const value = { user: { name: 'Ada', password: 'x' }, other: { list: [1, 2, 3] } }

    const shown = usual.value(value)

    expect(shown).toEqual({ user: { name: 'Ada', password: HIDDEN }, other: { list: [1, 2, 3] } })
    expect(shown.other).toBe(value.other)
    expect(value.user.password).toBe('x')
  })

  it('are bounded: what is too deep or too large is hidden, not walked', () => {
    let deep: unknown = 'end'
    for (let i = 0; i < 100_000; i++) deep = [deep]
    const wide = Array.from({ length: 400 }, () => Array.from({ length: 1_000 }, () => ({ password: 'x' })))

    expect(JSON.stringify(usual.value(deep))).toContain(HIDDEN)
    expect(JSON.stringify(usual.value(wide))).not.toContain('"x"')
  })

  it('never show a value under a secret key, whatever they look like', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 4 }),
        fc.constantFrom('password', 'apiKey', 'accessToken'),
        (value, key) => {
          const shown = usual.value({ around: [value, { [key]: 'SECRET-9f3a' }] })

          expect(JSON.stringify(shown)).not.toContain('SECRET-9f3a')
        },
      ),
      { numRuns: 300 },
    )
  })

  it('keep everything that is not secret', () => {
    const plain = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.stringMatching(/^[a-z ]{0,20}$/),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(fc.stringMatching(/^(name|id|row|size|city)$/), tie('value')),
      ),
    })).value

    fc.assert(
      fc.property(plain, (value) => {
        expect(usual.value(value)).toBe(value)
      }),
      { numRuns: 300 },
    )
  })
})

describe('options', () => {
  it('hide more, show some, and judge values', () => {
    const own = redactor({
      keys: ['bankAccount', /^x-internal-/g],
      show: ['cookie'],
      value: (value, key) => (key === 'email' ? 'someone' : value),
    })

    expect(
      own.value({
        bank_account: '1',
        'x-internal-a': '2',
        'x-internal-b': '3',
        cookie: 'oat',
        email: 'a@b',
        password: 'p',
      }),
    ).toEqual({
      bank_account: HIDDEN,
      'x-internal-a': HIDDEN,
      'x-internal-b': HIDDEN,
      cookie: 'oat',
      email: 'someone',
      password: HIDDEN,
    })
  })
})

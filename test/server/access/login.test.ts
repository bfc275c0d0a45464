import { type RecordStore, StoreError } from 'skep'
import { describe, expect, it } from 'vitest'
import { type Answer, type Asked, type Desk, desk } from './desk.ts'

const TOKEN = 'a-text-of-a-token-that-nobody-guesses'
const ADMIN = { name: 'admin', token: TOKEN, scopes: ['admin'] } as const
const PAGE = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' }

async function login(ask: Desk['ask'], token: string, more: Asked = {}): Promise<Answer> {
  const url = 'http://localhost:7537/mounted/api/v1/login'
  return ask({ url, method: 'POST', headers: PAGE, body: JSON.stringify({ token }), ...more })
}

/** The cookie as a browser sends it back. */
function cookieOf({ response }: Answer): { cookie: string } {
  return { cookie: response?.headers.get('set-cookie')?.split(';')[0] ?? '' }
}

interface Stored extends Desk {
  readonly token: string
  readonly id: string
  /** Whether the server reaches its store. */
  readonly away: { isAway: boolean }
}

async function stored(): Promise<Stored> {
  const away = { isAway: false }
  const made = desk({}, { records: (store) => reachable(store, away) })
  const { token, view } = await made.tokens.create({ name: 'ada', scopes: ['operate'], space: 'acme' }, 'me')
  await made.access.listen('127.0.0.1')
  return { ...made, token, id: view.id, away }
}

function reachable(store: RecordStore, away: { readonly isAway: boolean }): RecordStore {
  return {
    putRecords: (call) => store.putRecords(call),
    getRecords: async (call) => {
      if (away.isAway) throw new StoreError('STORE_UNAVAILABLE', 'It is away.')
      return store.getRecords(call)
    },
    listRecords: (call) => store.listRecords(call),
    removeRecords: (call) => store.removeRecords(call),
  }
}

describe('a login', () => {
  it('gives a cookie that pages cannot read and other sites cannot use', async () => {
    const { ask, token } = await stored()

    const answer = await login(ask, token)

    expect(answer.said).toBe('200')
    const cookie = answer.response?.headers.get('set-cookie') ?? ''
    expect(cookie).toMatch(
      /^skep-session=[0-9a-f]{16}_[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
    )
    expect(cookie).not.toContain(token.slice(23))
    expect((await ask({ headers: cookieOf(answer) })).caller).toMatchObject({ name: 'ada', space: 'acme' })
  })

  it('over https is bound to this very host', async () => {
    const { ask, token } = await stored()

    const answer = await login(ask, token, { isEncrypted: true })

    expect(answer.response?.headers.get('set-cookie')).toMatch(/^__Host-skep-session=.*; Secure$/)
    expect((await ask({ headers: cookieOf(answer), isEncrypted: true })).said).toBe('ada')
    // What somebody put in the way over http does not count.
    const { cookie } = cookieOf(answer)
    expect((await ask({ headers: { cookie: cookie.replace('__Host-', '') }, isEncrypted: true })).said).toBe(
      'UNAUTHENTICATED',
    )
  })

  it('with a wrong token gives nothing', async () => {
    const { ask, token } = await stored()

    for (const wrong of ['', 'x', `${token}x`]) expect((await login(ask, wrong)).said).toBe('UNAUTHENTICATED')
    expect((await login(ask, '', { body: 'no json' })).said).toBe('UNAUTHENTICATED')
    expect((await login(ask, '', { body: '"text"' })).said).toBe('UNAUTHENTICATED')
    expect((await login(ask, '', { body: `{"token":"${'x'.repeat(100_000)}"}` })).said).toBe(
      'UNAUTHENTICATED',
    )
  })

  it('is not possible for a page of another site', async () => {
    const { ask, token } = await stored()

    const answer = await login(ask, token, { headers: { ...PAGE, 'sec-fetch-site': 'cross-site' } })

    expect(answer.said).toBe('FORBIDDEN')
  })

  it('is tried only so often', async () => {
    const { ask } = await stored()
    const said = []
    for (let i = 0; i < 25; i++) said.push((await login(ask, `wrong ${i}`)).said)

    expect(said.filter((one) => one === 'UNAUTHENTICATED')).toHaveLength(20)
    expect(said.at(-1)).toBe('TOO_MANY_REQUESTS')
  })

  it('works with a token that was given at the start', async () => {
    const { access, ask } = desk({ tokens: [ADMIN] })
    await access.listen('127.0.0.1')

    const answer = await login(ask, TOKEN)

    expect((await ask({ headers: cookieOf(answer) })).said).toBe('admin')
  })
})

describe('a session', () => {
  it('ends with a logout, for everybody who has the cookie', async () => {
    const { ask, token } = await stored()
    const headers = cookieOf(await login(ask, token))

    const out = await ask({
      url: 'http://localhost:7537/api/v1/logout',
      method: 'POST',
      headers: { ...PAGE, ...headers },
      body: '{}',
    })

    expect(out.response?.headers.get('set-cookie')).toMatch(/^skep-session=; .*Max-Age=0/)
    expect((await ask({ headers })).said).toBe('UNAUTHENTICATED')
  })

  it('ends when its token is revoked', async () => {
    const { ask, tokens, token, id, runtime } = await stored()
    const headers = cookieOf(await login(ask, token))

    await tokens.revoke(id)
    await runtime.advance(5_000)

    expect((await ask({ headers })).said).toBe('UNAUTHENTICATED')
  })

  it('ends with its time, and with that of its token', async () => {
    const { ask, tokens, token, runtime } = await stored()
    const short = await tokens.create({ name: 'short', scopes: ['read'], expires: '1h' }, 'me')
    const long = cookieOf(await login(ask, token))
    const brief = cookieOf(await login(ask, short.token))

    await runtime.advance(3_600_000)
    expect([(await ask({ headers: long })).said, (await ask({ headers: brief })).said]).toEqual([
      'ada',
      'UNAUTHENTICATED',
    ])
    await runtime.advance(11 * 3_600_000)
    expect((await ask({ headers: long })).said).toBe('UNAUTHENTICATED')
  })

  it('ends with its time also while it is remembered, and while the store is away', async () => {
    const { ask, token, runtime, away } = await stored()
    const headers = cookieOf(await login(ask, token))
    await runtime.advance(12 * 3_600_000 - 1_000)
    expect((await ask({ headers })).said).toBe('ada')
    away.isAway = true

    await runtime.advance(999)
    expect((await ask({ headers })).said).toBe('ada')
    await runtime.advance(1)
    expect((await ask({ headers })).said).toBe('UNAUTHENTICATED')
    await runtime.advance(10_000)
    expect((await ask({ headers })).said).toBe('UNAUTHENTICATED')
  })

  it('is good for no longer than its token, and tells the browser so', async () => {
    const { ask, tokens } = await stored()
    const short = await tokens.create({ name: 'short', scopes: ['read'], expires: '1h' }, 'me')

    const answer = await login(ask, short.token)

    expect(answer.response?.headers.get('set-cookie')).toContain('; Max-Age=3600;')
  })

  it('is in the store only as a hash', async () => {
    const { ask, token, store } = await stored()
    const { cookie } = cookieOf(await login(ask, token))

    const { records } = await store.listRecords({ scope: '*', kind: 'session', limit: 10 })

    expect(records).toHaveLength(1)
    expect(records[0]?.body).not.toContain(cookie.split('_')[1] ?? 'none')
  })

  it('counts for changes only from pages of this server', async () => {
    const { ask, token } = await stored()
    const headers = cookieOf(await login(ask, token))
    const post = { method: 'POST', body: '{}' }

    expect((await ask({ ...post, headers: { ...headers, ...PAGE } })).said).toBe('ada')
    expect(
      (await ask({ ...post, headers: { ...headers, ...PAGE, 'sec-fetch-site': 'cross-site' } })).said,
    ).toBe('FORBIDDEN')
  })

  it.each([
    '',
    '=',
    'skep-session',
    'skep-session=',
    `skep-session=${'0'.repeat(16)}_${'A'.repeat(43)}`,
    'a=b;'.repeat(10_000),
  ])('is nothing that can be made up: %s', async (cookie) => {
    const { ask } = await stored()

    expect((await ask({ headers: { cookie } })).said).toBe('UNAUTHENTICATED')
  })
})

describe('a person without a login', () => {
  const visit = {
    url: 'http://localhost:7537/mounted/queues/mail?tab=1',
    headers: { accept: 'text/html,*/*' },
  }

  it('gets a page to log in with, which has nothing of the server in it', async () => {
    const { ask } = await stored()

    const { response } = await ask(visit)

    const html = (await response?.text()) ?? ''
    expect(response?.status).toBe(401)
    expect(html).toContain('<form method="post">')
    expect(html).not.toMatch(/<script|src=|href=|\son\w+=/i)
    expect(response?.headers.get('content-security-policy')).toContain("default-src 'none'")
  })

  it('comes back to where it was going', async () => {
    const { ask, token } = await stored()
    const form = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' }

    const answer = await ask({
      ...visit,
      method: 'POST',
      headers: form,
      body: new URLSearchParams({ token }).toString(),
    })

    expect([answer.said, answer.response?.headers.get('location')]).toEqual([
      '303',
      '/mounted/queues/mail?tab=1',
    ])
    expect((await ask({ ...visit, headers: { ...visit.headers, ...cookieOf(answer) } })).said).toBe('ada')
  })

  it('cannot be sent elsewhere by the address', async () => {
    const { ask, token } = await stored()
    const form = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' }

    const answer = await ask({
      url: 'http://localhost:7537//evil.example/x',
      method: 'POST',
      headers: form,
      body: new URLSearchParams({ token }).toString(),
    })

    expect(answer.response?.headers.get('location')).toBe('/evil.example/x')
  })

  it('is told when the token is wrong', async () => {
    const { ask } = await stored()
    const form = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' }

    const answer = await ask({ ...visit, method: 'POST', headers: form, body: 'token=%3Cscript%3E' })

    const html = (await answer.response?.text()) ?? ''
    expect([answer.said, html.includes('role="alert"'), html.includes('<script')]).toEqual([
      '401',
      true,
      false,
    ])
  })

  it('cannot be logged in by a page of another site', async () => {
    const { ask, token } = await stored()
    const form = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'cross-site' }

    expect((await ask({ ...visit, method: 'POST', headers: form, body: `token=${token}` })).said).toBe(
      'FORBIDDEN',
    )
  })
})

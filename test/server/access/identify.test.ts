import { type RecordStore, type Store, StoreError, silentLogger } from 'skep'
import { describe, expect, it } from 'vitest'
import { bearer, desk } from './desk.ts'

const TOKEN = 'a-text-of-a-token-that-nobody-guesses'
const ADMIN = { name: 'admin', token: TOKEN, scopes: ['admin'] } as const
const JSON_TYPE = { 'content-type': 'application/json' }

describe('a server without any configuration', () => {
  it('lets its own machine do everything, on loopback', async () => {
    const { access, ask } = desk()
    await access.listen('127.0.0.1')

    const { caller } = await ask()

    expect(caller).toMatchObject({
      name: 'local',
      space: 'default',
      spaces: '*',
      queues: ['*'],
      payloads: true,
    })
    expect([...(caller?.scopes ?? [])].sort()).toEqual(['admin', 'enqueue', 'operate', 'read', 'work'])
  })

  it.each(['0.0.0.0', '::', '10.0.0.5', 'jobs.example.com'])('does not start on %s', async (host) => {
    const { access } = desk()

    await expect(access.listen(host)).rejects.toMatchObject({ code: 'SERVER_UNPROTECTED' })
  })

  it('starts there with https if it has a token, an auth, or is told that it is insecure', async () => {
    const withToken = desk()
    await withToken.tokens.create({ name: 'ci', scopes: ['read'] }, 'ada')

    await withToken.access.listen('0.0.0.0', true)
    await desk({ tokens: [ADMIN] }).access.listen('0.0.0.0', true)
    await desk({}, { env: { SKEP_TOKEN: TOKEN } }).access.listen('0.0.0.0', true)
    await desk({ auth: () => null }).access.listen('0.0.0.0', true)
    const insecure = desk({ insecure: true })
    await insecure.access.listen('0.0.0.0')

    expect((await withToken.ask()).said).toBe('UNAUTHENTICATED')
    expect((await insecure.ask({ address: '10.1.1.1' })).said).toBe('anyone')
  })

  it('does not start there when it is told to be open, whatever tokens there are', async () => {
    await expect(desk({ open: true, tokens: [ADMIN] }).access.listen('0.0.0.0')).rejects.toMatchObject({
      code: 'SERVER_UNPROTECTED',
    })
  })

  it('starts while the store is away, and lets nobody in before the store has said whether there are tokens', async () => {
    let isAway = true
    const records = (store: Store): RecordStore => ({
      getRecords: (call) => store.getRecords(call),
      putRecords: (call) => store.putRecords(call),
      removeRecords: (call) => store.removeRecords(call),
      listRecords: (call) =>
        isAway ? Promise.reject(new StoreError('STORE_UNAVAILABLE', 'It is away.')) : store.listRecords(call),
    })
    const [local, open] = [desk({}, { records }), desk({}, { records })]

    await local.access.listen('127.0.0.1')
    await open.access.listen('0.0.0.0', true)
    const other = { address: '10.1.1.1', isEncrypted: true }
    const before = [(await local.ask()).said, (await open.ask(other)).said]
    isAway = false
    const after = [(await local.ask()).said, (await open.ask(other)).said]

    expect(before).toEqual(['STORE_UNAVAILABLE', 'UNAUTHENTICATED'])
    expect(after).toEqual(['local', 'UNAUTHENTICATED'])
  })

  it('does not take a proxy on its machine for its machine', async () => {
    const { access, ask } = desk()
    await access.listen('127.0.0.1')

    for (const header of ['x-forwarded-for', 'forwarded', 'via', 'x-real-ip', 'x-forwarded-host']) {
      expect((await ask({ headers: { [header]: '127.0.0.1' } })).said).toBe('UNAUTHENTICATED')
    }
  })

  it('lets nobody in who comes from elsewhere', async () => {
    const { access, ask } = desk()
    await access.listen('127.0.0.1')

    for (const address of ['10.0.0.1', '::2', null])
      expect((await ask({ address, isEncrypted: true })).said).toBe('UNAUTHENTICATED')
  })

  it('is closed from the next start on when there is a token in its store', async () => {
    const { access, ask, tokens } = desk()
    await tokens.create({ name: 'ci', scopes: ['enqueue'] }, 'ada')

    await access.listen('127.0.0.1')

    expect((await ask()).said).toBe('UNAUTHENTICATED')
  })

  it('stays open on loopback with tokens if it is told so', async () => {
    const { access, ask } = desk({ open: true, tokens: [ADMIN] })
    await access.listen('127.0.0.1')

    expect((await ask()).said).toBe('local')
    expect((await ask({ headers: bearer(TOKEN) })).said).toBe('admin')
    expect((await ask({ headers: bearer('wrong') })).said).toBe('UNAUTHENTICATED')
  })
})

describe('https', () => {
  const OTHER = { headers: bearer(TOKEN), address: '10.1.1.1' }

  it.each(['0.0.0.0', '::', '10.0.0.5', 'jobs.example.com'])(
    'is needed to start on %s, of the server, of a proxy, or by a word that it is not',
    async (host) => {
      await expect(desk({ tokens: [ADMIN] }).access.listen(host)).rejects.toMatchObject({
        code: 'SERVER_UNPROTECTED',
        message: expect.stringContaining('--tls-cert'),
      })
      await desk({ tokens: [ADMIN] }).access.listen(host, true)
      await desk({ tokens: [ADMIN], proxies: 1 }).access.listen(host)
      await desk({ tokens: [ADMIN], plainHttp: true }).access.listen(host)
    },
  )

  it('is not enough to start without a token', async () => {
    await expect(desk().access.listen('0.0.0.0', true)).rejects.toMatchObject({
      code: 'SERVER_UNPROTECTED',
      message: expect.stringContaining('skep tokens create'),
    })
  })

  it('is what a proxy has to have been asked by, and nobody goes past the proxy', async () => {
    const { access, ask } = desk({ tokens: [ADMIN], proxies: 1 })
    await access.listen('0.0.0.0')
    const by = async (more: Record<string, string>): Promise<string> =>
      (await ask({ ...OTHER, headers: { ...OTHER.headers, ...more } })).said

    expect(await by({ 'x-forwarded-for': '1.2.3.4', 'x-forwarded-proto': 'https' })).toBe('admin')
    expect(await by({ 'x-forwarded-for': '1.2.3.4', 'x-forwarded-proto': 'http' })).toBe('FORBIDDEN')
    // Only the word of the proxy counts, which is the last.
    expect(await by({ 'x-forwarded-for': '1.2.3.4', 'x-forwarded-proto': 'https, http' })).toBe('FORBIDDEN')
    expect(await by({ 'x-forwarded-for': '1.2.3.4' })).toBe('FORBIDDEN')
    expect(await by({})).toBe('FORBIDDEN')
  })

  it('is asked of a proxy on the same machine too, but not of this machine itself', async () => {
    const { access, ask } = desk({ tokens: [ADMIN], proxies: 1 })
    await access.listen('127.0.0.1')

    const forwarded = { ...bearer(TOKEN), 'x-forwarded-for': '1.2.3.4', 'x-forwarded-proto': 'http' }
    expect((await ask({ headers: forwarded })).said).toBe('FORBIDDEN')
    expect((await ask({ headers: bearer(TOKEN) })).said).toBe('admin')
  })

  it('is not asked for where it is said not to be needed, nor of a server mounted in a program', async () => {
    const plain = desk({ tokens: [ADMIN], plainHttp: true })
    await plain.access.listen('0.0.0.0')

    expect((await plain.ask(OTHER)).said).toBe('admin')
    expect((await plain.ask({ address: '10.1.1.1' })).said).toBe('UNAUTHENTICATED')
    expect((await desk({ tokens: [ADMIN] }).ask(OTHER)).said).toBe('admin')
  })
})

describe('a server mounted in a program', () => {
  it('is closed', async () => {
    expect((await desk().ask()).said).toBe('UNAUTHENTICATED')
    expect((await desk({}, { env: { NODE_ENV: 'production' } }).ask()).said).toBe('UNAUTHENTICATED')
  })

  it('is open to its machine while somebody develops, as long as nothing else is said', async () => {
    const env = { NODE_ENV: 'development' }

    expect((await desk({}, { env }).ask()).said).toBe('local')
    expect((await desk({}, { env }).ask({ address: '10.0.0.1' })).said).toBe('UNAUTHENTICATED')
    expect((await desk({}, { env }).ask({ address: null })).said).toBe('UNAUTHENTICATED')
    expect((await desk({}, { env }).ask({ url: 'http://evil.example/api/v1/me' })).said).toBe('FORBIDDEN')
    expect((await desk({ tokens: [ADMIN] }, { env }).ask()).said).toBe('UNAUTHENTICATED')
    expect((await desk({ auth: () => null }, { env }).ask()).said).toBe('UNAUTHENTICATED')
  })

  it('leaves the names of hosts to the program around it', async () => {
    const { ask } = desk({ auth: () => ({ name: 'ada', scopes: ['read'] }) })

    expect((await ask({ url: 'https://app.example.com/jobs/api/v1/me' })).said).toBe('ada')
  })
})

describe('a token in the header', () => {
  it('says who asks, from anywhere and for any host', async () => {
    const { access, ask, tokens } = desk()
    const { token } = await tokens.create(
      { name: 'ci', scopes: ['operate'], space: 'acme', queues: ['mail.*'] },
      'ada',
    )
    await access.listen('127.0.0.1')

    const { caller } = await ask({
      headers: bearer(token),
      address: '10.1.2.3',
      isEncrypted: true,
      url: 'https://any.example/api/v1/me',
    })

    expect(caller).toMatchObject({
      name: 'ci',
      space: 'acme',
      spaces: null,
      queues: ['mail.*'],
      address: '10.1.2.3',
    })
    expect([...(caller?.scopes ?? [])].sort()).toEqual(['operate', 'read'])
  })

  it('that is wrong is never passed over, on an open server neither', async () => {
    const { access, ask } = desk()
    await access.listen('127.0.0.1')

    for (const authorization of [
      'Bearer x',
      'Bearer',
      '',
      'Basic YTpi',
      'Token x',
      `Bearer ${'x'.repeat(5_000)}`,
    ]) {
      expect((await ask({ headers: { authorization } })).said).toBe('UNAUTHENTICATED')
    }
  })

  it('needs nothing of what a browser must tell', async () => {
    const { access, ask } = desk({ tokens: [ADMIN] })
    await access.listen('127.0.0.1')
    const headers = { ...bearer(TOKEN), origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }

    expect((await ask({ method: 'POST', headers, body: '{}' })).said).toBe('admin')
  })

  it('is tried only so often by one address, while those that are right go on', async () => {
    const { access, ask, tokens, runtime } = desk()
    const { token } = await tokens.create({ name: 'ci', scopes: ['read'] }, 'ada')
    await access.listen('127.0.0.1')
    await ask({ headers: bearer(token) })

    const tries = []
    for (let i = 0; i < 30; i++)
      tries.push(await ask({ headers: bearer(`skep_${'0'.repeat(16)}_${'A'.repeat(43)}`) }))

    expect(tries.filter(({ said }) => said === 'UNAUTHENTICATED')).toHaveLength(20)
    expect(tries.at(-1)).toMatchObject({ said: 'TOO_MANY_REQUESTS', facts: { retryAfterMs: 1_000 } })
    expect((await ask({ headers: bearer(token) })).said).toBe('ci')
    const other = { headers: bearer('x'.repeat(30)), address: '10.0.0.2', isEncrypted: true }
    expect((await ask(other)).said).toBe('UNAUTHENTICATED')
    await runtime.advance(1_000)
    expect((await ask({ headers: bearer('x'.repeat(30)) })).said).toBe('UNAUTHENTICATED')
  })

  it('ends with its time, and when it is revoked', async () => {
    const { access, ask, tokens, runtime } = desk()
    const short = await tokens.create({ name: 'short', scopes: ['read'], expires: '1m' }, 'ada')
    const long = await tokens.create({ name: 'long', scopes: ['read'] }, 'ada')
    await access.listen('127.0.0.1')
    expect((await ask({ headers: bearer(short.token) })).said).toBe('short')
    expect((await ask({ headers: bearer(long.token) })).said).toBe('long')

    await runtime.advance(60_000)
    await tokens.revoke(long.view.id)
    await runtime.advance(5_000)

    expect((await ask({ headers: bearer(short.token) })).said).toBe('UNAUTHENTICATED')
    expect((await ask({ headers: bearer(long.token) })).said).toBe('UNAUTHENTICATED')
  })
})

describe('the host that is asked for', () => {
  it.each([
    ['127.0.0.1', 'localhost:7537', true],
    ['127.0.0.1', '127.0.0.1', true],
    ['127.0.0.1', '[::1]:7537', true],
    ['127.0.0.1', 'skep.localhost', true],
    ['127.0.0.1', 'evil.example', false],
    ['127.0.0.1', 'localhost.evil.example', false],
    ['127.0.0.1', '127.0.0.1.nip.io', false],
    ['127.0.0.1', '10.0.0.1', false],
    ['127.0.0.1', '', false],
    ['0.0.0.0', '10.0.0.1:80', true],
    ['0.0.0.0', 'evil.example', false],
    ['0.0.0.0', 'jobs.example.com', true],
    ['0.0.0.0', 'a.jobs.internal', true],
    ['0.0.0.0', 'jobs.internal', false],
    ['0.0.0.0', 'evil-jobs.internal', false],
    ['10.0.0.1', '10.0.0.1', true],
    ['10.0.0.1', '10.0.0.2', false],
  ])('of a server on %s may be %s: %s', async (listens, host, isFine) => {
    const auth = (): { name: string; scopes: ['read'] } => ({ name: 'ada', scopes: ['read'] })
    const { access, ask } = desk({ auth, hosts: ['jobs.example.com', '*.jobs.internal'] })
    await access.listen(listens, true)

    expect((await ask({ headers: { host } })).said).toBe(isFine ? 'ada' : 'FORBIDDEN')
  })

  it('may be any, if that is said', async () => {
    const { access, ask } = desk({ hosts: '*' })
    await access.listen('127.0.0.1')

    expect((await ask({ headers: { host: 'anything.example' } })).said).toBe('local')
  })
})

describe('the page that asks', () => {
  const cases: readonly [string, string, Record<string, string>, string][] = [
    ['of this server', 'POST', { 'sec-fetch-site': 'same-origin', ...JSON_TYPE }, 'local'],
    ['typed by a person', 'POST', { 'sec-fetch-site': 'none', ...JSON_TYPE }, 'local'],
    ['of another site', 'POST', { 'sec-fetch-site': 'cross-site', ...JSON_TYPE }, 'FORBIDDEN'],
    ['of another port of this machine', 'POST', { 'sec-fetch-site': 'same-site', ...JSON_TYPE }, 'FORBIDDEN'],
    [
      'of another site, reading',
      'GET',
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' },
      'FORBIDDEN',
    ],
    [
      'with a link to this one',
      'GET',
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' },
      'local',
    ],
    [
      'that navigates by a form',
      'POST',
      { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', ...JSON_TYPE },
      'FORBIDDEN',
    ],
    ['of this origin, in an old browser', 'POST', { origin: 'http://localhost:7537', ...JSON_TYPE }, 'local'],
    [
      'of another origin, in an old browser',
      'POST',
      { origin: 'http://evil.example', ...JSON_TYPE },
      'FORBIDDEN',
    ],
    [
      'of another port, in an old browser',
      'POST',
      { origin: 'http://localhost:3000', ...JSON_TYPE },
      'FORBIDDEN',
    ],
    ['of no origin', 'POST', { origin: 'null', ...JSON_TYPE }, 'FORBIDDEN'],
    ['that is no page', 'POST', JSON_TYPE, 'local'],
    [
      'that sends a text',
      'POST',
      { 'sec-fetch-site': 'same-origin', 'content-type': 'text/plain' },
      'REQUEST_INVALID',
    ],
    ['that sends a form', 'POST', { 'content-type': 'application/x-www-form-urlencoded' }, 'REQUEST_INVALID'],
    ['that sends parts', 'POST', { 'content-type': 'multipart/form-data; boundary=x' }, 'REQUEST_INVALID'],
    ['that sends JSON with a charset', 'PUT', { 'content-type': 'application/json; charset=utf-8' }, 'local'],
    ['that sends what looks like JSON', 'POST', { 'content-type': 'application/jsonx' }, 'REQUEST_INVALID'],
    ['that speaks gRPC', 'POST', { 'content-type': 'application/grpc+proto' }, 'local'],
    ['that speaks Connect', 'POST', { 'content-type': 'application/connect+json' }, 'local'],
  ]
  it.each(cases)('%s', async (_, method, headers, said) => {
    const { access, ask } = desk()
    await access.listen('127.0.0.1')

    const answer = await ask({ method, headers, ...(method === 'GET' ? {} : { body: '{}' }) })

    expect(answer.said).toBe(said)
  })

  it('may delete without a body', async () => {
    const { access, ask } = desk()
    await access.listen('127.0.0.1')

    expect((await ask({ method: 'DELETE' })).said).toBe('local')
  })
})

describe("the user's own auth", () => {
  it('says who asks, with as little as needed', async () => {
    const { access, ask } = desk({
      auth: (request) =>
        request.headers.get('x-user') === null
          ? null
          : { name: 'ada@example.com', scopes: ['operate'], queues: ['mail.*'] },
    })
    await access.listen('0.0.0.0', true)

    expect((await ask()).said).toBe('UNAUTHENTICATED')
    expect((await ask({ headers: { 'x-user': '1' } })).caller).toMatchObject({
      name: 'ada@example.com',
      space: 'default',
      spaces: null,
      queues: ['mail.*'],
      payloads: false,
    })
  })

  it('sees a bearer that is not ours', async () => {
    const { access, ask } = desk({
      auth: ({ headers }) =>
        headers.get('authorization') === 'Bearer jwt' ? { name: 'jwt', scopes: ['read'] } : null,
    })
    await access.listen('0.0.0.0', true)

    expect((await ask({ headers: bearer('jwt') })).said).toBe('jwt')
    expect((await ask({ headers: bearer('other') })).said).toBe('UNAUTHENTICATED')
  })

  it('may send people elsewhere', async () => {
    const { access, ask } = desk({ auth: () => Response.redirect('https://sso.example/', 302) })
    await access.listen('0.0.0.0', true)

    expect((await ask()).said).toBe('302')
  })

  it('lets nobody in when it throws, or answers nonsense', async () => {
    const throwing = desk({
      auth: () => {
        throw new Error('no')
      },
    })
    const nonsense = desk({ auth: () => ({ name: 'x', scopes: ['root'] }) as never })
    const nameless = desk({ auth: () => ({ name: '\n', scopes: ['read'] }) })

    await expect(throwing.ask()).rejects.toThrow('no')
    expect((await nonsense.ask()).said).toBe('CONFIG_INVALID')
    expect((await nameless.ask()).said).toBe('CONFIG_INVALID')
  })

  it.each<readonly [string, object]>([
    ['a misspelt restriction', { queue: ['mail'] }],
    ['one of a token', { expires: '1h' }],
    ['queues that were looked up in vain', { queues: undefined }],
    ['a space that was looked up in vain', { space: undefined }],
    ['payloads in words', { payloads: 'no' }],
    ['one space that is no list', { spaces: 'workshop' }],
    ['no list of queues', { queues: 'mail' }],
    ['no queues', { queues: [] }],
  ])('refuses a grant that says something unknown, and logs why: %s', async (_name, more) => {
    const lines: unknown[][] = []
    const logger = { ...silentLogger, error: (...line: unknown[]) => void lines.push(line) }
    const { ask } = desk({ auth: () => ({ name: 'ada', scopes: ['read'], ...more }) as never }, { logger })

    expect((await ask()).said).toBe('CONFIG_INVALID')
    expect((await ask()).said).toBe('CONFIG_INVALID')
    expect(lines).toEqual([
      [expect.stringContaining('grant'), { error: expect.objectContaining({ code: 'OPTION_INVALID' }) }],
    ])
  })

  it.each([true, 'ada', ['read'], undefined])('refuses what is no grant at all: %s', async (grant) => {
    expect((await desk({ auth: () => grant as never }).ask()).said).toBe('CONFIG_INVALID')
  })

  it('does not open a server to other pages: its callers come from browsers too', async () => {
    const { ask } = desk({ auth: () => ({ name: 'ada', scopes: ['admin'] }) })
    const headers = { ...JSON_TYPE, 'sec-fetch-site': 'cross-site' }

    expect((await ask({ method: 'POST', headers, body: '{}' })).said).toBe('FORBIDDEN')
  })
})

describe('proxies', () => {
  it('are believed only as many as there are', async () => {
    const headers = {
      ...bearer(TOKEN),
      'x-forwarded-for': '6.6.6.6, 1.2.3.4, 10.0.0.2',
      'x-forwarded-proto': 'https',
    }
    const addressWith = async (proxies: number): Promise<string | null | undefined> => {
      const { ask } = desk({ tokens: [ADMIN], proxies })
      return (await ask({ headers, address: '10.0.0.1' })).caller?.address
    }

    expect(await addressWith(0)).toBe('10.0.0.1')
    expect(await addressWith(1)).toBe('10.0.0.2')
    expect(await addressWith(2)).toBe('1.2.3.4')
    expect(await addressWith(9)).toBe('10.0.0.1')
  })
})

import { type RecordStore, StoreError, silentLogger } from 'skep'
import { memoryStore } from 'skep/memory'
import { type VirtualRuntime, virtualRuntime } from 'skep/testing'
import { describe, expect, it } from 'vitest'
import { hashOf } from '../../../src/server/tokens/secret.ts'
import { findGiven, resolveGiven, tokenOfEnvironment } from '../../../src/server/tokens/static-tokens.ts'
import { credentialOf, Tokens } from '../../../src/server/tokens/tokens.ts'

interface Scene {
  readonly runtime: VirtualRuntime
  readonly store: RecordStore
  readonly tokens: Tokens
  /** Those of another process on the same store. */
  readonly others: Tokens
  /** What was asked of the store. */
  readonly asked: string[]
  outage: boolean
}

function scene(): Scene {
  const runtime = virtualRuntime({ seed: 7 })
  const asked: string[] = []
  const memory = memoryStore({ runtime })
  const guarded = <Call, Reply>(name: string, call: (given: Call) => Promise<Reply>) => {
    return async (given: Call): Promise<Reply> => {
      asked.push(name)
      if (made.outage) throw new StoreError('STORE_UNAVAILABLE', 'It is away.')
      return call(given)
    }
  }
  const store: RecordStore = {
    putRecords: guarded('put', (call) => memory.putRecords(call)),
    getRecords: guarded('get', (call) => memory.getRecords(call)),
    listRecords: guarded('list', (call) => memory.listRecords(call)),
    removeRecords: guarded('remove', (call) => memory.removeRecords(call)),
  }
  const open = (): Tokens => new Tokens({ records: store, runtime, logger: silentLogger })
  const made: Scene = { runtime, store, tokens: open(), others: open(), asked, outage: false }
  return made
}

describe('a token', () => {
  it('has an id, 256 random bits, and only their hash in the store', async () => {
    const { tokens, store } = scene()

    const { token, view } = await tokens.create({ name: 'ci', scopes: ['enqueue'] }, 'ada')

    const [, id = '', secret = ''] = /^skep_([0-9a-f]{16})_(.{43})$/.exec(token) ?? []
    expect(Buffer.from(secret, 'base64url')).toHaveLength(32)
    const { records } = await store.listRecords({ scope: '*', kind: 'token', limit: 10 })
    expect(records).toHaveLength(1)
    expect(records[0]?.body).not.toContain(secret)
    expect(records[0]?.body).toContain(hashOf(secret))
    expect(view).toMatchObject({
      id,
      name: 'ci',
      scopes: ['enqueue'],
      space: 'default',
      queues: ['*'],
      createdBy: 'ada',
    })
    expect(JSON.stringify(view)).not.toContain(hashOf(secret))
  })

  it('is known by its text, in every process', async () => {
    const { tokens, others } = scene()
    const { token } = await tokens.create({ name: 'ci', scopes: ['read'], space: 'acme' }, 'ada')

    expect(await tokens.verify(token)).toMatchObject({ name: 'ci', space: 'acme' })
    expect(await others.verify(token)).toMatchObject({ name: 'ci', space: 'acme' })
  })

  it('is refused when one letter differs, and so is everything that is none', async () => {
    const { tokens } = scene()
    const { token } = await tokens.create({ name: 'ci', scopes: ['read'] }, 'ada')
    const other = token.endsWith('A') ? 'B' : 'A'
    const wrong = [
      token.slice(0, -1) + other,
      token.slice(0, -1),
      `${token}A`,
      token.replace('skep_', ''),
      token.toUpperCase(),
      token.replace(/skep_./, token[5] === '0' ? 'skep_1' : 'skep_0'),
      '',
      'skep_',
      'skep_0123456789abcdef_',
      `skep_0123456789abcdef_${'A'.repeat(43)}`,
      'x'.repeat(100_000),
    ]

    for (const text of wrong) expect(await tokens.verify(text)).toBeNull()
    expect(await tokens.verify(token)).not.toBeNull()
  })

  it('that does not exist is looked for as one that does, and both are remembered', async () => {
    const { tokens, asked } = scene()
    const { token } = await tokens.create({ name: 'ci', scopes: ['read'] }, 'ada')
    asked.length = 0

    const wrong = `${token.slice(0, 22)}${'A'.repeat(43)}`
    for (let i = 0; i < 5; i++) await tokens.verify(wrong)
    expect(asked).toEqual(['get'])
    for (let i = 0; i < 5; i++) await tokens.verify(`skep_0123456789abcdef_${'A'.repeat(43)}`)
    expect(asked).toEqual(['get', 'get'])
  })

  it('ends when its time is over, also while it is remembered', async () => {
    const { tokens, runtime } = scene()
    const { token } = await tokens.create({ name: 'ci', scopes: ['read'], expires: '10s' }, 'ada')
    await runtime.advance(9_000)
    expect(await tokens.verify(token)).not.toBeNull()

    await runtime.advance(1_000)

    expect(await tokens.verify(token)).toBeNull()
    expect(await tokens.all()).toEqual([])
    expect(await tokens.isAny()).toBe(false)
  })

  it('ends at once here when it is revoked, and within five seconds everywhere', async () => {
    const { tokens, others, runtime } = scene()
    const { token, view } = await tokens.create({ name: 'ci', scopes: ['read'] }, 'ada')
    await tokens.verify(token)
    await others.verify(token)

    expect(await tokens.revoke(view.id)).toBe(true)

    expect(await tokens.verify(token)).toBeNull()
    await runtime.advance(5_000)
    expect(await others.verify(token)).toBeNull()
    expect(await tokens.revoke(view.id)).toBe(false)
  })

  it('that is revoked while somebody notes its use does not come back', async () => {
    const { tokens, others, runtime, asked } = scene()
    const { token, view } = await tokens.create({ name: 'ci', scopes: ['read'] }, 'ada')
    // A use is written down once a minute: the next one falls into the seconds in which it is still remembered.
    await others.verify(token)
    await runtime.advance(58_000)
    await others.verify(token)
    await runtime.advance(1_000)
    await tokens.revoke(view.id)
    asked.length = 0

    await runtime.advance(1_000)
    await others.verify(token)
    await runtime.settle()

    expect(asked).toEqual(['put'])
    expect(await tokens.all()).toEqual([])
    expect(await tokens.verify(token)).toBeNull()
  })

  it('counts for a minute more while the store does not answer, and not for longer', async () => {
    const made = scene()
    const { token } = await made.tokens.create({ name: 'ci', scopes: ['read'] }, 'ada')
    await made.tokens.verify(token)
    made.outage = true

    await made.runtime.advance(30_000)
    expect(await made.tokens.verify(token)).not.toBeNull()
    await made.runtime.advance(60_000)
    await expect(made.tokens.verify(token)).rejects.toThrow(StoreError)
    made.outage = false
    expect(await made.tokens.verify(token)).not.toBeNull()
  })

  it('tells when it was last used, written once a minute', async () => {
    const { tokens, runtime, asked } = scene()
    const { token } = await tokens.create({ name: 'ci', scopes: ['read'] }, 'ada')
    asked.length = 0

    for (let s = 0; s < 150; s++) {
      await tokens.verify(token)
      await runtime.advance(1_000)
    }

    expect(asked.filter((name) => name === 'put')).toHaveLength(3)
    const [used] = await tokens.all()
    expect(runtime.now() - (used?.lastUsedAt ?? 0)).toBeLessThanOrEqual(60_000)
  })

  it('has a name of its own, so that the audit is clear', async () => {
    const { tokens } = scene()
    await tokens.create({ name: 'ci', scopes: ['read'] }, 'ada')

    await expect(tokens.create({ name: 'ci', scopes: ['read'] }, 'ada')).rejects.toThrow(/already/)
  })

  it('is found among hundreds', async () => {
    const { tokens } = scene()
    const made = []
    for (let i = 0; i < 450; i++) made.push(await tokens.create({ name: `t${i}`, scopes: ['read'] }, 'ada'))

    const all = await tokens.all()

    expect(all.map(({ name }) => name).sort()).toEqual(made.map(({ view }) => view.name).sort())
  })

  it.each([
    [{ name: '', scopes: ['read'] }],
    [{ name: 'a\nb', scopes: ['read'] }],
    [{ name: 'x', scopes: [] }],
    [{ name: 'x', scopes: ['root'] }],
    [{ name: 'x', scopes: ['read'], space: 'a b' }],
    [{ name: 'x', scopes: ['read'], queues: [] }],
    [{ name: 'x', scopes: ['read'], queues: ['a b'] }],
    [{ name: 'x', scopes: ['read'], expires: 'soon' }],
    [{ name: 'x', scopes: ['read'], expires: 0 }],
  ])('is not made of nonsense: %j', async (fields) => {
    const { tokens } = scene()

    await expect(tokens.create(fields as never, 'ada')).rejects.toThrow()
    expect(await tokens.all()).toEqual([])
  })

  it('shows payloads to admins, and to others only if it says so', async () => {
    const { tokens } = scene()
    const admin = await tokens.create({ name: 'a', scopes: ['admin'] }, 'ada')
    const reader = await tokens.create({ name: 'b', scopes: ['read'] }, 'ada')
    const trusted = await tokens.create({ name: 'c', scopes: ['read'], payloads: true }, 'ada')

    expect([admin, reader, trusted].map(({ view }) => view.payloads)).toEqual([true, false, true])
  })

  it('of every space acts in the usual one until it names another', async () => {
    const { tokens } = scene()
    const { token } = await tokens.create({ name: 'a', scopes: ['read'], space: '*' }, 'ada')

    const found = await tokens.verify(token)

    expect(found && credentialOf(found)).toMatchObject({ space: 'default', spaces: '*' })
  })
})

describe('a token given at the start', () => {
  const runtime = virtualRuntime({ seed: 1 })
  const text = 'a-long-text-that-nobody-guesses'

  it('is known by its text or by its hash', () => {
    const given = resolveGiven(
      [
        { name: 'a', scopes: ['read'], token: text },
        { name: 'b', scopes: ['read'], hash: hashOf(`${text}!`) },
      ],
      runtime,
    )

    expect(findGiven(given, text, runtime.now())?.name).toBe('a')
    expect(findGiven(given, `${text}!`, runtime.now())?.name).toBe('b')
    expect(findGiven(given, `${text}?`, runtime.now())).toBeNull()
    expect(JSON.stringify(given)).not.toContain(text)
  })

  it.each([{ token: 'short' }, { token: `with space ${text}` }, { hash: 'abc' }, {}])(
    'is refused if it is not safe: %j',
    (one) => {
      expect(() => resolveGiven([{ name: 'a', scopes: ['read'], ...one }], runtime)).toThrow(/token/)
    },
  )

  it('ends like any other', async () => {
    const given = resolveGiven([{ name: 'a', scopes: ['read'], token: text, expires: '1m' }], runtime)

    expect(findGiven(given, text, runtime.now() + 59_999)).not.toBeNull()
    expect(findGiven(given, text, runtime.now() + 60_000)).toBeNull()
  })

  it('may come from the environment, or better from a file that it names', async ({ task }) => {
    const { mkdtemp, writeFile, rm } = await import('node:fs/promises')
    const folder = await mkdtemp(`/tmp/skep-${task.id}-`)
    await writeFile(`${folder}/token`, `${text}\n`)

    expect(tokenOfEnvironment({})).toBeNull()
    expect(tokenOfEnvironment({ SKEP_TOKEN: '' })).toBeNull()
    expect(tokenOfEnvironment({ SKEP_TOKEN: text })).toMatchObject({ token: text, space: '*' })
    expect(tokenOfEnvironment({ SKEP_TOKEN_FILE: `${folder}/token`, SKEP_TOKEN: 'x' })?.token).toBe(text)
    expect(() => tokenOfEnvironment({ SKEP_TOKEN_FILE: `${folder}/none` })).toThrow(/cannot be read/)
    await rm(folder, { recursive: true })
  })
})

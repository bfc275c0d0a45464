/** Tokens that are made and revoked while servers run. */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ServiceError, status } from '@grpc/grpc-js'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createSkep, type Skep, type Store, silentLogger } from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory.ts'
import { postgresStore } from '../../../src/postgres.ts'
import { redisStore } from '../../../src/redis.ts'
import { accessTokens, createServer } from '../../../src/server.ts'
import { sqliteStore } from '../../../src/sqlite.ts'
import { grpcClient } from '../../grpc/stage.ts'
import { freshDatabase, redisUrlVariable } from '../../servers/index.ts'
import { desk } from '../access/desk.ts'

function skepOn(store: Store): Skep {
  const skep = createSkep({ store, logger: silentLogger })
  onTestFinished(() => skep.close())
  return skep
}

type OpenStores = () => [Store, Store] | Promise<[Store, Store]>

/** Two programs on one store, each with a server on loopback. */
async function twoServers(stores: OpenStores): Promise<{ urls: string[]; skep: Skep }> {
  const skeps = (await stores()).map(skepOn)
  const urls: string[] = []
  for (const skep of skeps) {
    const server = createServer(skep, { logger: silentLogger, dashboard: false })
    onTestFinished(() => server.close())
    urls.push((await server.listen({ port: 0 })).url)
  }
  return { urls, skep: skeps[0] as Skep }
}

const STORES: Readonly<Record<string, OpenStores>> = {
  memory: () => {
    const store = memoryStore()
    return [store, store]
  },
  SQLite: () => {
    const folder = mkdtempSync(join(tmpdir(), 'skep-tokens-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const file = join(folder, 'skep.db')
    return [sqliteStore({ file }), sqliteStore({ file })]
  },
  Postgres: async () => {
    const { url, drop } = await freshDatabase()
    onTestFinished(drop)
    return [postgresStore({ url, migrate: true }), postgresStore({ url, migrate: true })]
  },
  Redis: () => {
    const options = {
      url: process.env[redisUrlVariable] as string,
      prefix: `tokens-${randomUUID()}`,
      unsafe: { lateFsync: true },
    }
    return [redisStore(options), redisStore(options)]
  },
}

async function statusOf(url: string, token?: string): Promise<number> {
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const response = await fetch(`${url}/api/v1/me`, { headers })
  await response.arrayBuffer()
  return response.status
}

/** The same over gRPC. */
async function grpcStatusOf(url: string, token?: string): Promise<string | undefined> {
  const { operations, call } = grpcClient(new URL(url).host)
  const code = await call(operations, 'MeGet', {}, token).then(
    () => status.OK,
    (error: ServiceError) => error.code,
  )
  return status[code]
}

describe.each(Object.entries(STORES))('servers on %s that were started without a token', (_name, stores) => {
  it('close to everybody once a token exists, all of them, and stay closed when it is revoked', async () => {
    const { urls, skep } = await twoServers(stores)
    const before = await Promise.all(urls.map((url) => statusOf(url)))
    const grpcBefore = await Promise.all(urls.map((url) => grpcStatusOf(url)))

    const { token, view } = await accessTokens(skep).create({ name: 'ci', scopes: ['read'] }, 'test')
    for (const url of urls) await expect.poll(() => statusOf(url)).toBe(401)
    const grpcAfter = await Promise.all(urls.map((url) => grpcStatusOf(url)))
    const withToken = await Promise.all(urls.map((url) => statusOf(url, token)))
    const grpcWithToken = await Promise.all(urls.map((url) => grpcStatusOf(url, token)))
    await accessTokens(skep).revoke(view.id)
    for (const url of urls) await expect.poll(() => statusOf(url, token)).toBe(401)
    const after = await Promise.all(urls.map((url) => statusOf(url)))

    expect({ before, withToken, after }).toEqual({
      before: [200, 200],
      withToken: [200, 200],
      after: [401, 401],
    })
    expect({ grpcBefore, grpcAfter, grpcWithToken }).toEqual({
      grpcBefore: ['OK', 'OK'],
      grpcAfter: ['UNAUTHENTICATED', 'UNAUTHENTICATED'],
      grpcWithToken: ['OK', 'OK'],
    })
  })

  it('end the streams of those who came without one', async () => {
    const { urls, skep } = await twoServers(stores)
    const streams = await Promise.all(urls.map((url) => fetch(`${url}/api/v1/events`)))

    await accessTokens(skep).create({ name: 'ci', scopes: ['read'] }, 'test')
    // A stream asks again every 10 s. If it goes on, the test does not end.
    const texts = await Promise.all(streams.map((stream) => stream.text()))

    expect(texts).toEqual(streams.map(() => expect.stringContaining('retry:')))
  }, 90_000)
})

describe('an open server', () => {
  it('asks its store every two seconds at most, whoever comes', async () => {
    let asked = 0
    const { access, ask, runtime } = desk(
      {},
      {
        records: (store) => ({
          putRecords: (given) => store.putRecords(given),
          getRecords: (given) => store.getRecords(given),
          removeRecords: (given) => store.removeRecords(given),
          listRecords: (given) => {
            asked++
            return store.listRecords(given)
          },
        }),
      },
    )
    await access.listen('127.0.0.1')
    await Promise.all(Array.from({ length: 20 }, () => ask()))
    expect(asked).toBe(1)

    await runtime.advance(2_000)
    await Promise.all(Array.from({ length: 20 }, () => ask()))

    expect(asked).toBe(2)
  })

  it('stays open for a minute while its store is away, and no longer', async () => {
    let isAway = false
    const { access, ask, runtime } = desk(
      {},
      {
        records: (store) => ({
          putRecords: (given) => store.putRecords(given),
          getRecords: (given) => store.getRecords(given),
          removeRecords: (given) => store.removeRecords(given),
          listRecords: (given) => (isAway ? Promise.reject(new Error('away')) : store.listRecords(given)),
        }),
      },
    )
    await access.listen('127.0.0.1')
    expect((await ask()).said).toBe('local')

    isAway = true
    await runtime.advance(30_000)
    expect((await ask()).said).toBe('local')
    await runtime.advance(30_001)

    await expect(ask()).rejects.toThrow('away')
  })

  it('lets whoever made its first token log in with it', async () => {
    const { urls } = await twoServers(STORES['memory'] as OpenStores)
    const post = { method: 'POST', headers: { 'content-type': 'application/json' } }
    const created = await fetch(`${urls[0]}/api/v1/tokens`, {
      ...post,
      body: JSON.stringify({ name: 'me', scopes: ['admin'] }),
    })
    const { token } = (await created.json()) as { token: string }

    const login = await fetch(`${urls[0]}/api/v1/login`, { ...post, body: JSON.stringify({ token }) })
    const cookie = login.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    for (const url of urls) await expect.poll(() => statusOf(url)).toBe(401)
    const me = await fetch(`${urls[0]}/api/v1/me`, { headers: { cookie } })

    expect(await me.json()).toMatchObject({ name: 'me', scopes: ['read', 'operate', 'admin'] })
  })
})

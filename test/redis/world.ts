// What the tests of the Redis store share: servers of their own, stores on them, and a worker that counts what it ran.

import { type RedisOptions as IoRedisOptions, Redis } from 'ioredis'
import { onTestFinished, type TestContext } from 'vitest'
import type { ClaimedJob } from '../../src/core/jobs/job.ts'
import { createSkep, queue, type Skep } from '../../src/index.ts'
import { type RedisStoreOptions, redisStore } from '../../src/redis.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'
import type { Store } from '../../src/store/store.ts'
import {
  type RedisOptions,
  type RedisServer,
  reasonToSkip,
  redisUrlVariable,
  startRedis,
} from '../servers/index.ts'
import { take, verdict } from '../support/claims.ts'

export { newJob, newJobs } from '../support/new-job.ts'
export { take, verdict }

export const { uuid } = systemRuntime()

/** The one server of the test run. Nobody may harm it. */
export const sharedUrl = process.env[redisUrlVariable] as string

export interface World extends RedisServer {
  /** A store on this server, closed when the test ends. */
  open(options?: Partial<RedisStoreOptions>): Promise<Store>
}

/** A server of the test's own, gone when it ends. Skips the test where there is no Redis. */
export async function createWorld(
  t: TestContext,
  settings: Readonly<Record<string, string>> = {},
  appendfsync: RedisOptions['appendfsync'] = 'always',
): Promise<World> {
  const { redis, reason } = await startRedis({ appendfsync, settings: { maxmemory: '200mb', ...settings } })
  if (!redis) return t.skip(reasonToSkip(reason))
  onTestFinished(async () => {
    redis.resume()
    await redis.stop()
  })
  return { ...redis, open: (options = {}) => openStore({ url: redis.url, ...options }) }
}

/** A store, closed when the test ends. */
export async function openStore(options: RedisStoreOptions): Promise<Store> {
  const { url, ...rest } = options
  const store = redisStore(rest.client ? rest : { ...rest, url: url as string })
  onTestFinished(() => store.close())
  await store.ready()
  return store
}

/** A client of ioredis, ended when the test ends. */
export function ioredis(url: string, options: IoRedisOptions = {}): Redis {
  const client = new Redis(url, options as object)
  client.on('error', () => {})
  onTestFinished(() => client.disconnect())
  return client
}

/** Settles jobs as they were claimed. */
export async function finish(store: Store, jobs: readonly ClaimedJob[]): Promise<void> {
  await store.settle({
    settlements: jobs.map(({ space, id, token }) => ({ space, id, token, verdict: verdict() })),
  })
}

export async function countOf(store: Store): Promise<Readonly<Record<string, number>>> {
  const { queues } = await store.counts({ space: 'acme', queues: ['mail'] })
  return queues[0]?.states ?? {}
}

/** The code with which a call fails, or "ok". */
export async function codeOf(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'ok',
    (error: unknown) => String((error as { code?: unknown }).code),
  )
}

export interface Crew {
  readonly skep: Skep
  /** How often each number was handled. */
  readonly handled: Map<number, number>
  /** Enqueues these numbers one after the other; answers those that were acknowledged. */
  enqueue(numbers: Iterable<number>): Promise<number[]>
  /** Waits until all of these were handled. */
  done(numbers: readonly number[], ms?: number): Promise<void>
}

/** A client and a running worker on a store. */
export function createCrew(store: Store): Crew {
  const numbers = queue<number>('numbers')
  const skep = createSkep({ store })
  const handled = new Map<number, number>()
  skep.worker([
    numbers.handle(({ payload }) => {
      handled.set(payload, (handled.get(payload) ?? 0) + 1)
    }),
  ])
  onTestFinished(() => skep.close())
  return {
    skep,
    handled,
    async enqueue(wanted) {
      const acknowledged: number[] = []
      for (const number of wanted) {
        const isThere = await skep.enqueue(numbers, number).then(
          () => true,
          () => false,
        )
        if (isThere) acknowledged.push(number)
      }
      return acknowledged
    },
    async done(wanted, ms = 20_000) {
      await eventually('all jobs to run', () => wanted.every((number) => handled.has(number)), ms)
    },
  }
}

export function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index)
}

/** Resolves as soon as `condition` holds; gives up, with `what` in the message, after a while. */
export async function eventually(
  what: string,
  condition: () => Promise<boolean> | boolean,
  ms = 10_000,
): Promise<void> {
  const { mono, timer } = systemRuntime()
  const deadline = mono() + ms
  while (!(await condition())) {
    if (mono() > deadline) throw new Error(`Waited ${ms} ms for ${what}.`)
    await new Promise<void>((resolve) => timer(20, resolve))
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => systemRuntime().timer(ms, resolve))
}

// What the tests of the Postgres store share: a database, stores on it, jobs, and a way to talk to it in SQL.

import pg from 'pg'
import { onTestFinished } from 'vitest'
import type { ClaimedJob } from '../../src/core/job.ts'
import type { Verdict } from '../../src/core/policy.ts'
import { grantSql, type PostgresStoreOptions, postgresStore } from '../../src/postgres.ts'
import { systemRuntime } from '../../src/runtime.ts'
import type { Store } from '../../src/store.ts'
import { freshDatabase } from '../servers/index.ts'

export { newJob, newJobs } from '../support/new-job.ts'

export const { uuid } = systemRuntime()

export interface World {
  readonly url: string
  /** Runs SQL as the superuser, on a connection of its own, one statement after the other. */
  sql(text: string, params?: unknown[]): Promise<Record<string, any>[]>
  /** A store on this database, closed when the test ends. */
  open(options?: Partial<PostgresStoreOptions>): Promise<Store>
  /** The address for a new role that may use the queue and nothing else. The schema must be there. */
  roleUrl(options?: string): Promise<string>
}

/** A database of the test's own, removed when it ends. */
export async function createWorld(): Promise<World> {
  const database = await freshDatabase()
  const client = new pg.Client({ connectionString: database.url })
  client.on('error', () => {})
  await client.connect()
  const stores: Store[] = []
  const roles: string[] = []
  let asked: Promise<unknown> = Promise.resolve()
  onTestFinished(async () => {
    await Promise.all(stores.map((store) => store.close()))
    for (const role of roles) await client.query(`drop owned by ${role}; drop role ${role}`)
    await client.end()
    await database.drop()
  })
  return {
    url: database.url,
    sql(text, params) {
      const asking = asked.then(async () => (await client.query(text, params)).rows)
      asked = asking.catch(() => {})
      return asking
    },
    async open(options = {}) {
      const way = options.pool || options.sql ? {} : { url: database.url }
      const store = postgresStore({ ...way, ...options })
      stores.push(store)
      await store.ready()
      return store
    },
    async roleUrl(options = '') {
      const role = `app_${uuid().slice(-12)}`
      await client.query(`create role ${role} login nosuperuser nocreatedb nocreaterole ${options}`)
      roles.push(role)
      await client.query(grantSql({ role }))
      const url = new URL(database.url)
      url.username = role
      return url.href
    },
  }
}

/** Claims from the queue `mail` of the space `acme`. */
export async function take(store: Store, limit = 10, workerId = 'worker'): Promise<readonly ClaimedJob[]> {
  const { jobs } = await store.claim({
    sources: [{ space: 'acme', queue: 'mail', limit }],
    limit,
    workerId,
    token: uuid(),
    leaseMs: 60_000,
  })
  return jobs
}

export function verdict(difference: Partial<Verdict> = {}): Verdict {
  return {
    to: 'done',
    keepMs: 3_600_000,
    delayMs: 0,
    count: null,
    refund: false,
    keepPlace: false,
    keepCancelledMs: 0,
    result: null,
    failure: null,
    ...difference,
  }
}

/** Settles jobs as they were claimed. */
export async function finish(
  store: Store,
  jobs: readonly ClaimedJob[],
  difference: Partial<Verdict> = {},
  now?: number,
): Promise<void> {
  const settlements = jobs.map(({ id, token }) => ({ id, token, verdict: verdict(difference) }))
  await store.settle({ settlements, ...(now === undefined ? {} : { now }) })
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

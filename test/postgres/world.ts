// What the tests of the Postgres store share: a database, stores on it, jobs, and a way to talk to it in SQL.

import pg from 'pg'
import { onTestFinished } from 'vitest'
import type { ClaimedJob } from '../../src/core/jobs/job.ts'
import type { Verdict } from '../../src/core/policies/policy.ts'
import { grantSql, type PostgresStoreOptions, postgresStore } from '../../src/postgres.ts'
import { systemRuntime } from '../../src/runtime/runtime.ts'
import type { Store } from '../../src/store/store.ts'
import { freshDatabase } from '../servers/index.ts'
import { take, verdict } from '../support/claims.ts'

export { newJob, newJobs } from '../support/new-job.ts'
export { take, verdict }

export const { uuid } = systemRuntime()

export interface World {
  readonly url: string
  /** Runs SQL as the superuser, on a connection of its own, one statement after the other. */
  sql(text: string, params?: unknown[]): Promise<Record<string, any>[]>
  /** The same, past the triggers that refuse writes by hand. */
  tamper(text: string, params?: unknown[]): Promise<Record<string, any>[]>
  /** A store on this database, closed when the test ends. */
  open(options?: Partial<PostgresStoreOptions>): Promise<Store>
  /** The address for a new role that may use the queue and nothing else. The schema must be there. */
  roleUrl(options?: string, access?: 'use' | 'read'): Promise<string>
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
  const sql: World['sql'] = (text, params) => {
    const asking = asked.then(async () => (await client.query(text, params)).rows)
    asked = asking.catch(() => {})
    return asking
  }
  return {
    url: database.url,
    sql,
    async tamper(text, params) {
      await sql('set search_path = skep, pg_temp')
      try {
        return await sql(text, params)
      } finally {
        await sql('reset search_path')
      }
    },
    async open(options = {}) {
      const way = options.pool || options.sql ? {} : { url: database.url }
      const store = postgresStore({ ...way, ...options })
      stores.push(store)
      await store.ready()
      return store
    },
    async roleUrl(options = '', access = 'use') {
      const role = `app_${uuid().slice(-12)}`
      await client.query(`create role ${role} login nosuperuser nocreatedb nocreaterole ${options}`)
      roles.push(role)
      await client.query(grantSql({ role, access }))
      const url = new URL(database.url)
      url.username = role
      return url.href
    },
  }
}

/** Settles jobs as they were claimed. */
export async function finish(
  store: Store,
  jobs: readonly ClaimedJob[],
  difference: Partial<Verdict> = {},
  now?: number,
): Promise<void> {
  const settlements = jobs.map(({ space, id, token }) => ({ space, id, token, verdict: verdict(difference) }))
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

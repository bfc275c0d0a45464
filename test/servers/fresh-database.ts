// A database of its own for every test file, or every test: nobody sees anybody else's jobs.

import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { postgresUrlVariable } from './postgres.ts'

export interface FreshDatabase extends AsyncDisposable {
  readonly name: string
  readonly url: string
  /** Ends what is still connected and removes the database. */
  drop(): Promise<void>
}

/** Creates an empty database on the test server. */
export async function freshDatabase(): Promise<FreshDatabase> {
  const server = process.env[postgresUrlVariable]
  if (!server) {
    throw new Error(
      `${postgresUrlVariable} is not set. Run through vitest, or: node scripts/with-postgres.mjs -- <command>`,
    )
  }
  const name = `skep_test_${process.pid}_${randomBytes(6).toString('hex')}`
  await administer(server, `create database ${name}`)

  const url = new URL(server)
  url.pathname = `/${name}`
  const drop = async (): Promise<void> => {
    for (let tries = 1; ; tries++) {
      try {
        return await administer(server, `drop database if exists ${name} with (force)`)
      } catch (error) {
        // Dropping waits for a checkpoint, which fails now and then when other databases vanish at that moment.
        if (tries === 5 || !String(error).includes('checkpoint request failed')) throw error
      }
    }
  }
  return { name, url: url.href, drop, [Symbol.asyncDispose]: drop }
}

async function administer(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

/** Reads a Postgres store's tables past the store. */
import pg from 'pg'
import { JOB_STATES, type JobState } from '../../src/index.ts'
import type { Holdings, StoredJob } from './verdict.ts'

export async function postgresHoldings(url: string): Promise<Holdings> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<Omit<StoredJob, 'state'> & { readonly state: number }>(
      `select id, queue, state, payload, result from skep.jobs
       union all select id, queue, state, payload, result from skep.archive`,
    )
    const discarded = await client.query<{ readonly id: string }>(
      'select unnest(ids) as id from skep.discarded',
    )
    const ids = new Set(discarded.rows.map(({ id }) => id))
    return {
      jobs: rows.map((row) => ({ ...row, state: JOB_STATES[row.state] as JobState })),
      wasDiscarded: (id) => ids.has(id),
    }
  } finally {
    await client.end()
  }
}

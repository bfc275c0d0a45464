/**
 * The limit on Postgres: the same work done by hand, without retries, policies, leases that are renewed, counts, unique
 * keys or history. What a queue reaches of it is what it leaves of the machine.
 */
import type pg from 'pg'
import type { Payload } from '../contest.ts'
import type { OpenLine } from '../line.ts'
import { requireFromRoot } from '../root.ts'

const TABLE = `
  create table if not exists raw (
    id bigint generated always as identity primary key, queue text, rank bigint, state smallint default 0, lease bigint, payload text);
  create index if not exists raw_ready on raw (queue, rank, id) where state = 0`

const INSERT_ONE = {
  name: 'insert-one',
  text: `insert into raw (queue, rank, payload) values ('q', $1::bigint, $2::text)`,
}

const INSERT_MANY = {
  name: 'insert-many',
  text: `insert into raw (queue, rank, payload) select 'q', $1::bigint, payload from unnest($2::text[]) as u(payload)`,
}

/** Deletes what was finished and takes the next. The limit is no parameter: its plan must not fit every limit. */
const FINISH_AND_TAKE = {
  name: 'finish-and-take',
  text: `with done as (delete from raw where id = any($1::bigint[]))
    update raw set state = 1, lease = $2::bigint where id = any(array(
      select id from raw where state = 0 and queue = 'q' order by rank, id limit 500 for update skip locked))
    returning id, payload`,
}

const BULK = 1_000

export const open: OpenLine = async ({ address }) => {
  if (address.kind !== 'postgres') throw new Error('This line is for Postgres.')
  const { Client } = requireFromRoot('pg') as typeof pg
  const connect = async (): Promise<pg.Client> => {
    const client = new Client(address.url)
    await client.connect()
    // Without statistics the planner would sort the whole table for every claim.
    await client.query('set enable_sort = off; set enable_bitmapscan = off; set enable_seqscan = off')
    return client
  }
  const client = await connect()
  // A second session, so that one can send while the other's statement runs.
  const second = await connect()
  await client.query(TABLE)

  const insert = (session: pg.Client, jobs: readonly Payload[]): Promise<unknown> =>
    session.query({
      ...INSERT_MANY,
      values: [Date.now(), jobs.map((job) => JSON.stringify(job))],
    })

  return {
    enqueue: (job) => client.query({ ...INSERT_ONE, values: [Date.now(), JSON.stringify(job)] }),

    async enqueueMany(jobs) {
      let next = 0
      const send = async (session: pg.Client): Promise<void> => {
        while (next < jobs.length) {
          const begin = next
          next += BULK
          await insert(session, jobs.slice(begin, begin + BULK))
        }
      }
      await Promise.all(jobs.length > BULK ? [send(client), send(second)] : [send(client)])
    },

    async work(_concurrency, handle) {
      let stopping = false
      let taken: string[] = []
      const finishAndTake = async (): Promise<Payload[]> => {
        const { rows } = await client.query<{ id: string; payload: string }>({
          ...FINISH_AND_TAKE,
          values: [taken, Date.now() + 30_000],
        })
        taken = rows.map((row) => row.id)
        return rows.map((row) => JSON.parse(row.payload) as Payload)
      }
      const loop = async (): Promise<void> => {
        while (!stopping) {
          const jobs = await finishAndTake()
          for (const job of jobs) await handle(job)
          if (jobs.length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
        }
        await client.query('delete from raw where id = any($1::bigint[])', [taken])
      }
      const ended = loop()
      return async () => {
        stopping = true
        await ended
      }
    },

    async count() {
      const { rows } = await client.query<{ count: string }>('select count(*) as count from raw')
      return { open: Number(rows[0]?.count), kept: 0 }
    },

    async close() {
      await Promise.all([client.end(), second.end()])
    },
  }
}

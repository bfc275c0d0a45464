/** The limit on SQLite: the same work done by hand, with the driver that Skep takes. See raw-postgres.ts. */
import type * as sqlite from '@photostructure/sqlite'
import type { Payload } from '../contest.ts'
import type { OpenLine } from '../line.ts'
import { requireFromRoot } from '../root.ts'

const BULK = 10_000

export const open: OpenLine = async ({ address, options }) => {
  if (address.kind !== 'sqlite') throw new Error('This line is for SQLite.')
  const { DatabaseSync } = requireFromRoot('@photostructure/sqlite') as typeof sqlite
  const db = new DatabaseSync(address.file)
  db.exec(`pragma busy_timeout = 10000; pragma journal_mode = wal;
    pragma synchronous = ${options['synchronous'] === 'normal' ? 'normal' : 'full'};
    create table if not exists raw (
      id integer primary key, queue text, rank integer, state integer default 0, lease integer, payload text);
    create index if not exists raw_ready on raw (queue, rank) where state = 0`)
  const begin = db.prepare('begin immediate')
  const commit = db.prepare('commit')
  const insertOne = db.prepare("insert into raw (queue, rank, payload) values ('q', ?, ?)")
  // One statement with all of them as one text: a step for each costs twice as much.
  const insertMany = db.prepare(
    "insert into raw (queue, rank, payload) select 'q', ?, value from json_each(?)",
  )
  const remove = db.prepare('delete from raw where id in (select value from json_each(?))')
  const take = db.prepare(`update raw set state = 1, lease = ? where id in (
    select id from raw where state = 0 and queue = 'q' order by rank, id limit 500) returning id, payload`)
  const count = db.prepare('select count(*) as count from raw')

  return {
    async enqueue(job) {
      insertOne.run(Date.now(), JSON.stringify(job))
    },

    async enqueueMany(jobs) {
      for (let from = 0; from < jobs.length; from += BULK) {
        insertMany.run(Date.now(), JSON.stringify(jobs.slice(from, from + BULK)))
      }
    },

    async work(_concurrency, handle) {
      let stopping = false
      let taken: number[] = []
      const loop = async (): Promise<void> => {
        while (!stopping) {
          begin.run()
          remove.run(JSON.stringify(taken))
          const rows = take.all(Date.now() + 30_000) as unknown as { id: number; payload: string }[]
          commit.run()
          taken = rows.map((row) => row.id)
          for (const row of rows) await handle(JSON.parse(row.payload) as Payload)
          // Room for whoever wants to stop it.
          await new Promise((resolve) => (rows.length === 0 ? setTimeout(resolve, 1) : setImmediate(resolve)))
        }
        remove.run(JSON.stringify(taken))
      }
      const ended = loop()
      return async () => {
        stopping = true
        await ended
      }
    },

    async count() {
      return { open: Number((count.get() as { count: number }).count), kept: 0 }
    },

    async close() {
      db.close()
    },
  }
}

/**
 * The limit: the same work done by hand on the same database, without retries, policies, leases that are renewed, counts,
 * unique keys or history. What a queue reaches of it is what it leaves of the machine.
 */
import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { type Address, type Contestant, payload, type Sizes } from './contest.ts'

/** What every database does by hand. */
interface Raw {
  insert(payloads: readonly string[]): Promise<void>
  /** Deletes what was finished and takes the next 500; returns how many it took. */
  finishAndTake(): Promise<number>
  close(): Promise<void>
}

type RawScenario = (raw: Raw, sizes: Sizes) => Promise<number>

export const RAW_SCENARIOS: Readonly<Record<string, RawScenario>> = {
  'enqueue, one awaited': async (raw, { oneByOne }) => {
    const seconds = await timed(async () => {
      for (let n = 0; n < oneByOne; n++) await raw.insert([text(n)])
    })
    return oneByOne / seconds
  },
  'enqueue, 100 callers': async (raw, { callers }) => {
    const seconds = await timed(async () => {
      // A hundred callers who all wait for the same commit: batches of a hundred.
      for (let n = 0; n < callers; n += 100)
        await raw.insert(Array.from({ length: 100 }, (_, i) => text(n + i)))
    })
    return callers / seconds
  },
  'bulk enqueue': async (raw, { bulk }) => {
    const seconds = await timed(() => fill(raw, bulk))
    return bulk / seconds
  },
  'drain, discard': async (raw, sizes) => {
    await fill(raw, sizes.drain)
    const seconds = await timed(async () => {
      while ((await raw.finishAndTake()) > 0) {
        // Nothing is done with them: the handler of the others does nothing either.
      }
    })
    return sizes.drain / seconds
  },
}

export async function measureRaw(run: RawScenario, { address }: Contestant, sizes: Sizes): Promise<number> {
  const raw = await openRaw(address)
  try {
    return await run(raw, sizes)
  } finally {
    await raw.close()
  }
}

async function openRaw(address: Address): Promise<Raw> {
  if (address.kind === 'postgres') return rawPostgres(address.url)
  if (address.kind === 'sqlite') return rawSqlite(address.file, address.synchronous)
  throw new Error('There is nothing raw about memory.')
}

async function rawPostgres(url: string): Promise<Raw> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query(`
    create table raw (id uuid primary key, queue text, rank bigint, state smallint default 0, lease bigint, payload text);
    create index on raw (queue, rank, id) where state = 0;
    set enable_sort = off; set enable_bitmapscan = off; set enable_seqscan = off`)
  let taken: string[] = []
  return {
    async insert(payloads) {
      await client.query({
        name: 'insert',
        text: `insert into raw (id, queue, rank, payload) select id, 'q', $1::bigint, payload
          from unnest($2::uuid[], $3::text[]) as u(id, payload)`,
        values: [Date.now(), payloads.map(() => randomUUID()), payloads],
      })
    },
    async finishAndTake() {
      const { rows } = await client.query<{ id: string; payload: string }>({
        name: 'take',
        text: `with done as (delete from raw where id = any($1::uuid[]))
          update raw set state = 1, lease = $2::bigint where id = any(array(
            select id from raw where state = 0 and queue = 'q' order by rank, id limit 500 for update skip locked))
          returning id, payload`,
        values: [taken, Date.now() + 30_000],
      })
      taken = rows.map((row) => row.id)
      return rows.length
    },
    close: () => client.end(),
  }
}

async function rawSqlite(file: string, synchronous: string): Promise<Raw> {
  const { DatabaseSync } = (await import('@photostructure/sqlite')) as typeof import('@photostructure/sqlite')
  const db = new DatabaseSync(file)
  db.exec(`pragma journal_mode = wal; pragma synchronous = ${synchronous};
    create table raw (id text primary key, queue text, rank integer, state integer default 0, lease integer, payload text);
    create index raw_ready on raw (queue, rank, id) where state = 0`)
  const insert = db.prepare("insert into raw (id, queue, rank, payload) values (?, 'q', ?, ?)")
  const remove = db.prepare('delete from raw where id = ?')
  const take = db.prepare(`update raw set state = 1, lease = ? where id in (
    select id from raw where state = 0 and queue = 'q' order by rank, id limit 500) returning id, payload`)
  let taken: string[] = []
  return {
    async insert(payloads) {
      db.exec('begin immediate')
      const now = Date.now()
      for (const one of payloads) insert.run(randomUUID(), now, one)
      db.exec('commit')
    },
    async finishAndTake() {
      db.exec('begin immediate')
      for (const id of taken) remove.run(id)
      const rows = take.all(Date.now() + 30_000) as unknown as { id: string }[]
      db.exec('commit')
      taken = rows.map((row) => row.id)
      return rows.length
    },
    async close() {
      db.close()
    },
  }
}

async function fill(raw: Raw, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1_000)
    await raw.insert(Array.from({ length: 1_000 }, (_, i) => text(n + i)))
}

function text(n: number): string {
  return JSON.stringify(payload(n))
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const begin = performance.now()
  await run()
  return (performance.now() - begin) / 1_000
}

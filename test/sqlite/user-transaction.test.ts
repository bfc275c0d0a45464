import type { DatabaseSync } from '@photostructure/sqlite'
import { describe, expect, it } from 'vitest'
import { createSkep, queue, type Skep, silentLogger } from '../../src/index.ts'
import { sqliteStore, withTransaction } from '../../src/sqlite.ts'
import { freshFile, later, openHandle } from './support.ts'

const charge = queue<{ n: number }, string>('charge')
const receipt = queue<{ n: number }>('receipt')

type Db = InstanceType<typeof DatabaseSync>

function openSkep(file: string, client?: Db): Skep {
  const skep = createSkep({ store: sqliteStore(client ? { client } : { file }), logger: silentLogger })
  later(() => skep.close())
  return skep
}

function openLedger(file: string): Db {
  const db = openHandle(file)
  db.exec('CREATE TABLE IF NOT EXISTS ledger (n INTEGER PRIMARY KEY)')
  return db
}

function ledger(db: Db): number[] {
  const rows = db.prepare('SELECT n FROM ledger ORDER BY n').all() as { n: number }[]
  return rows.map(({ n }) => n)
}

const write = (tx: Db, n: number): unknown => tx.prepare('INSERT INTO ledger VALUES (?)').run(n)

/** Enough turns of the event loop for everything that only waits for its turn. */
async function turns(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve))
}

const range = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

describe.each([
  ['a handle for each transaction', 'apart'],
  ['one handle for all of them', 'together'],
  ["the store's own handle", 'shared'],
] as const)('Transactions by the handlers of a worker, with %s', (_name, way) => {
  it('all commit at concurrency 10, each once, with the jobs they enqueued', async () => {
    const file = freshFile()
    const db = openLedger(file)
    const skep = openSkep(file, way === 'shared' ? db : undefined)
    const errors: unknown[] = []
    skep.on('error', (event) => void errors.push(event))
    const jobs = await skep.enqueueMany(
      charge,
      range(40).map((n) => ({ n })),
    )

    const worker = skep.worker(
      [
        charge.handle(async (job) => {
          const handle = way === 'apart' ? openHandle(file) : db
          await withTransaction(handle, async (tx) => {
            write(tx, job.payload.n)
            await skep.enqueue(receipt, { n: job.payload.n }, { tx })
            await turns(3)
            await job.complete('charged', { tx })
          })
          return 'charged'
        }),
      ],
      { concurrency: 10 },
    )
    await Promise.all(jobs.map((job) => job.result()))
    await worker.stop()

    expect(errors).toEqual([])
    expect(ledger(db)).toEqual(range(40))
    expect(await skep.counts([charge, receipt])).toMatchObject([{ done: 40 }, { ready: 40 }])
  })
})

describe('withTransaction', () => {
  it('rolls everything back when the function throws, and passes its error on', async () => {
    const file = freshFile()
    const skep = openSkep(file)
    await skep.ready()
    const db = openLedger(file)

    const attempt = withTransaction(db, async (tx) => {
      write(tx, 1)
      await skep.enqueue(receipt, { n: 1 }, { tx })
      throw new Error('card declined')
    })

    await expect(attempt).rejects.toThrow('card declined')
    expect(ledger(db)).toEqual([])
    expect(await skep.counts([receipt])).toMatchObject([{ ready: 0 }])
    expect(await withTransaction(db, () => 'next')).toBe('next')
  })

  it('waits for a writer that it does not know, without blocking the event loop', async () => {
    const file = freshFile()
    const [db, other] = [openLedger(file), openLedger(file)]
    other.exec('BEGIN IMMEDIATE')
    write(other, 1)

    let isWritten = false
    const mine = withTransaction(db, (tx) => write(tx, 2)).then(() => {
      isWritten = true
    })
    await turns(50)
    const before = isWritten
    other.exec('COMMIT')
    await mine

    expect(before).toBe(false)
    expect(ledger(db)).toEqual([1, 2])
  })

  it('gives up after its timeout with nothing done', async () => {
    const file = freshFile()
    const [db, other] = [openLedger(file), openLedger(file)]
    other.exec('BEGIN IMMEDIATE')

    const attempt = withTransaction(db, (tx) => write(tx, 2), { timeout: '50ms' })

    await expect(attempt).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    other.exec('ROLLBACK')
    expect(ledger(db)).toEqual([])
  })

  it('refuses to wait for itself', async () => {
    const db = openLedger(freshFile())

    const attempt = withTransaction(db, () => withTransaction(db, () => 'never'))

    await expect(attempt).rejects.toMatchObject({ code: 'TX_UNSUPPORTED' })
    expect(await withTransaction(db, () => 'after')).toBe('after')
  })

  it('refuses what is no handle, and a function that ends the transaction itself', async () => {
    const db = openLedger(freshFile())

    await expect(withTransaction({} as Db, () => 1)).rejects.toMatchObject({ code: 'TX_UNSUPPORTED' })
    await expect(withTransaction(db, (tx) => tx.exec('COMMIT'))).rejects.toMatchObject({
      code: 'TX_UNSUPPORTED',
    })
  })
})

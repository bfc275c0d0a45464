import type { DatabaseSync } from '@photostructure/sqlite'
import { describe, expect, it } from 'vitest'
import { createSkep, never, queue, type Skep, silentLogger } from '../../src/index.ts'
import { sqliteStore, withTransaction } from '../../src/sqlite.ts'
import { freshFile, later, openHandle } from './support.ts'

const charge = queue<{ n: number }, string>('charge')
const once = queue<{ n: number }, string>('charge.once', { onError: never() })
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
    expect(await skep.queues.list([charge, receipt])).toMatchObject([{ done: 40 }, { ready: 40 }])
  })

  it('end after their time at concurrency 10 when a function never returns, and all others commit', async () => {
    const file = freshFile()
    const db = openLedger(file)
    const skep = openSkep(file, way === 'shared' ? db : undefined)
    const jobs = await skep.enqueueMany(
      once,
      range(30).map((n) => ({ n })),
    )
    const refused: unknown[] = []

    const worker = skep.worker(
      [
        once.handle(async (job) => {
          const { n } = job.payload
          const handle = way === 'apart' ? openHandle(file) : db
          const work = withTransaction(
            handle,
            async (tx) => {
              write(tx, n)
              await skep.enqueue(receipt, { n }, { tx })
              if (n % 10 === 0) await new Promise(() => {})
              await job.complete('charged', { tx })
            },
            { maxDuration: '200ms' },
          )
          await work.catch((error: unknown) => {
            refused.push(error)
            throw error
          })
          return 'charged'
        }),
      ],
      { concurrency: 10 },
    )
    const outcomes = await Promise.allSettled(jobs.map((job) => job.result()))
    await worker.stop()

    expect(outcomes.map(({ status }) => status === 'fulfilled')).toEqual(range(30).map((n) => n % 10 !== 0))
    expect(refused).toMatchObject(Array(3).fill({ code: 'TX_TIMEOUT', facts: { maxDurationMs: 200 } }))
    expect(ledger(db)).toEqual(range(30).filter((n) => n % 10 !== 0))
    expect(await skep.queues.list([once, receipt])).toMatchObject([{ done: 27 }, { ready: 27 }])
  })

  it('write nothing more after their time, not even into the next transaction on the same handle', async () => {
    const file = freshFile()
    const db = openLedger(file)
    const skep = openSkep(file, way === 'shared' ? db : undefined)
    await skep.ready()
    const first = way === 'apart' ? openHandle(file) : db
    let open = (): void => {}
    const gate = new Promise<void>((resolve) => {
      open = resolve
    })
    const late: unknown[] = []
    const attempt = async (run: () => unknown): Promise<void> => {
      try {
        await run()
      } catch (error) {
        late.push(error)
      }
    }

    let zombie: Promise<void> | undefined
    const overdue = withTransaction(
      first,
      (tx) => {
        const insert = tx.prepare('INSERT INTO ledger VALUES (?)')
        insert.run(1)
        zombie = (async () => {
          await gate
          await attempt(() => insert.run(2))
          await attempt(() => write(tx, 3))
          await attempt(() => tx.exec('INSERT INTO ledger VALUES (4)'))
          await attempt(() => tx.exec('COMMIT'))
          await attempt(() => skep.enqueue(receipt, { n: 5 }, { tx }))
          await attempt(() => withTransaction(tx, () => 6))
        })()
        return zombie
      },
      { maxDuration: '50ms' },
    )
    await expect(overdue).rejects.toMatchObject({ code: 'TX_TIMEOUT' })
    await withTransaction(db, async (tx) => {
      write(tx, 10)
      open()
      await zombie
    })

    expect(late).toMatchObject(Array(6).fill({ code: 'TX_TIMEOUT' }))
    expect(ledger(db)).toEqual([10])
    expect(await skep.queues.list([receipt])).toMatchObject([{ ready: 0, delayed: 0 }])
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
    expect(await skep.queues.list([receipt])).toMatchObject([{ ready: 0 }])
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

  it('lets the next function begin after as many that never return as there are before it', async () => {
    const db = openLedger(freshFile())
    const stuck = range(5).map(() =>
      withTransaction(db, () => new Promise(() => {}), { timeout: '100ms', maxDuration: '60ms' }),
    )

    const next = withTransaction(db, (tx) => write(tx, 1), { timeout: '100ms' })

    const outcomes = await Promise.allSettled(stuck)
    await next
    expect(outcomes).toMatchObject(Array(5).fill({ reason: { code: 'TX_TIMEOUT' } }))
    expect(ledger(db)).toEqual([1])
  })

  it('refuses what an ended function left behind', async () => {
    const db = openLedger(freshFile())
    const kept = await withTransaction(db, (tx) => [tx, tx.prepare('INSERT INTO ledger VALUES (1)')] as const)

    expect(() => kept[0].exec('INSERT INTO ledger VALUES (2)')).toThrow(/has ended/)
    expect(() => kept[1].run()).toThrow(/has ended/)
    expect(ledger(db)).toEqual([])
  })

  it('guards rows that are still being read, because each of them may write', async () => {
    const db = openLedger(freshFile())
    const rows = await withTransaction(db, (tx) => {
      const first = tx.prepare('INSERT INTO ledger VALUES (1), (2) RETURNING n').iterate()
      expect([...tx.prepare('SELECT n FROM ledger').iterate()]).toEqual([])
      return first
    })

    expect(() => rows.next()).toThrow(/has ended/)
    expect(ledger(db)).toEqual([])
  })

  it('refuses what is no handle, and a function that ends the transaction itself', async () => {
    const db = openLedger(freshFile())

    await expect(withTransaction({} as Db, () => 1)).rejects.toMatchObject({ code: 'TX_UNSUPPORTED' })
    await expect(withTransaction(db, (tx) => tx.exec('COMMIT'))).rejects.toMatchObject({
      code: 'TX_UNSUPPORTED',
    })
  })
})

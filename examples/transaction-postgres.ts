// An order and its job in one transaction; then the payment and the end of the job in another.
// DATABASE_URL names the database. npm install skep pg
import pg from 'pg'
import { createSkep, queue } from 'skep'
import { postgresStore } from 'skep/postgres'

const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'] })
await pool.query('create table orders (id int primary key, paid int not null default 0)')

const skep = createSkep({ store: postgresStore({ pool, migrate: true }) })
const charge = queue<{ order: number }, string>('order.charge')

async function inTransaction<T>(run: (tx: pg.PoolClient) => Promise<T>): Promise<T> {
  const tx = await pool.connect()
  try {
    await tx.query('begin')
    const value = await run(tx)
    await tx.query('commit')
    return value
  } catch (error) {
    await tx.query('rollback')
    throw error
  } finally {
    tx.release()
  }
}

const placeOrder = (order: number) =>
  inTransaction(async (tx) => {
    const job = await skep.enqueue(charge, { order }, { tx })
    await tx.query('insert into orders (id) values ($1)', [order])
    return job
  })

const job = await placeOrder(1)
await placeOrder(1).catch((error: Error) => console.log(error.message)) // the same id: rolled back, no second job

skep.worker([
  charge.handle((one) =>
    inTransaction(async (tx) => {
      await tx.query('update orders set paid = paid + 1 where id = $1', [one.payload.order])
      await one.complete('paid', { tx }) // commits with the update, or not at all: exactly once
      return 'paid'
    }),
  ),
])
console.log(await job.result())
console.log((await pool.query('select * from orders')).rows, (await skep.queues.list())[0]?.done)

await skep.close()
await pool.end()

// Prints:
// duplicate key value violates unique constraint "orders_pkey"
// paid
// [ { id: 1, paid: 1 } ] 1

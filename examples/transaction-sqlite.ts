// Your rows and your jobs in one transaction: both or neither. Then the end of the job and its effect in another.
// The database handle is your own. From Node 22.13 on, import it from 'node:sqlite' instead.
import { DatabaseSync } from '@photostructure/sqlite'
import { createSkep, queue } from 'skep'
import { sqliteStore } from 'skep/sqlite'

const db = new DatabaseSync('app.db')
db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
db.exec('CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, welcomed INTEGER DEFAULT 0)')

const skep = createSkep({ store: sqliteStore({ client: db }) })
await skep.ready()
const welcome = queue<{ name: string }, string>('user.welcome')

async function signUp(name: string, fail = false) {
  db.exec('BEGIN IMMEDIATE')
  try {
    db.prepare('INSERT INTO users (name) VALUES (?)').run(name)
    const job = await skep.enqueue(welcome, { name }, { tx: db })
    if (fail) throw new Error('changed my mind')
    db.exec('COMMIT')
    return job
  } catch (error) {
    db.exec('ROLLBACK')
    throw error
  }
}

await signUp('Bob', true).catch((error: Error) => console.log(error.message))
const job = await signUp('Ada')
console.log(await skep.jobs.list().then(({ jobs }) => jobs.map(({ payload }) => payload)))

const handler = welcome.handle(async (one) => {
  // Exactly once: the mark and the end of the job commit together.
  db.exec('BEGIN IMMEDIATE')
  db.prepare('UPDATE users SET welcomed = welcomed + 1 WHERE name = ?').run(one.payload.name)
  await one.complete('welcomed', { tx: db })
  db.exec('COMMIT')
  return 'welcomed'
})
skep.worker([handler], { concurrency: 1 }) // one handle, one transaction at a time
console.log(await job.result())
console.log(
  db
    .prepare('SELECT name, welcomed FROM users')
    .all()
    .map((row) => ({ ...row })),
)

await skep.close()
db.close()

// Prints:
// changed my mind
// [ { name: 'Ada' } ]
// welcomed
// [ { name: 'Ada', welcomed: 1 } ]

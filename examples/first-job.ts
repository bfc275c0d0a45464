// The smallest whole program: a queue, a worker, a job, in one SQLite file.
// On Node 20: npm install @photostructure/sqlite. From Node 22.13 on, SQLite is built in.
import { createSkep, queue } from 'skep'
import { sqliteStore } from 'skep/sqlite'

const skep = createSkep({ store: sqliteStore({ file: 'jobs.db' }) })

const greet = queue<{ name: string }, string>('greet')

skep.worker([greet.handle(async ({ payload }) => `Hello, ${payload.name}!`)])

const job = await skep.enqueue(greet, { name: 'Ada' })
console.log(await job.result())

await skep.close()

// Prints:
// Hello, Ada!

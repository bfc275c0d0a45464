// The first job on Redis: one process enqueues, another runs, and only the server is between them.
// REDIS_URL names it. It must keep what it acknowledges: appendonly yes, appendfsync always. npm install skep ioredis
import { createSkep, queue } from 'skep'
import { redisStore } from 'skep/redis'

const url = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379'
const greet = queue<{ name: string }, string>('greet')

// As two processes would have them, each with connections of its own.
const producer = createSkep({ store: redisStore({ url }) })
const consumer = createSkep({ store: redisStore({ url }) })

const { level } = await consumer.ready() // a server that could lose jobs is refused here
console.log(`An enqueue that answered is safe: ${level}`)

consumer.worker([greet.handle(({ payload }) => `Hello, ${payload.name}!`)])

const job = await producer.enqueue(greet, { name: 'Ada' }) // the worker hears of it at once
console.log(await job.result())

await producer.close()
await consumer.close()

// Prints:
// An enqueue that answered is safe: disk
// Hello, Ada!

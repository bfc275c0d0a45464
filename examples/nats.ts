// Scheduling without a search: NATS tells a worker which jobs to run, and it claims them by id.
//
// Start a server with `nats-server -js`, then run this file: node --import jiti/register examples/nats.ts

import { createSkep, queue } from 'skep'
import { natsNotifier } from 'skep/nats'
import { sqliteStore } from 'skep/sqlite'

const notifier = natsNotifier({ servers: process.env['NATS_URL'] ?? 'nats://127.0.0.1:4222' })
const skep = createSkep({ store: sqliteStore({ file: 'jobs.db' }), notifier })

const resize = queue<{ image: string }, string>('images.resize')
skep.worker([resize.handle(({ payload }) => `${payload.image} is small now`)])

const jobs = await skep.enqueueMany(resize, [{ image: 'hive.png' }, { image: 'bee.png' }])
for (const job of jobs) console.log(await job.result())

await skep.close()
await notifier.close()

// Prints:
// hive.png is small now
// bee.png is small now

// A stop loses nothing: handlers may finish, and what does not finish in time is handed back for the next worker.
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { createSkep, queue } from 'skep'
import { sqliteStore } from 'skep/sqlite'

const skep = createSkep({ store: sqliteStore({ file: 'jobs.db' }) })
const work = queue<{ name: string; ms: number }, string>('work')
const handler = work.handle(async ({ payload, attempt, signal }) => {
  if (attempt > 1) return `${payload.name}: done at attempt ${attempt}`
  await wait(payload.ms, undefined, { signal })
  return `${payload.name}: done at once`
})

const worker = skep.worker([handler], { drain: '200ms' })
const quick = await skep.enqueue(work, { name: 'quick', ms: 50 })
const slow = await skep.enqueue(work, { name: 'slow', ms: 60_000 })
while (worker.health().running < 2) await wait(5)

const told = once(process, 'SIGTERM')
process.kill(process.pid, 'SIGTERM') // what your platform does
await told
await worker.stop() // 'quick' ends within the drain time, 'slow' goes back
console.log('stopped with', worker.health().running, 'running')
for (const job of [quick, slow]) console.log((await job.get())?.state)

skep.worker([handler]) // the next process
for (const job of [quick, slow]) console.log(await job.result())
const view = await slow.get()
console.log('errors:', view?.errors, 'lost:', view?.lost)
await skep.close()

// Prints:
// stopped with 0 running
// done
// ready
// quick: done at once
// slow: done at attempt 2
// errors: 0 lost: 0

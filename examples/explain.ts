// Why is this job not running? Skep names what keeps it back.
import { setTimeout as wait } from 'node:timers/promises'
import { createSkep, queue } from 'skep'
import { memoryStore } from 'skep/memory'

const skep = createSkep({ store: memoryStore() })
const sync = queue<{ shop: string }>('shop.sync', {
  lane: ({ payload }) => payload.shop,
  lanes: { concurrency: 1 },
})

const first = await skep.enqueue(sync, { shop: 'acme' })
console.log((await first.explain()).summary)

const done = new AbortController()
const worker = skep.worker([sync.handle(() => wait(60_000, null, { signal: done.signal }).catch(() => {}))])
while ((await first.get())?.state !== 'running') await wait(1)
const second = await skep.enqueue(sync, { shop: 'acme' })
for (const cause of (await second.explain()).causes) {
  if (cause.cause === 'lane-full')
    console.log(`${cause.running} of ${cause.concurrency}`, cause.jobs[0] === first.id)
}

await skep.queues.pause(sync, { reason: 'too many requests', by: 'ada' })
const { causes } = await second.explain() // all causes, the most telling first
console.log(causes.map(({ cause }) => cause))
console.log(causes[0]?.text)

done.abort()
await skep.queues.resume(sync)
await second.result()
console.log((await second.explain()).causes[0]?.cause)
await worker.stop()
await skep.close()

// Prints:
// No worker handles this queue.
// 1 of 1 true
// [ 'held', 'lane-full' ]
// Queue "shop.sync" is paused by "ada": "too many requests".
// finished

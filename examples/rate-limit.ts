// At most 20 starts a second, evenly spread. And when the other side says 429, only that tenant's lane waits.
import { createSkep, queue, rateLimited } from 'skep'
import { memoryStore } from 'skep/memory'

const skep = createSkep({ store: memoryStore() })
const sync = queue<{ shop: string }, string>('shop.sync', {
  lane: ({ payload }) => payload.shop,
  rate: { limit: 20, per: '1s' },
})

const begun = Date.now()
let refused = 0
skep.worker([
  sync.handle(({ payload }) => {
    if (payload.shop === 'strict' && refused++ === 0) return rateLimited('300ms', '429: Retry-After')
    return payload.shop
  }),
])

const jobs = await skep.enqueueMany(
  sync,
  ['strict', 'calm', 'calm', 'calm', 'calm'].map((shop) => ({ shop })),
)
const order: string[] = []
await Promise.all(jobs.map(async (job) => order.push(await job.result())))

console.log(order.join(', '))
console.log('the strict shop was asked', refused, 'times')
console.log('it took at least 300 ms:', Date.now() - begun >= 300)
await skep.close()

// Prints:
// calm, calm, calm, calm, strict
// the strict shop was asked 2 times
// it took at least 300 ms: true

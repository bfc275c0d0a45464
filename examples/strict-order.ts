// The events of one document are applied one at a time and in order, also when one of them has to be tried again.
import { createSkep, fixed, queue, retry } from 'skep'
import { memoryStore } from 'skep/memory'

const skep = createSkep({ store: memoryStore() })
const apply = queue<{ document: string; event: number }>('event.apply', {
  lane: ({ payload }) => payload.document,
  lanes: { order: 'strict' },
  onError: retry(3, fixed('20ms')),
})

const applied: string[] = []
skep.worker([
  apply.handle(({ payload, attempt }) => {
    if (payload.document === 'a' && payload.event === 1 && attempt < 3) throw new Error('conflict')
    applied.push(`${payload.document}${payload.event}`)
  }),
])

const jobs = await skep.enqueueMany(apply, [
  { document: 'a', event: 1 },
  { document: 'a', event: 2 },
  { document: 'b', event: 1 },
  { document: 'a', event: 3 },
])
for (const job of jobs) await job.result()

console.log(applied.filter((one) => one.startsWith('a')).join(' '))
console.log('b did not wait for a:', applied[0] === 'b1')
await skep.close()

// Prints:
// a1 a2 a3
// b did not wait for a: true

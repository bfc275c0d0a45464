// A handler that fails is tried again, later and later. What comes after the last try is your choice.
import { createSkep, exponential, queue, retry } from 'skep'
import { memoryStore } from 'skep/memory'

const skep = createSkep({ store: memoryStore() })
const charge = queue<{ invoice: number }, string>('invoice.charge', {
  onError: retry(3, exponential('20ms', { jitter: 0 })), // 20 ms, 40 ms, 80 ms; then it is buried
})

skep.on('error', ({ job, failure, state }) => {
  console.log(`run ${job.starts} of invoice.charge failed: ${failure.message}; now it is ${state}`)
})

skep.worker([
  charge.handle(({ payload, attempt }) => {
    if (payload.invoice === 2) throw new Error('card expired')
    if (attempt < 3) throw new Error('gateway busy')
    return `charged at attempt ${attempt}`
  }),
])

const first = await skep.enqueue(charge, { invoice: 1 })
console.log(await first.result())

const second = await skep.enqueue(charge, { invoice: 2 })
await second.result().catch((error: Error) => console.log(error.message.replace(second.id, '…')))

await skep.close()

// Prints:
// run 1 of invoice.charge failed: gateway busy; now it is delayed
// run 2 of invoice.charge failed: gateway busy; now it is delayed
// charged at attempt 3
// run 1 of invoice.charge failed: card expired; now it is delayed
// run 2 of invoice.charge failed: card expired; now it is delayed
// run 3 of invoice.charge failed: card expired; now it is delayed
// run 4 of invoice.charge failed: card expired; now it is dead
// Job "…" is dead: card expired

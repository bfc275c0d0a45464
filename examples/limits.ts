// Limits hold for all workers on all machines together: here two of them, at most two jobs of an account at once, and at
// most three calls to the API by whichever queue.
import { createSkep, queue, sharedLimit } from 'skep'
import { memoryStore } from 'skep/memory'

const skep = createSkep({ store: memoryStore() })
const api = sharedLimit('billing-api', { concurrency: 3 })
const charge = queue<{ account: string }>('charge', {
  lane: ({ payload }) => payload.account,
  lanes: { concurrency: 2 },
  limit: api,
})
const refund = queue<{ account: string }>('refund', { limit: api })

const most = { acme: 0, api: 0 }
const running: string[] = []
const call = async (account: string): Promise<void> => {
  running.push(account)
  most.api = Math.max(most.api, running.length)
  most.acme = Math.max(most.acme, running.filter((one) => one === 'acme').length)
  await new Promise((resolve) => setTimeout(resolve, 5))
  running.splice(running.indexOf(account), 1)
}

await skep.enqueueMany(charge, Array(10).fill({ account: 'acme' }))
await skep.enqueueMany(charge, Array(5).fill({ account: 'globex' }))
const last = await skep.enqueueMany(refund, Array(10).fill({ account: 'initech' }))

const handlers = [charge, refund].map((each) => each.handle(({ payload }) => call(payload.account)))
const workers = [skep.worker(handlers), skep.worker(handlers)]
await Promise.all(last.map((job) => job.result()))
await Promise.all(workers.map((worker) => worker.stop()))

console.log('calls at once:', most.api)
console.log('of acme at once:', most.acme)
await skep.close()

// Prints:
// calls at once: 3
// of acme at once: 2

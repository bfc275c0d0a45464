// Jobs that used up their tries are dead: kept, counted, listed, and started anew when the cause is gone.
import { createSkep, fixed, queue, retry } from 'skep'
import { memoryStore } from 'skep/memory'

const skep = createSkep({ store: memoryStore() })
const sync = queue<{ customer: string }, string>('crm.sync', { onError: retry(1, fixed('10ms')) })
let crmIsUp = false

skep.on('dead', ({ job, failure }) => console.log(`dead: ${JSON.stringify(job.payload)}: ${failure.message}`))
skep.worker([
  sync.handle(({ payload }) => {
    if (!crmIsUp) throw new Error('CRM is down')
    return `${payload.customer} is in sync`
  }),
])

const jobs = await skep.enqueueMany(sync, [{ customer: 'ada' }, { customer: 'bob' }])
await Promise.allSettled(jobs.map((job) => job.result()))

const [counts] = await skep.queues.list([sync])
console.log(`${counts?.dead} dead, ${counts?.ready} ready`)

const page = await skep.jobs.list({ queue: 'crm.sync', state: 'dead', text: 'ada' })
console.log(page.jobs.map(({ errors, failure }) => `${errors} errors, the last: ${failure?.message}`))

crmIsUp = true
const { changed } = await skep.jobs.retry({ queue: 'crm.sync', text: 'CRM is down' })
console.log(`${changed} retried`)
for (const job of jobs) console.log(await job.result())

await skep.close()

// Prints:
// dead: {"customer":"ada"}: CRM is down
// dead: {"customer":"bob"}: CRM is down
// 2 dead, 0 ready
// [ '2 errors, the last: CRM is down' ]
// 2 retried
// ada is in sync
// bob is in sync

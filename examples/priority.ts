// Priorities: a head start that ages, or a strict order. Both can be changed while jobs wait, and a queue can be purged.
import { createSkep, queue } from 'skep'
import { memoryStore } from 'skep/memory'

const skep = createSkep({ store: memoryStore() })
const mail = queue<string>('mail.send') // each step overtakes ten minutes of waiting
const page = queue<string>('page.send', { priorityMode: 'strict' }) // each step overtakes everything

await skep.enqueueMany(mail, ['welcome', 'receipt', 'newsletter'])
await skep.enqueueMany(page, ['disk is full', 'site is down'])

// Somebody waits for the receipt, and the site is worse than the disk.
await skep.jobs.prioritize({ queue: mail, text: 'receipt' }, 1)
await skep.jobs.prioritize({ queue: page, text: 'site' }, 10)

const line = async (name: string): Promise<string> => {
  const { jobs } = await skep.jobs.list({ queue: name, state: 'ready' })
  return jobs.map(({ payload, priority }) => `${String(payload)} (${priority})`).join(', ')
}
console.log(await line(mail.name))
console.log(await line(page.name))

// What would a purge remove? A dry run counts exactly and changes nothing.
const dry = await skep.queues.purge(mail, { text: 'newsletter', dryRun: true })
console.log(`would remove ${dry.jobs}, ${dry.states.ready} of them ready; ${dry.running} running`)
const done = await skep.queues.purge(mail, { text: 'newsletter' })
console.log(`removed ${done.jobs}`)

const last = await skep.enqueue(page, 'all is well', { priority: -10 })
skep.worker([page.handle(({ payload, priority }) => console.log(priority, payload))], { concurrency: 1 })
await last.result()
await skep.close()

// Prints:
// receipt (1), welcome (0), newsletter (0)
// site is down (10), disk is full (0)
// would remove 1, 1 of them ready; 0 running
// removed 1
// 10 site is down
// 0 disk is full
// -10 all is well

// A pause holds a queue back without touching its jobs; a block is the same for admins, and both must be gone.
import { setTimeout as wait } from 'node:timers/promises'
import { createSkep, queue } from 'skep'
import { memoryStore } from 'skep/memory'

const skep = createSkep({ store: memoryStore() })
const mail = queue<{ to: string }, string>('mail.send')
skep.worker([
  mail.handle(async ({ payload }) => {
    await wait(50)
    return `sent to ${payload.to}`
  }),
])

const first = await skep.enqueue(mail, { to: 'ada' })
while ((await first.get())?.state !== 'running') await wait(1)

// Waits for what runs. From here on nothing of this queue starts.
const { ended, ready } = await skep.queues.drain(mail, { reason: 'SMTP is down', by: 'ada' })
console.log(`${ended} ended, ${ready} ready`)

await skep.queues.block('mail.*', { reason: 'incident 42', by: 'ops' })
const second = await skep.enqueue(mail, { to: 'bob' })
const [held] = await skep.queues.list([mail])
console.log(
  held?.hold,
  held?.holds.map(({ kind, by, reason }) => `${kind} by ${by}: ${reason}`),
)

const { holds } = await skep.queues.resume(mail)
console.log(
  'still there:',
  holds.map(({ kind, queue: on }) => `${kind} on ${on}`),
)
console.log((await second.get())?.state)

await skep.queues.unblock('mail.*') // an idle worker is told, and starts at once
console.log(await second.result())

// A pause with an end is over by itself.
await skep.queues.pause(mail, { for: '100ms' })
const third = await skep.enqueue(mail, { to: 'eve' })
console.log(await third.result(), (await skep.queues.holds()).length)
await skep.close()

// Prints:
// 1 ended, 0 ready
// block [ 'block by ops: incident 42', 'pause by ada: SMTP is down' ]
// still there: [ 'block on mail.*' ]
// ready
// sent to bob
// sent to eve 0

// A schedule makes jobs by cron or interval. What is declared in code is brought into the store when a worker starts.
import { createSkep, queue, schedule } from 'skep'
import { memoryStore } from 'skep/memory'

const skep = createSkep({ store: memoryStore() })
const heartbeat = queue<{ from: string }>('heartbeat')
const report = queue<{ day: string }>('report.build')

let beats = 0
const twoBeats = new Promise<void>((resolve) => {
  const beat = heartbeat.handle(({ payload, schedule }) => {
    if (++beats <= 2) console.log(`${schedule?.id} ${payload.from}: ${schedule?.slot?.getMilliseconds()} ms`)
    if (beats === 2) resolve()
  })
  const build = report.handle(({ payload, schedule }) => {
    console.log(`${schedule?.id} for ${payload.day}, by hand: ${schedule?.slot === null}`)
  })
  skep.worker([beat, build])
})

const nightly = schedule('report.nightly', {
  queue: report,
  cron: '30 2 * * *',
  timeZone: 'Europe/Berlin',
  payload: ({ slot }) => ({ day: slot.getTime() > 0 ? 'today' : 'never' }),
  missed: 'once',
  overlap: 'skip',
  startAt: new Date('2030-03-30T00:00:00Z'),
})
skep.schedules.declare([
  nightly,
  schedule('beat', { queue: heartbeat, every: '1s', payload: { from: 'from code' } }),
])
await skep.schedules.sync()
await twoBeats

// In 2030 the clocks go from 2:00 to 3:00 on March 31: a night without 2:30.
for (const slot of await skep.schedules.preview('report.nightly', 3)) console.log(slot.toISOString())

// By hand, whatever the slots are.
const job = await skep.schedules.runNow('report.nightly')
await job.result()

await skep.schedules.pause('beat', { reason: 'enough' })
console.log((await skep.schedules.get('beat'))?.paused?.reason)
await skep.close()

// Prints:
// beat from code: 0 ms
// beat from code: 0 ms
// 2030-03-30T01:30:00.000Z
// 2030-03-31T01:00:00.000Z
// 2030-04-01T00:30:00.000Z
// report.nightly for today, by hand: true
// enough

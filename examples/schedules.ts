// A schedule makes jobs by cron or interval. What is declared in code is brought into the store when a worker starts.
import { createSkep, queue, schedule } from 'skep'
import { memoryStore } from 'skep/memory'

const skep = createSkep({ store: memoryStore() })
const heartbeat = queue<{ from: string }>('heartbeat')
const report = queue<{ day: string }>('report.build')

let beats = 0
const twoBeats = new Promise<void>((resolve) => {
  skep.worker([
    heartbeat.handle(({ payload, schedule }) => {
      if (++beats > 2) return
      console.log(
        `${schedule?.id} from ${payload.from}, on the second: ${schedule?.slot?.getMilliseconds() === 0}`,
      )
      if (beats === 2) resolve()
    }),
    report.handle(({ payload, schedule }) =>
      console.log(`${schedule?.id} for ${payload.day}, by hand: ${schedule?.slot === null}`),
    ),
  ])
})

const nightly = schedule('report.nightly', {
  queue: report,
  cron: '30 2 * * *',
  timeZone: 'Europe/Berlin',
  payload: ({ slot }) => ({ day: slot.getFullYear() >= 2026 ? 'today' : 'long ago' }),
  missed: 'once',
  overlap: 'skip',
  startAt: new Date('2030-03-30T00:00:00Z'),
})
skep.schedules.declare([
  nightly,
  schedule('beat', { queue: heartbeat, every: '1s', payload: { from: 'code' } }),
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
// beat from code, on the second: true
// beat from code, on the second: true
// 2030-03-30T01:30:00.000Z
// 2030-03-31T01:00:00.000Z
// 2030-04-01T00:30:00.000Z
// report.nightly for today, by hand: true
// enough

// What a handler returns is kept with the job. Anyone who has the id can wait for it.
import { bury, cancel, createSkep, queue, SkepError, snooze } from 'skep'
import { memoryStore } from 'skep/memory'

const skep = createSkep({ store: memoryStore() })
const divide = queue<{ a: number; b: number }, { quotient: number }>('math.divide')

skep.worker([
  divide.handle(({ payload: { a, b }, attempt }) => {
    if (b === 0) return bury('nobody can divide by zero') // dead at once: trying again would not help
    if (a === 0) return cancel('nothing to divide') // ends without a result
    if (a > 100 && attempt === 1) return snooze('20ms', 'large numbers later') // comes back, not as a failure
    return { quotient: a / b }
  }),
])

for (const payload of [
  { a: 8, b: 2 },
  { a: 500, b: 5 },
  { a: 0, b: 1 },
  { a: 1, b: 0 },
]) {
  const { id } = await skep.enqueue(divide, payload)
  try {
    const { quotient } = await skep.jobs.handle<{ quotient: number }>(id).result({ timeout: '5s' })
    console.log(`${payload.a} / ${payload.b} = ${quotient}`)
  } catch (error) {
    if (!(error instanceof SkepError)) throw error
    const job = await skep.jobs.get(id)
    console.log(`${error.code}: ${job?.state}, ${job?.failure?.message}`)
  }
}

await skep.close()

// Prints:
// 8 / 2 = 4
// 500 / 5 = 100
// JOB_CANCELLED: cancelled, nothing to divide
// JOB_FAILED: dead, nobody can divide by zero

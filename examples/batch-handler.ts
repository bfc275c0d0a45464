// A handler may take many jobs in one call and answer for each of them.
import { createSkep, never, queue, snooze } from 'skep'
import { memoryStore } from 'skep/memory'

const skep = createSkep({ store: memoryStore() })
const insertRow = queue<{ row: number }, string>('row.insert', { onError: never() })

skep.on('error', ({ failure }) => console.log('one failed:', failure.message))

const jobs = await skep.enqueueMany(
  insertRow,
  [1, 2, 3, 4].map((row) => ({ row })),
)

skep.worker([
  insertRow.handleBatch({ size: 100 }, (batch) => {
    console.log(`${batch.length} rows in one statement`)
    return batch.map(({ payload, attempt }) => {
      if (payload.row === 3) return new Error('row 3 is not valid')
      if (payload.row === 4 && attempt === 1) return snooze('20ms', 'its table is locked')
      return `row ${payload.row} inserted`
    })
  }),
])

const ends = await Promise.allSettled(jobs.map((job) => job.result()))
for (const end of ends) console.log(end.status === 'fulfilled' ? end.value : 'no result')

await skep.close()

// Prints:
// 4 rows in one statement
// one failed: row 3 is not valid
// 1 rows in one statement
// row 1 inserted
// row 2 inserted
// no result
// row 4 inserted

// A handler tells how far it is and what it does. Whoever has the id can look, or watch until the job has ended.
import { setTimeout } from 'node:timers/promises'
import { createSkep, queue } from 'skep'
import { memoryStore } from 'skep/memory'

const skep = createSkep({ store: memoryStore() })
const importRows = queue<{ file: string; rows: number }, number>('rows.import')

skep.worker([
  importRows.handle(async ({ payload, log, progress, signal }) => {
    log(`opened ${payload.file}`, { rows: payload.rows })
    for (let row = 1; row <= payload.rows; row++) {
      await setTimeout(50, undefined, { signal })
      if (row === 2) log.warn('row 2 has no name')
      progress((100 * row) / payload.rows, `row ${row}`)
    }
    return payload.rows
  }),
])

const job = await skep.enqueue(importRows, { file: 'people.csv', rows: 3 })

// Every line comes; of the progress only what was the latest when somebody looked.
let percent = 0
for await (const event of job.watch()) {
  if (event.kind === 'progress') percent = event.value
  if (event.kind === 'log') console.log(`${event.level}: ${event.message}`)
  if (event.kind === 'state' && event.state === 'done') console.log(`${percent} %, done`)
}

// They are kept with the job.
const { lines, progress, dropped } = await job.logs()
console.log(lines.length, lines[0]?.fields, progress?.note, dropped)
await skep.close()

// Prints:
// info: opened people.csv
// warn: row 2 has no name
// 100 %, done
// 2 { rows: 3 } row 3 0

// A job may wait for its time. A unique key keeps several enqueues from becoming several jobs.
import { createSkep, queue } from 'skep'
import { memoryStore } from 'skep/memory'

const skep = createSkep({ store: memoryStore() })
const say = queue<string>('say')
const reindex = queue<{ doc: string; version: number }>('doc.reindex')

skep.worker([
  say.handle(({ payload }) => console.log(payload)),
  reindex.handle(({ payload }) => console.log(`index ${payload.doc} at version ${payload.version}`)),
])

// Delayed: not before its time.
const later = await skep.enqueue(say, 'a little later', { delay: '50ms' })
const now = await skep.enqueue(say, 'now')
await Promise.all([later.result(), now.result()])

// Debounced: the delay begins again with each change, and the last payload wins.
const debounce = { key: 'doc-7', scope: 'queued', onConflict: 'postpone' } as const
const edits = []
for (const version of [1, 2, 3]) {
  edits.push(await skep.enqueue(reindex, { doc: 'doc-7', version }, { delay: '50ms', unique: debounce }))
}
console.log('duplicates:', edits.map(({ duplicate }) => duplicate).join(', '))
await edits[0]?.result()

// Throttled: at most one in ten minutes, whatever becomes of it.
const throttle = { key: 'doc-7', scope: '10m' } as const
const once = await skep.enqueue(reindex, { doc: 'doc-7', version: 4 }, { unique: throttle })
await once.result()
const again = await skep.enqueue(reindex, { doc: 'doc-7', version: 5 }, { unique: throttle })
console.log('throttled:', again.duplicate)

await skep.close()

// Prints:
// now
// a little later
// duplicates: false, true, true
// index doc-7 at version 3
// index doc-7 at version 4
// throttled: true

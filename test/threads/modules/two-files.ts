// A program that names another file for its threads. It never stops its worker's threads by hand.
import { createSkep } from 'skep'
import { memoryStore } from 'skep/memory'
import { work } from './queues.ts'

async function main(file: string): Promise<void> {
  const skep = createSkep({ store: memoryStore() })
  const worker = skep.worker([
    work.handleInThreads<typeof import('./work.thread.ts')>(new URL(file, import.meta.url), { threads: 2 }),
  ])
  const jobs = await skep.enqueueMany(work, [
    { do: 'add', a: 1, b: 2 },
    { do: 'exit-once' },
    { do: 'add', a: 3, b: 4 },
  ])
  for (const job of jobs) console.log(await job.result())
  await worker.stop()
  console.log('stopped')
}

void main(process.argv[2] as string)

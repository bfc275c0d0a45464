// A program in one file: the same file is what its threads run.
import { threadId } from 'node:worker_threads'
import { createSkep, inThread, queue, threadHandler } from 'skep'
import { memoryStore } from 'skep/memory'

const square = queue<number, { readonly square: number; readonly thread: number }>('square')
const cube = queue<number, number>('cube')
threadHandler(square, ({ payload }) => ({ square: payload * payload, thread: threadId }))
threadHandler(cube, ({ payload }) => payload ** 3)

async function main(): Promise<void> {
  const skep = createSkep({ store: memoryStore() })
  const file = new URL(import.meta.url)
  await skep.worker([square.handleInThreads(file), cube.handleInThreads(file, { threads: 1 })]).ready
  const squared = await (await skep.enqueue(square, 7)).result()
  console.log(squared.square, squared.thread > 0 ? 'in a thread' : 'in the main thread')
  console.log(await (await skep.enqueue(cube, 3)).result())
  await skep.close()
  console.log('closed')
}

// Without the condition each thread would be a program with threads of its own. Skep refuses that.
if (!inThread() || process.env['UNGUARDED'] === 'yes') void main()

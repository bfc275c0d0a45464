// Work that keeps a CPU busy runs in threads: the event loop stays free, and what takes too long is killed.
// The program is one file, which its threads run too. On Node 20: node --import jiti/register examples/threads.ts
import { createSkep, inThread, never, queue, threadHandler } from 'skep'
import { sqliteStore } from 'skep/sqlite'

const fibonacci = queue<number, number>('fibonacci', { timeout: '10s', onTimeout: never() })

threadHandler(fibonacci, ({ payload }) => fib(payload))

function fib(n: number): number {
  return n < 2 ? n : fib(n - 1) + fib(n - 2)
}

if (!inThread()) {
  const skep = createSkep({ store: sqliteStore({ file: 'jobs.db' }) })
  skep.worker([fibonacci.handleInThreads(new URL(import.meta.url), { threads: 2, grace: '100ms' })])

  let ticks = 0
  const timer = setInterval(() => ticks++, 1)
  const job = await skep.enqueue(fibonacci, 32)
  console.log('fib(32) =', await job.result())
  clearInterval(timer)
  console.log('the event loop went on meanwhile:', ticks > 10)

  const endless = await skep.enqueue(fibonacci, 1_000, { timeout: '200ms' })
  await endless.result().catch(() => {})
  console.log((await endless.get())?.failure?.kind)
  console.log('the next one:', await (await skep.enqueue(fibonacci, 20)).result())
  await skep.close()
}

// Prints:
// fib(32) = 2178309
// the event loop went on meanwhile: true
// timeout
// the next one: 6765

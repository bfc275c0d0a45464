/** A worker in a process of its own, to be killed. It tells its parent of each job it starts and never ends one. */
import { createSkep, type Duration, queue, silentLogger } from '../../src/index.ts'
import { type Address, openStore } from './program.ts'

export const endless = queue<{ n: number }, number>('endless')

if (process.argv[2] === 'run') {
  const skep = createSkep({
    store: openStore(JSON.parse(process.argv[3] as string) as Address),
    logger: silentLogger,
  })
  // Unless it is told another, the lease outlives any test: only the store's knowledge that this process is gone can free
  // its jobs.
  skep.worker(
    [
      endless.handle(({ id }) => {
        process.send?.({ started: id })
        return new Promise<number>(() => {})
      }),
    ],
    { concurrency: 100, lease: (process.argv[4] ?? '1h') as Duration },
  )
}

/** Workers in a process of their own, to be killed. They tell the parent of each job they start and never end one. */
import { createSkep, type Duration, queue, silentLogger } from '../../src/index.ts'
import { type Address, openStore } from './program.ts'

export const endless = queue<{ n: number }, number>('endless')

if (process.argv[2] === 'run') {
  const skep = createSkep({
    store: openStore(JSON.parse(process.argv[3] as string) as Address),
    logger: silentLogger,
  })
  const handler = endless.handle(({ id }) => {
    process.send?.({ started: id })
    return new Promise<number>(() => {})
  })
  // Unless it is told another, the lease outlives any test: only the store's knowledge that this process is gone can free
  // its jobs.
  const lease = (process.argv[4] ?? '1h') as Duration
  for (let n = 0; n < Number(process.argv[5] ?? 1); n++) {
    void skep.worker([handler], { concurrency: 100, lease }).ready.then(() => process.send?.({ ready: true }))
  }
}

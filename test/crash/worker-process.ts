/** A worker in a process of its own, to be killed. It tells its parent of each job it starts and never ends one. */
import { createSkep, queue, type Store, silentLogger } from '../../src/index.ts'
import { postgresStore } from '../../src/postgres.ts'
import { sqliteStore } from '../../src/sqlite.ts'

export type Address = { readonly file: string } | { readonly url: string }

export function openStore(address: Address): Store {
  return 'file' in address ? sqliteStore(address) : postgresStore({ ...address, migrate: true })
}

export const endless = queue<{ n: number }, number>('endless')

if (process.argv[2] === 'run') {
  const skep = createSkep({
    store: openStore(JSON.parse(process.argv[3] as string) as Address),
    logger: silentLogger,
  })
  // The lease outlives any test: only the store's knowledge that this process is gone can free its jobs.
  skep.worker(
    [
      endless.handle(({ id }) => {
        process.send?.({ started: id })
        return new Promise<number>(() => {})
      }),
    ],
    { concurrency: 100, lease: '1h' },
  )
}

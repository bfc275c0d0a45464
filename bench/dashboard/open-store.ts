import type { Store } from 'skep'
import type { Address } from '../contest.ts'
import { importBuilt } from '../root.ts'

/** The store at an address, with the settings that users get. */
export async function openStore(address: Address): Promise<Store> {
  switch (address.kind) {
    case 'postgres': {
      const { postgresStore } = (await importBuilt('postgres')) as typeof import('skep/postgres')
      return postgresStore({ url: address.url, migrate: true })
    }
    case 'sqlite': {
      const { sqliteStore } = (await importBuilt('sqlite')) as typeof import('skep/sqlite')
      return sqliteStore({ file: address.file })
    }
    case 'redis': {
      const { redisStore } = (await importBuilt('redis')) as typeof import('skep/redis')
      return redisStore({ url: address.url, unsafe: { lateFsync: true } })
    }
  }
}

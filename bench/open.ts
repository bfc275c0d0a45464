import type { Queue, Skep, Store } from 'skep'
import type { Address } from './contest.ts'

// The built package, as users get it; the sources only lend their types.
const dist = (entry: string): string => new URL(`../dist/esm/${entry}.js`, import.meta.url).href
const { archive, createSkep, discard, queue, silentLogger } = (await import(
  dist('index')
)) as typeof import('skep')
const { memoryStore } = (await import(dist('memory'))) as typeof import('skep/memory')
const { postgresStore } = (await import(dist('postgres'))) as typeof import('skep/postgres')
const { sqliteStore } = (await import(dist('sqlite'))) as typeof import('skep/sqlite')

/** Opens the jobs at an address with the built package, as a user would. */
export function open(address: Address): Skep {
  return createSkep({ store: storeOf(address), logger: silentLogger })
}

function storeOf(address: Address): Store {
  switch (address.kind) {
    case 'memory':
      return memoryStore()
    case 'sqlite':
      return sqliteStore({ file: address.file, synchronous: address.synchronous })
    case 'postgres':
      return postgresStore({ url: address.url, schema: address.schema, migrate: true })
  }
}

export const QUEUES: Readonly<Record<'discard' | 'archive', Queue<object>>> = {
  discard: queue<object>('bench.discard', { onSuccess: discard() }),
  archive: queue<object>('bench.archive', { onSuccess: archive('1h') }),
}

/** The real store of a long run: a file, or a server of its own that can be killed. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startMortalPostgres } from './mortal-postgres.ts'
import { startMortalRedis } from './mortal-redis.ts'
import type { Address } from './program.ts'

export interface SoakStore {
  readonly address: Address
  /** For whatever else the run writes. */
  readonly folder: string
  remove(): Promise<void>
}

/** Opens what `--store` names. */
export async function openSoakStore(store: string | undefined): Promise<SoakStore> {
  if (store !== 'sqlite' && store !== 'postgres' && store !== 'redis') {
    throw new Error('Say --store sqlite, --store postgres or --store redis.')
  }
  const server =
    store === 'postgres' ? await startMortalPostgres() : store === 'redis' ? await startMortalRedis() : null
  const folder = mkdtempSync(join(tmpdir(), 'skep-soak-'))
  const address = !server
    ? { file: join(folder, 'jobs.db') }
    : store === 'redis'
      ? { redis: server.url, prefix: 'skep' }
      : { url: server.url }
  return {
    address,
    folder,
    async remove() {
      await server?.remove()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

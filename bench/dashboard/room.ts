import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { startPostgres, startRedis } from '../../test/servers/index.ts'
import type { Address, Contestant, StoreKind } from '../contest.ts'
import { ask } from '../redis.ts'
import { Servers } from '../servers.ts'

/** Where a store of one size is: on a server of its own, because Redis has one room for all. */
export interface Room {
  readonly address: Address
  /** When it was filled; null if it is empty. */
  filledAt: number | null
  /** Makes sure that it need not be filled another time. */
  keep(filledAt: number): Promise<void>
  close(): Promise<void>
}

/** A room that is gone when it is closed. */
export async function freshRoom(kind: StoreKind): Promise<Room> {
  const contestant = { store: kind, options: {} } as Contestant
  const servers = await Servers.start([contestant])
  const { address, remove } = await servers.fresh(contestant)
  return {
    address,
    filledAt: null,
    keep: async () => {},
    async close() {
      await remove()
      await servers.stop()
    },
  }
}

/** A room that stays in a folder, with what is in it. One that was not filled to the end is made anew. */
export async function keptRoom(kind: StoreKind, size: number, keep: string): Promise<Room> {
  const folder = join(resolve(keep), `${kind}-${size}`)
  const mark = `${folder}.json`
  const isFull = existsSync(mark)
  if (!isFull) rmSync(folder, { recursive: true, force: true })
  mkdirSync(resolve(keep), { recursive: true })
  // The servers are not root, and have to reach what is theirs.
  chmodSync(resolve(keep), 0o755)
  const { address, stop } = await opened(kind, folder)
  return {
    address,
    filledAt: isFull ? (JSON.parse(readFileSync(mark, 'utf8')) as { filledAt: number }).filledAt : null,
    async keep(filledAt) {
      if (address.kind === 'redis') await rewriteLog(address.url)
      writeFileSync(mark, `${JSON.stringify({ filledAt })}\n`)
    },
    close: stop,
  }
}

async function opened(
  kind: StoreKind,
  folder: string,
): Promise<{ readonly address: Address; readonly stop: () => Promise<void> }> {
  switch (kind) {
    case 'postgres': {
      const { url, stop } = await startPostgres(folder)
      return { address: { kind, url }, stop }
    }
    case 'redis': {
      const { redis, reason } = await startRedis({ appendfsync: 'everysec', kept: folder })
      if (redis === undefined) throw new Error(`There is no Redis: ${reason}.`)
      return { address: { kind, url: redis.url }, stop: () => redis.stop() }
    }
    case 'sqlite':
      mkdirSync(folder, { recursive: true })
      return { address: { kind, file: join(folder, 'jobs.db') }, stop: async () => {} }
  }
}

/** What is, instead of all that ever happened: a short log is read soon. */
async function rewriteLog(url: string): Promise<void> {
  const isBusy = async (): Promise<boolean> =>
    /aof_rewrite_(?:in_progress|scheduled):1/.test(await ask(url, 'INFO persistence'))
  while (await isBusy()) await new Promise((resolve) => setTimeout(resolve, 100))
  await ask(url, 'BGREWRITEAOF')
  while (await isBusy()) await new Promise((resolve) => setTimeout(resolve, 100))
}

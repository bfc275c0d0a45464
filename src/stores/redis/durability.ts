import { messageOf, SkepError, StoreError } from '../../core/errors.ts'
import type { Durability } from '../../store/store.ts'
import { listOf, textOf } from './connection/bytes.ts'
import type { RedisClient } from './connection/client.ts'

/** What may be off without the store refusing to start. Each loses jobs that were acknowledged. */
export interface UnsafeOptions {
  /** Accept a server without an append-only file: a restart loses everything since its last snapshot, or everything. */
  readonly noAof?: boolean
  /** Accept `appendfsync everysec` or `no`: a crash of the machine loses the last second, or more. */
  readonly lateFsync?: boolean
  /** Accept a server that throws keys away when its memory is full: it may then throw away all jobs. */
  readonly eviction?: boolean
}

const OLDEST = [6, 2] as const

/** Something that can be asked: a server, or whoever is connected to it. */
export type Askable = Pick<RedisClient, 'send'>

/** What an ok of all these servers means: as much as that of the weakest. */
export async function checkDurability(
  servers: readonly Askable[],
  unsafe: UnsafeOptions,
  wait: { readonly replicas: number } | null,
): Promise<Durability> {
  const all = await Promise.all(servers.map((server) => checkServer(server, unsafe)))
  const weakest = all.reduce((a, b) => (LEVELS.indexOf(b.level) < LEVELS.indexOf(a.level) ? b : a))
  const failover = wait
    ? `Every job that was acknowledged is on ${wait.replicas} replica${wait.replicas === 1 ? '' : 's'}.`
    : 'No replica is waited for: a failover may lose the last jobs that were acknowledged.'
  const warnings = [...new Set(all.flatMap((server) => server.warnings))]
  return { ...weakest, detail: `${weakest.detail} ${failover}`, warnings }
}

const LEVELS: readonly Durability['level'][] = ['memory', 'process', 'disk']

/** Finds out what an ok of this server means. Throws `STORE_UNSAFE` when that is too little and nobody agreed to it. */
async function checkServer(client: Askable, unsafe: UnsafeOptions): Promise<Durability> {
  const info = await serverInfo(client)
  if (info === null) {
    return {
      level: 'process',
      detail: 'A server that does not tell how it is set up.',
      warnings: [
        'The server lets nobody ask with INFO. Make sure of "appendonly yes", "appendfsync always", "maxmemory-policy noeviction".',
      ],
    }
  }
  // Meanwhile it writes no log, and would look like a server that never does.
  if (info['loading'] === '1') {
    throw new StoreError('STORE_UNAVAILABLE', 'Redis is still reading its log after a start.')
  }
  const version = info['valkey_version'] ?? info['redis_version'] ?? '0.0'
  const name = info['valkey_version'] === undefined ? 'Redis' : 'Valkey'
  const [major = 0, minor = 0] = (info['redis_version'] ?? version).split('.').map(Number)
  if (major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])) {
    throw new SkepError('STORE_UNSAFE', `${name} ${version} is too old. Use Redis 6.2 or newer, or Valkey.`, {
      facts: { version },
    })
  }
  const hasAof = info['aof_enabled'] === '1'
  const fsync = await settingOf(client, 'appendfsync')
  const policy = info['maxmemory_policy'] ?? (await settingOf(client, 'maxmemory-policy')) ?? 'unknown'
  if (!hasAof && !unsafe.noAof) {
    throw refuse('appendonly no: a restart loses jobs that were acknowledged', 'appendonly yes', 'noAof')
  }
  if (hasAof && fsync !== null && fsync !== 'always' && !unsafe.lateFsync) {
    const what = `appendfsync ${fsync}: a crash of the machine loses jobs that were acknowledged`
    throw refuse(what, 'appendfsync always', 'lateFsync')
  }
  if (policy !== 'noeviction' && !unsafe.eviction) {
    const what = `maxmemory-policy ${policy}: a full memory would throw jobs away`
    throw refuse(what, 'maxmemory-policy noeviction', 'eviction')
  }

  const warnings: string[] = []
  if (hasAof && fsync === null)
    warnings.push('The server does not tell its appendfsync. Make sure that it is "always".')
  if (info['role'] === 'slave')
    warnings.push('The server is a replica, so it is read-only until it is promoted.')
  if (info['maxmemory'] === '0')
    warnings.push('maxmemory is not set: the system may end the server when memory is full.')
  return {
    level: hasAof ? (fsync === 'always' ? 'disk' : 'process') : 'memory',
    detail:
      `${name} ${version}, appendonly ${hasAof ? 'yes' : 'no'}, appendfsync ${fsync ?? 'unknown'}, ` +
      `maxmemory-policy ${policy}, ${info['connected_slaves'] ?? '0'} replicas.`,
    warnings,
  }
}

/** The fields of an INFO. */
export function infoOf(text: string): Readonly<Record<string, string>> {
  const lines = text.split('\r\n').filter((line) => line.includes(':'))
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
  )
}

/** A setting, or null where the server lets nobody ask. */
async function settingOf(client: Askable, name: string): Promise<string | null> {
  try {
    return textOf(listOf(await client.send('CONFIG', ['GET', name]))[1]) || null
  } catch (error) {
    if (isForbidden(error)) return null
    throw error
  }
}

/** All that the server tells about itself, or null where it lets nobody ask. */
export async function serverInfo(client: Askable): Promise<Readonly<Record<string, string>> | null> {
  try {
    return infoOf(textOf(await client.send('INFO', [])))
  } catch (error) {
    if (isForbidden(error)) return null
    throw error
  }
}

/** Services that rent out servers take such commands away altogether. */
function isForbidden(error: unknown): boolean {
  return /^(NOPERM|ERR unknown command)/.test(messageOf(error))
}

function refuse(problem: string, cure: string, option: keyof UnsafeOptions): SkepError {
  return new SkepError(
    'STORE_UNSAFE',
    `The server runs with ${problem}. Set "${cure}", or accept the loss with unsafe: { ${option}: true }.`,
    { facts: { option } },
  )
}

import { messageOf, SkepError, StoreError } from '../../core/errors.ts'
import type { Durability } from '../../store.ts'
import { listOf, textOf } from './bytes.ts'
import type { RedisClient } from './client.ts'

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

/** Finds out what an ok of this server means. Throws `STORE_UNSAFE` when that is too little and nobody agreed to it. */
export async function checkDurability(client: RedisClient, unsafe: UnsafeOptions): Promise<Durability> {
  const info = infoOf(textOf(await client.send('INFO', [])))
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
async function settingOf(client: RedisClient, name: string): Promise<string | null> {
  try {
    return textOf(listOf(await client.send('CONFIG', ['GET', name]))[1]) || null
  } catch (error) {
    // That nobody answered is no answer.
    if (!/^(ERR|NOPERM)\b/.test(messageOf(error))) throw error
    return null
  }
}

function refuse(problem: string, cure: string, option: keyof UnsafeOptions): SkepError {
  return new SkepError(
    'STORE_UNSAFE',
    `The server runs with ${problem}. Set "${cure}", or accept the loss with unsafe: { ${option}: true }.`,
    { facts: { option } },
  )
}

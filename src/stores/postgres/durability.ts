import { SkepError } from '../../core/errors.ts'
import type { Durability } from '../../store/store.ts'
import type { Query } from './connection/driver.ts'

/** What may be off without the store refusing to start. Each loses jobs that were acknowledged. */
export interface UnsafeOptions {
  /** Accept `fsync = off`: a crash of the machine may destroy everything. */
  readonly noFsync?: boolean
  /** Accept `synchronous_commit = off`: a crash of the server loses the last fraction of a second. */
  readonly asyncCommit?: boolean
}

const OLDEST = 130_000

/** Finds out what an ok of this server means. Throws `STORE_UNSAFE` when that is too little and nobody agreed to it. */
export async function checkDurability(query: Query, unsafe: UnsafeOptions): Promise<Durability> {
  const rows = await query(
    `select current_setting('server_version_num'), current_setting('server_version'), current_setting('fsync'),
      current_setting('synchronous_commit'), current_setting('full_page_writes'), pg_is_in_recovery(),
      current_setting('synchronous_standby_names') where $1::text is not null`,
    [''],
  )
  const [number, version, fsync, commit, pages, recovery, standbys] = rows[0] as string[]
  if (Number(number) < OLDEST) {
    throw new SkepError('STORE_UNSAFE', `PostgreSQL ${version} is too old. Use version 13 or newer.`, {
      facts: { version },
    })
  }
  const hasFsync = fsync === 'on'
  const isAsync = commit === 'off'
  if (!hasFsync && !unsafe.noFsync) {
    throw refuse('fsync = off: a crash of the machine may destroy the database', 'noFsync')
  }
  if (isAsync && !unsafe.asyncCommit) {
    throw refuse('synchronous_commit = off: a crash loses jobs that were acknowledged', 'asyncCommit')
  }

  const warnings: string[] = []
  if (pages !== 'on')
    warnings.push('full_page_writes is off: safe only on a file system that never tears a page.')
  if (String(recovery).startsWith('t')) {
    warnings.push('The server is a standby, so it is read-only. It becomes usable when it is promoted.')
  }
  return {
    level: hasFsync && !isAsync ? 'disk' : 'process',
    detail:
      `PostgreSQL ${version}, fsync ${fsync}, synchronous_commit ${commit}. ` +
      (standbys === ''
        ? 'No synchronous standby: a failover may lose the last jobs that were acknowledged.'
        : 'A synchronous standby has every job that was acknowledged.'),
    warnings,
  }
}

function refuse(problem: string, option: keyof UnsafeOptions): SkepError {
  return new SkepError(
    'STORE_UNSAFE',
    `The server runs with ${problem}. Turn it on, or accept the loss with unsafe: { ${option}: true }.`,
    { facts: { option } },
  )
}

import { readdirSync, readFileSync } from 'node:fs'
import pg from 'pg'

/** What a database did so far; two of them make a difference. */
export interface Usage {
  /** CPU of all processes of the server, ended ones included. Null where it cannot be seen. */
  readonly cpuMicros: number | null
  /** What its log grew by. Null where that cannot be known. */
  readonly walBytes: number | null
}

export interface ClaimTimes {
  readonly calls: number
  readonly meanMs: number
  readonly maxMs: number
}

/** One session of our own in the database that is measured. */
export class PostgresMeter {
  readonly #client: pg.Client

  private constructor(client: pg.Client) {
    this.#client = client
  }

  static async connect(url: string): Promise<PostgresMeter> {
    const client = new pg.Client(url)
    // The database is dropped under it when a measurement fails.
    client.on('error', () => {})
    await client.connect()
    return new PostgresMeter(client)
  }

  async usage(): Promise<Usage> {
    const { rows } = await this.#client.query<{ bytes: string; pid: number }>(
      `select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as bytes, pg_backend_pid() as pid`,
    )
    const { bytes, pid } = rows[0] as { bytes: string; pid: number }
    return { cpuMicros: serverCpu(pid), walBytes: Number(bytes) }
  }

  async analyse(): Promise<void> {
    await this.#client.query('vacuum analyze')
  }

  /**
   * Ends what a large fill leaves to do: the analysis of its table, the write of its pages, and the making of log files, for those that
   * the fill wrote are used again from now on. In a server that has run for a while none of it is special.
   */
  async calm(): Promise<void> {
    await this.analyse()
    await this.#client.query('checkpoint')
  }

  /** Keeps a snapshot open: what ends after it cannot be cleaned away until the function is called. */
  async pin(): Promise<() => Promise<void>> {
    await this.#client.query('begin isolation level repeatable read')
    await this.#client.query('select pg_current_snapshot()')
    return async () => void (await this.#client.query('commit'))
  }

  /** False when the server does not count the time of statements. */
  async countStatements(): Promise<boolean> {
    try {
      await this.#client.query('create extension if not exists pg_stat_statements')
      await this.#client.query('select count(*) from pg_stat_statements')
      return true
    } catch {
      return false
    }
  }

  /** The time of the statement that claims since the last call of this. Null when none ran. */
  async claimTimes(pattern: string): Promise<ClaimTimes | null> {
    const { rows } = await this.#client.query<{ calls: string; mean: number; max: number }>(
      // Of several that match, the one that took most of the time.
      `select calls, mean_exec_time as mean, max_exec_time as max
       from pg_stat_statements s join pg_database d on d.oid = s.dbid
       where d.datname = current_database() and s.query ~* $1 order by total_exec_time desc limit 1`,
      [pattern],
    )
    await this.#client.query('select pg_stat_statements_reset()')
    const row = rows[0]
    return row ? { calls: Number(row.calls), meanMs: row.mean, maxMs: row.max } : null
  }

  async close(): Promise<void> {
    await this.#client.end().catch(() => {})
  }
}

/** Only on Linux, and only when the server runs on this machine. */
function serverCpu(backend: number): number | null {
  try {
    if (readFileSync(`/proc/${backend}/comm`, 'utf8').trim() !== 'postgres') return null
    const postmaster = statOf(String(backend)).parent
    // Of its children's time, the server's own figure has that of the ended ones alone.
    let ticks = statOf(postmaster).own + statOf(postmaster).ended
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      const stat = tryStat(pid)
      if (stat?.parent === postmaster) ticks += stat.own
    }
    return ticks * MICROS_PER_TICK
  } catch {
    return null
  }
}

/** USER_HZ is 100 on every Linux that Node runs on. */
const MICROS_PER_TICK = 10_000

function statOf(pid: string): { parent: string; own: number; ended: number } {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The name stands in parentheses and may hold spaces.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const ticks = (at: number): number => Number(fields[at])
  return { parent: fields[1] as string, own: ticks(11) + ticks(12), ended: ticks(13) + ticks(14) }
}

function tryStat(pid: string): ReturnType<typeof statOf> | undefined {
  try {
    return statOf(pid)
  } catch {
    // It has ended since the folder was read.
    return undefined
  }
}

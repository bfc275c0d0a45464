import type { Runtime } from '../../../runtime/runtime.ts'
import {
  type Connection,
  type ConnectionEvents,
  type Driver,
  NotSent,
  type Param,
  type Row,
  withDeadline,
} from './driver.ts'

interface PendingRows extends PromiseLike<readonly unknown[]> {
  values(): PromiseLike<readonly unknown[]>
  simple(): PendingRows
  cancel?(): void
}

/** The part of a postgres.js transaction we call. */
export interface PostgresJsTransaction {
  unsafe(text: string, params?: Param[], options?: { readonly prepare?: boolean }): PendingRows
}

/** The part of a postgres.js instance we call. */
export interface PostgresJs extends PostgresJsTransaction {
  begin<T>(run: (sql: PostgresJsTransaction) => Promise<T>): Promise<T>
  end(options?: { readonly timeout?: number }): Promise<void>
  readonly options: { readonly prepare?: boolean }
}

export interface PostgresJsDriverOptions {
  readonly sql: PostgresJs
  /** Makes another instance; postgres.js itself does it this way for LISTEN. */
  readonly newInstance: (options: object) => PostgresJs
  readonly runtime: Runtime
}

/** Runs statements on a postgres.js instance. */
export function postgresJsDriver({ sql, newInstance, runtime }: PostgresJsDriverOptions): Driver {
  // Named statements save a round trip here; whoever sits behind a pooler has turned them off for the whole instance.
  const prepare = sql.options.prepare !== false

  return {
    async query(text, params, timeoutMs) {
      const pending = sql.unsafe(text, [...params], { prepare })
      try {
        return await withDeadline(runtime, timeoutMs, asPromise(pending.values()))
      } catch (error) {
        throw wasNotSent(error) ? new NotSent(error) : error
      }
    },

    async transaction(use, timeoutMs) {
      try {
        return await withDeadline(
          runtime,
          timeoutMs,
          sql.begin((tx) => use((text, params) => run(tx, text, params))),
        )
      } catch (error) {
        throw wasNotSent(error) ? new NotSent(error) : error
      }
    },

    async connect({ onNotification, onEnd }: ConnectionEvents): Promise<Connection> {
      let over = false
      const end = (): void => {
        if (over) return
        over = true
        onEnd()
      }
      const own = newInstance({
        ...sql.options,
        max: 1,
        idle_timeout: null,
        max_lifetime: null,
        fetch_types: false,
        onclose: end,
        onnotify: onNotification,
      })
      const destroy = (): void => {
        end()
        own.end({ timeout: 0 }).catch(() => {})
      }
      let loginPid: string | null
      try {
        const first = (await own.unsafe('select 1').simple()) as {
          readonly state?: { readonly pid?: unknown }
        }
        loginPid = typeof first.state?.pid === 'number' ? String(first.state.pid) : null
      } catch (error) {
        over = true
        destroy()
        throw error
      }
      return {
        async query(text, params) {
          // It would connect anew by itself, without what was listened to and locked.
          if (over) throw new NotSent(new Error('The connection has ended.'))
          return run(own, text, params)
        },
        loginPid,
        destroy,
      }
    },

    async close() {},
  }
}

async function run(
  sql: PostgresJsTransaction,
  text: string,
  params: readonly Param[],
): Promise<readonly Row[]> {
  if (params.length > 0) return (await sql.unsafe(text, [...params]).values()) as readonly Row[]
  const rows = await sql.unsafe(text).simple()
  return rows.map((row) => (typeof row === 'object' && row !== null ? Object.values(row) : []))
}

async function asPromise(pending: PromiseLike<readonly unknown[]>): Promise<readonly Row[]> {
  return (await pending) as readonly Row[]
}

const NOT_SENT = ['ECONNREFUSED', 'CONNECT_TIMEOUT', 'CONNECTION_ENDED', 'ENOTFOUND', 'EAI_AGAIN', 'ENOENT']

function wasNotSent(error: unknown): boolean {
  return NOT_SENT.includes(String((error as { code?: unknown } | null)?.code))
}

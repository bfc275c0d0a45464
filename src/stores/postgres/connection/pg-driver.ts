import type { Runtime } from '../../../runtime/runtime.ts'
import {
  type Connection,
  type ConnectionEvents,
  DeadlineOver,
  type Driver,
  NotSent,
  type Param,
  type Row,
  withDeadline,
} from './driver.ts'
import { PreparedNames } from './prepared-names.ts'

/** The part of a `pg.Client` we call. */
export interface PgClient {
  query(config: PgQuery): Promise<{ readonly rows: readonly unknown[] }>
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
}

/** A client taken from a pool. */
export interface PgPoolClient extends PgClient {
  release(error?: Error | boolean): void
}

/** A client of our own. */
interface PgOwnClient extends PgClient {
  on(event: 'error' | 'end', listener: (error: Error) => void): unknown
  on(event: 'notification', listener: (message: { channel: string; payload?: string }) => void): unknown
  connect(): Promise<unknown>
  end(): Promise<void>
  readonly processID?: number | null
  readonly connection?: { readonly stream?: { destroy?(): void } }
}

/** The part of a `pg.Pool` we call. */
export interface PgPool {
  connect(): Promise<PgPoolClient>
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'connect', listener: (client: PgClient) => void): unknown
  end(): Promise<void>
  readonly options?: object
}

interface PgQuery {
  readonly text: string
  readonly name?: string
  readonly values?: readonly Param[]
  readonly rowMode: 'array'
  readonly types: typeof RAW
}

// Values stay as the server wrote them: the user's own type parsers are neither needed nor touched.
const RAW: { getTypeParser(): (value: unknown) => unknown } = { getTypeParser: () => (value) => value }

const ignore = (): void => {}

/** Pools that already have our listener. */
const heard = new WeakSet<PgPool>()

export interface PgDriverOptions {
  readonly pool: PgPool
  /** Makes a client outside the pool. */
  readonly newClient: () => PgOwnClient
  /** Whether the pool is ours to end. */
  readonly owned: boolean
  /** Whether the server's side of a connection is always the same one, so that it can keep statements for us. */
  readonly prepare: boolean
  readonly runtime: Runtime
}

/** Runs statements on a `pg.Pool`. */
export function pgDriver({ pool, newClient, owned, prepare, runtime }: PgDriverOptions): Driver {
  const prepared = new PreparedNames(prepare)
  // A pool without a listener turns the loss of an idle connection into the end of the process.
  if (!heard.has(pool)) {
    heard.add(pool)
    pool.on('error', ignore)
    // The pool hands out a new client a moment before we get it. A server that ends the connection in that very moment
    // would end the process.
    pool.on('connect', (client) => void client.on('error', ignore))
  }

  /** Lends a client to `use`. A client on which something went wrong that the server did not say is thrown away. */
  async function lend<T>(timeoutMs: number, use: (client: PgPoolClient) => Promise<T>): Promise<T> {
    const started = runtime.mono()
    const connecting = pool.connect()
    let client: PgPoolClient
    try {
      client = await withDeadline(runtime, timeoutMs, connecting, (late) => late.release())
    } catch (error) {
      throw new NotSent(error)
    }
    // Between two statements nobody else listens, and an error nobody listens to ends the process.
    client.on('error', ignore)
    let broken: Error | undefined
    try {
      return await withDeadline(runtime, Math.max(1, timeoutMs - (runtime.mono() - started)), use(client))
    } catch (error) {
      if (!isUsableAfter(error)) broken = error as Error
      throw wasNotSent(error) ? new NotSent(error) : error
    } finally {
      client.removeListener('error', ignore)
      client.release(broken)
    }
  }

  // What `lend` does, for one statement and with one timer: this is the way of nearly every call.
  function query(
    text: string,
    params: readonly Param[],
    timeoutMs: number,
    name?: string,
  ): Promise<readonly Row[]> {
    return new Promise((resolve, reject) => {
      let lent: PgPoolClient | undefined
      let isOver = false
      const end = (error: unknown): boolean => {
        if (isOver) return false
        isOver = true
        stop()
        if (lent) {
          lent.removeListener('error', ignore)
          lent.release(error === undefined || isUsableAfter(error) ? undefined : (error as Error))
        }
        if (error !== undefined) reject(lent && !wasNotSent(error) ? (error as Error) : new NotSent(error))
        return true
      }
      const stop = runtime.timer(timeoutMs, () => void end(new DeadlineOver(timeoutMs)))
      pool.connect().then((client) => {
        if (isOver) return client.release()
        lent = client
        client.on('error', ignore)
        return run(client, text, params, name).then((rows) => {
          if (end(undefined)) resolve(rows)
        }, end)
      }, end)
    })
  }

  return {
    async query(text, params, timeoutMs) {
      const name = prepared.nameOf(text)
      if (name === undefined) return query(text, params, timeoutMs)
      try {
        return await query(text, params, timeoutMs, name)
      } catch (error) {
        if (!prepared.isOver(error)) throw error
        return query(text, params, timeoutMs)
      }
    },

    transaction(use, timeoutMs) {
      return lend(timeoutMs, async (client) => {
        await run(client, 'begin', [])
        try {
          const result = await use((text, params) => run(client, text, params))
          await run(client, 'commit', [])
          return result
        } catch (error) {
          if (isServerError(error)) await run(client, 'rollback', []).catch(ignore)
          throw error
        }
      })
    },

    async connect({ onNotification, onEnd }: ConnectionEvents): Promise<Connection> {
      const client = newClient()
      let over = false
      const end = (): void => {
        if (over) return
        over = true
        onEnd()
      }
      const destroy = (): void => {
        end()
        // `end` says goodbye and waits for the server, which may be what no longer answers.
        client.connection?.stream?.destroy?.()
        client.end().catch(ignore)
      }
      client.on('error', end)
      client.on('end', end)
      client.on('notification', (message) => {
        onNotification(message.channel, message.payload ?? '')
      })
      try {
        await client.connect()
      } catch (error) {
        over = true
        client.connection?.stream?.destroy?.()
        throw error
      }
      const { processID } = client
      const loginPid = typeof processID === 'number' ? String(processID) : null
      return { query: (text, params) => run(client, text, params), loginPid, destroy }
    },

    async close() {
      if (owned) await pool.end()
    },
  }
}

async function run(
  client: PgClient,
  text: string,
  params: readonly Param[],
  name?: string,
): Promise<readonly Row[]> {
  // Without parameters the simple protocol is used, which takes several statements at once.
  const query: PgQuery =
    params.length === 0
      ? { text, rowMode: 'array', types: RAW }
      : name === undefined
        ? { text, values: params, rowMode: 'array', types: RAW }
        : { text, values: params, name, rowMode: 'array', types: RAW }
  const result = await client.query(query)
  // Several statements give several results.
  return (Array.isArray(result) ? [] : result.rows) as readonly Row[]
}

/** The server itself reported it, so the connection is in a known state. */
export function isServerError(error: unknown): boolean {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown }
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && severity !== 'FATAL'
}

/**
 * Whether the connection can be used further. A server that takes no writes any more may have become a standby: the next
 * connection finds the new primary.
 */
function isUsableAfter(error: unknown): boolean {
  return isServerError(error) && (error as { code?: unknown }).code !== '25006'
}

function wasNotSent(error: unknown): boolean {
  return error instanceof Error && error.message.endsWith(' is not queryable')
}

import type { Runtime } from '../../runtime/runtime.ts'
import type { Store, WorkerInfo, WorkerPresence } from '../../store/store.ts'
import { listOf, numberOf, textOf } from './connection/bytes.ts'
import type { Caller, ConnectionName } from './connection/caller.ts'

/** A connection must be missing for so long: a worker that only lost its connection says so as soon as it has another. */
const MISSING_MS = 1_000
/** After a failure to say that a worker has another connection. */
const AGAIN_MS = 250
/** Connections asked about in one command. */
const PAGE = 1_000

/**
 * The list of workers. Each is kept with the connection that its store has, and that connection ends with its process: the
 * server knows which of its connections are there. About a connection to another run of the server nobody knows anything.
 */
export class Workers {
  readonly #caller: Caller
  readonly #runtime: Runtime
  /** Whether a connection says something about its process. */
  readonly #isTold: boolean
  /** Those that live in this process. */
  readonly #own = new Map<string, WorkerInfo>()
  /** Since when a connection has been seen to be missing. */
  readonly #missing = new Map<string, number>()
  #isSaying = false
  #isClosed = false

  constructor(caller: Caller, options: { readonly runtime: Runtime; readonly liveness: boolean }) {
    this.#caller = caller
    this.#runtime = options.runtime
    this.#isTold = options.liveness
  }

  async attend({ worker, now }: { readonly worker: WorkerInfo; readonly now?: number }): Promise<void> {
    this.#own.set(worker.id, worker)
    const name = await this.#name()
    const args = [worker.id, textOfName(name), JSON.stringify(worker)]
    await this.#caller.call('attend', args, now)
    // The connection may have been another by then.
    if (textOfName(await this.#name()) !== textOfName(name)) this.connected()
  }

  async depart({ workerId }: { readonly workerId: string }): Promise<void> {
    this.#own.delete(workerId)
    await this.#caller.call('depart', [workerId])
  }

  /** There is another connection: what the list says of the workers here does not hold any more. */
  connected(): void {
    if (this.#isSaying || this.#isClosed || this.#own.size === 0) return
    this.#isSaying = true
    void this.#sayAgain().finally(() => {
      this.#isSaying = false
    })
  }

  close(): void {
    this.#isClosed = true
    this.#own.clear()
  }

  async #name(): Promise<ConnectionName | null> {
    return this.#isTold ? this.#caller.name() : null
  }

  async #sayAgain(): Promise<void> {
    let said = ''
    while (!this.#isClosed) {
      try {
        const name = textOfName(await this.#name())
        if (name === said) return
        for (const worker of this.#own.values()) {
          await this.#caller.call('attend', [worker.id, name, JSON.stringify(worker)])
        }
        said = name
        if (name === '') return
      } catch {
        await new Promise<void>((resolve) => this.#runtime.timer(AGAIN_MS, resolve, { background: true }))
      }
    }
  }

  async list({ space, ids }: Parameters<Store['workers']>[0]): ReturnType<Store['workers']> {
    if (ids?.length === 0) return { workers: [] }
    const before = await this.#name()
    const rows = listOf(await this.#caller.call('workers', [...new Set(ids)])).map((row) => {
      const [seenAt, connection, info] = listOf(row)
      return {
        seenAt: numberOf(seenAt),
        connection: textOf(connection),
        info: JSON.parse(textOf(info)) as WorkerInfo,
      }
    })
    const run = before ? `${before.run} ` : null
    const asked = run === null ? [] : rows.filter(({ connection }) => connection.startsWith(run))
    const here = await this.#present(asked.map(({ connection }) => connection.slice(run?.length)))
    // If the connection changed meanwhile, the answers may be of two servers.
    const isSure = here !== null && textOfName(await this.#name()) === textOfName(before)
    const workers = rows
      .map(({ seenAt, connection, info }): WorkerPresence => {
        const isKnown = isSure && run !== null && connection.startsWith(run)
        const life = isKnown
          ? this.#lifeOf(connection, here?.has(connection.slice(run.length)) === true)
          : 'unsure'
        return { ...info, seenAt, life }
      })
      .filter((worker) => space === undefined || worker.space === space)
      .sort((a, b) => (a.id < b.id ? -1 : 1))
    if (isSure && ids === undefined) this.#forget(new Set(rows.map(({ connection }) => connection)))
    return { workers }
  }

  /** Which of these connections the server has; null where it lets nobody ask. */
  async #present(ids: readonly string[]): Promise<ReadonlySet<string> | null> {
    const here = new Set<string>()
    const all = [...new Set(ids)]
    for (let from = 0; from < all.length; from += PAGE) {
      try {
        const list = await this.#caller.ask('CLIENT', ['LIST', 'ID', ...all.slice(from, from + PAGE)])
        for (const [, id] of textOf(list).matchAll(/^id=(\d+) /gm)) here.add(id as string)
      } catch {
        return null
      }
    }
    return here
  }

  #lifeOf(connection: string, isHere: boolean): WorkerPresence['life'] {
    if (isHere) {
      this.#missing.delete(connection)
      return 'here'
    }
    const now = this.#runtime.mono()
    const since = this.#missing.get(connection) ?? now
    this.#missing.set(connection, since)
    return now - since >= MISSING_MS ? 'gone' : 'unsure'
  }

  #forget(listed: ReadonlySet<string>): void {
    for (const connection of this.#missing.keys()) {
      if (!listed.has(connection)) this.#missing.delete(connection)
    }
  }
}

function textOfName(name: ConnectionName | null): string {
  return name ? `${name.run} ${name.client}` : ''
}

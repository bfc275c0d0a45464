import { messageOf, StoreError } from '../core/errors.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { atMost } from '../runtime/supervise.ts'
import type { Durability, Store } from '../store/store.ts'
import { patiently } from './retry-calls.ts'

interface OpeningParts {
  readonly store: Pick<Store, 'ready'>
  readonly runtime: Runtime
  readonly logger: Logger
  /** How long an enqueue waits for the store. */
  readonly patienceMs: number
}

/** Checks the store once, before the first call that needs it. */
export class Opening {
  readonly #parts: OpeningParts
  #ready: Promise<Durability> | null = null
  #isReady = false

  constructor(parts: OpeningParts) {
    this.#parts = parts
  }

  get isReady(): boolean {
    return this.#isReady
  }

  ready(): Promise<Durability> {
    this.#ready ??= this.#open()
    return this.#ready
  }

  async #open(): Promise<Durability> {
    const { store, logger } = this.#parts
    try {
      const durability = await store.ready()
      for (const warning of durability.warnings) logger.warn(warning)
      this.#isReady = true
      return durability
    } catch (error) {
      this.#ready = null
      throw error
    }
  }

  /** Ready, with the patience of an enqueue: the first call that writes may come while the store is away, like any other. */
  async readyToWrite(): Promise<void> {
    const { runtime, patienceMs } = this.#parts
    const giveUpAt = runtime.mono() + patienceMs
    const inTime = async (): Promise<void> => {
      const ready = this.ready()
      // Opening a store takes some time, however little patience there is.
      if (!(await atMost(runtime, Math.max(1_000, giveUpAt - runtime.mono()), ready))) {
        throw new StoreError('STORE_UNAVAILABLE', 'The store is not ready yet.')
      }
      await ready
    }
    try {
      await patiently({ runtime, patienceMs }, inTime)
    } catch (error) {
      if (!(error instanceof StoreError) || !error.transient) throw error
      const message = `Nothing was written: ${messageOf(error)}`
      throw new StoreError('STORE_UNAVAILABLE', message, { cause: error })
    }
  }
}

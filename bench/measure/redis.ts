import { setTimeout as sleep } from 'node:timers/promises'
import { ask } from '../redis.ts'
import type { Usage } from './postgres.ts'

/** What a Redis tells about itself. Nobody else may use it meanwhile. */
export class RedisMeter {
  readonly #url: string

  constructor(url: string) {
    this.#url = url
  }

  /** Its log is written anew now and then, so its size says nothing. */
  async usage(): Promise<Usage> {
    const info = await ask(this.#url, 'INFO cpu')
    const seconds = numberIn(info, 'used_cpu_user') + numberIn(info, 'used_cpu_sys')
    return { cpuMicros: seconds * 1e6, walBytes: null }
  }

  async memoryBytes(): Promise<number> {
    return numberIn(await ask(this.#url, 'INFO memory'), 'used_memory')
  }

  async analyse(): Promise<void> {}

  /** Writes the log anew, and waits for it: a server does so by itself when the log has doubled, in a process beside it. */
  async rewriteLog(): Promise<void> {
    await this.#untilWritten()
    await ask(this.#url, 'BGREWRITEAOF')
    await this.#untilWritten()
  }

  async #untilWritten(): Promise<void> {
    for (;;) {
      const info = await ask(this.#url, 'INFO persistence')
      const left = numberIn(info, 'aof_rewrite_in_progress') + numberIn(info, 'aof_rewrite_scheduled')
      if (left === 0) return
      await sleep(50)
    }
  }

  async close(): Promise<void> {}
}

function numberIn(info: string, name: string): number {
  const found = new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)
  if (found === null) throw new Error(`Redis does not tell its ${name}.`)
  return Number(found[1])
}

import { messageOf, StoreError } from '../../core/errors.ts'
import type { Runtime } from '../../runtime.ts'
import { listOf, numberOf, type Reply, textOf } from './bytes.ts'
import type { Argument, RedisClient } from './client.ts'
import { toStoreError } from './faults.ts'
import { keysOf } from './keys.ts'
import { SCRIPT, SCRIPT_SHA } from './lua/script.ts'
import type { ResolvedOptions } from './options.ts'

/** Runs operations of the script, and notices when the server has forgotten something that it had acknowledged. */
export class Caller {
  readonly #open: () => Promise<RedisClient>
  readonly #options: Pick<ResolvedOptions, 'wait' | 'callTimeoutMs' | 'onLoss' | 'prefix'> & {
    readonly runtime: Runtime
  }
  readonly #head: readonly Argument[]
  /** Which data it is, and how often it had been written when somebody last answered. */
  #seen: { readonly birth: string; readonly writes: number } | null = null

  constructor(open: () => Promise<RedisClient>, options: ResolvedOptions) {
    this.#open = open
    this.#options = options
    const keys = keysOf(options.prefix)
    this.#head = [String(keys.length), ...keys]
  }

  async call(operation: string, args: readonly Argument[], now?: number): Promise<Reply> {
    const rest = [...this.#head, ...args, operation, now === undefined ? '' : String(now)]
    try {
      const client = await this.#open()
      const [answer, birth, writes, isWrite] = listOf(await this.#within(this.#evaluate(client, rest)))
      this.#notice(textOf(birth), numberOf(writes))
      if (this.#options.wait && numberOf(isWrite) === 1) await this.#within(this.#confirm(client))
      return answer as Reply
    } catch (error) {
      throw toStoreError(error)
    }
  }

  async #evaluate(client: RedisClient, rest: readonly Argument[]): Promise<Reply> {
    try {
      return await client.send('EVALSHA', [SCRIPT_SHA, ...rest])
    } catch (error) {
      // After a restart or a flush the server does not know the script. Nothing has happened then.
      if (!messageOf(error).startsWith('NOSCRIPT')) throw error
      return client.send('EVAL', [SCRIPT, ...rest])
    }
  }

  async #confirm(client: RedisClient): Promise<Reply> {
    const { replicas, timeoutMs } = this.#options.wait as { replicas: number; timeoutMs: number }
    const confirmed = numberOf(await client.send('WAIT', [String(replicas), String(timeoutMs)]))
    if (confirmed >= replicas) return null
    throw new StoreError(
      'STORE_UNKNOWN',
      `${confirmed} of ${replicas} replicas confirmed the call within ${timeoutMs} ms. It happened, but a failover may lose it.`,
    )
  }

  #notice(birth: string, writes: number): void {
    const seen = this.#seen
    this.#seen = { birth, writes }
    if (seen === null || seen.birth === '' || (seen.birth === birth && writes >= seen.writes)) return
    const lost = seen.birth === birth ? `the last ${seen.writes - writes} changes` : 'everything'
    this.#options.onLoss(
      `Redis has lost ${lost} of "${this.#options.prefix}" that it had acknowledged: a failover to a replica that was ` +
        'behind, a restart without its log, or somebody flushed it.',
    )
  }

  /** A server that does not answer must not hold up whoever called for ever. */
  #within(answer: Promise<Reply>): Promise<Reply> {
    const { callTimeoutMs, runtime } = this.#options
    return new Promise((resolve, reject) => {
      const stop = runtime.timer(callTimeoutMs, () =>
        reject(
          new StoreError(
            'STORE_UNKNOWN',
            `Redis did not answer within ${callTimeoutMs} ms. The call may have happened.`,
          ),
        ),
      )
      answer.then(resolve, reject).finally(stop)
    })
  }
}

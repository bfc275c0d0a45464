import { messageOf, StoreError } from '../../../core/errors.ts'
import { Deadlines } from '../../../runtime/deadlines.ts'
import { type Askable, infoOf } from '../durability.ts'
import { isOutOfMemory, toStoreError } from '../errors.ts'
import { Head } from '../jobs/wire.ts'
import { keysOf } from '../keys.ts'
import { BULK_INSERT, BULK_INSERT_SHA } from '../lua/jobs/bulk-insert.ts'
import { PLAIN_CLAIM, PLAIN_CLAIM_KEYS, PLAIN_CLAIM_SHA } from '../lua/jobs/plain-claim.ts'
import { PLAIN_INSERT, PLAIN_INSERT_SHA, PLAIN_KEYS } from '../lua/jobs/plain-insert.ts'
import { SCRIPT, SCRIPT_SHA } from '../lua/script.ts'
import type { ResolvedOptions } from '../options.ts'
import { listOf, numberOf, type Reply, textOf } from './bytes.ts'
import { type Argument, NotSent, type RedisClient } from './client.ts'

/** Which connection to which run of the server it is, as far as the server tells. */
export interface ConnectionName {
  readonly run: string
  readonly client: string
}

/** Which data it is, and how often it had been written when somebody answered, in which run of the server. */
interface Sight {
  readonly birth: string
  readonly writes: number
  readonly run: string
  readonly losses: number
}

interface Script {
  readonly text: string
  /** The command, which script, how many keys, and which. */
  readonly head: Head
}

/** What a script is to do. */
interface ScriptRun {
  readonly operation: string
  readonly args: readonly Argument[]
  readonly time: string
}

/** The operations that have scripts of their own. */
export const PLAIN = 'plain'
export const BULK = 'bulk'
export const FEW = 'few'

/**
 * These end jobs, or let somebody end them: a full memory must not stop them. What adds jobs is refused then.
 */
const MAY_EXCEED_MEMORY = new Set(
  'settle claim few extend expired change prune attend depart hold release moveRuns tell auditGroups pauseSchedules removeSchedules removeRecords greet migrate'.split(
    ' ',
  ),
)

/**
 * Runs operations of the script, one connection after the other. Each connection begins with a greeting, which finds out
 * which server this is, and whether it has forgotten something that had been acknowledged.
 */
export class Caller {
  readonly #open: () => Promise<RedisClient>
  readonly #options: ResolvedOptions
  readonly #deadlines: Deadlines
  readonly #script: Script
  /** By operation. */
  readonly #short: ReadonlyMap<string, Script>
  #client: RedisClient | undefined
  #greeting: { readonly connection: number; readonly done: Promise<void> } | undefined
  /** The connection that was greeted. */
  #greeted = -1
  #name: ConnectionName | null = null
  #seen: Sight | null = null
  /** How many losses were told. */
  #losses = 0
  /** Since when nothing could be sent. */
  #downSince: number | null = null
  /** The connection that was thrown away last. It may take seconds to be gone. */
  #thrownAway: number | null = null

  constructor(open: () => Promise<RedisClient>, options: ResolvedOptions) {
    this.#open = open
    this.#options = options
    this.#deadlines = new Deadlines(options.runtime)
    const script = (text: string, sha: string, keys: readonly string[]): Script => {
      return { text, head: new Head(['EVALSHA', sha, String(keys.length), ...keys]) }
    }
    const { prefix } = options
    this.#script = script(SCRIPT, SCRIPT_SHA, keysOf(prefix))
    this.#short = new Map([
      [PLAIN, script(PLAIN_INSERT, PLAIN_INSERT_SHA, keysOf(prefix, PLAIN_KEYS))],
      [BULK, script(BULK_INSERT, BULK_INSERT_SHA, keysOf(prefix, PLAIN_KEYS))],
      [FEW, script(PLAIN_CLAIM, PLAIN_CLAIM_SHA, keysOf(prefix, PLAIN_CLAIM_KEYS))],
    ])
  }

  async call(operation: string, args: readonly Argument[], now?: number): Promise<Reply> {
    const isGreeted = this.#client !== undefined && this.#greeted === this.#client.connection
    const client = isGreeted ? (this.#client as RedisClient) : await this.#ready()
    try {
      const { connection } = client
      const before = this.#seen
      const reply = await this.#within(client, this.#run(client, operation, args, now))
      // It did nothing, and says why.
      if (typeof reply === 'number') return reply
      const [answer, birth, writes, isWrite] = listOf(reply)
      // A write of ours must not make up for one that was lost: what counts is how many there were before this call.
      this.#notice(before, textOf(birth), numberOf(writes) - numberOf(isWrite), numberOf(writes))
      if (this.#options.wait && numberOf(isWrite) === 1) await this.#confirm(client, connection)
      return answer as Reply
    } catch (error) {
      if (error instanceof NotSent) this.#noticeDown(client)
      throw toStoreError(error)
    }
  }

  /** Sends a command that is none of the script's. */
  async ask(command: string, args: readonly Argument[]): Promise<Reply> {
    const client = await this.#ready()
    try {
      return await this.#within(client, client.send(command, args))
    } catch (error) {
      throw toStoreError(error)
    }
  }

  /** The connection on which calls are made. What is sent there after a call is done after it. */
  client(): Promise<RedisClient> {
    return this.#ready()
  }

  /** Every server that may have the data. */
  async servers(): Promise<readonly Askable[]> {
    const client = await this.#ready()
    return client.servers().map((server) => ({
      send: (command, args) => this.#within(client, server.send(command, args)),
    }))
  }

  /** The present connection; null where the server does not tell, or has been lost. */
  async name(): Promise<ConnectionName | null> {
    await this.#ready()
    return this.#name
  }

  /** The client, on a connection that was greeted. If this fails, nothing was sent of the call that wanted it. */
  async #ready(): Promise<RedisClient> {
    this.#client ??= await this.#open()
    const client = this.#client
    if (this.#greeted === client.connection) return client
    try {
      await this.#awaitGreeting(client)
      return client
    } catch (error) {
      const known = toStoreError(error)
      throw known.code === 'STORE_UNKNOWN' ? unreachable(known) : known
    }
  }

  async #awaitGreeting(client: RedisClient): Promise<void> {
    while (this.#greeted !== client.connection) {
      const { connection } = client
      if (this.#greeting?.connection !== connection) {
        const done = this.#greet(client).then(
          () => {
            this.#greeted = connection
          },
          (error: unknown) => {
            this.#greeting = undefined
            throw error
          },
        )
        this.#greeting = { connection, done }
      }
      await this.#greeting.done
    }
  }

  async #greet(client: RedisClient): Promise<void> {
    try {
      const name = client.isCluster ? null : await this.#within(client, nameOf(client))
      const reply = await this.#within(client, this.#run(client, 'greet', [name?.run ?? '']))
      const [ended, birth, writes] = listOf(reply)
      this.#name = name
      this.#downSince = null
      // How far the data had come when the run ended in which we saw it last. Others may have written since.
      const before = this.#seen
      const last = listOf(ended).find((row) => textOf(listOf(row)[0]) === before?.run)
      const kept = last ? numberOf(listOf(last)[1]) : numberOf(writes)
      this.#notice(before, textOf(birth), kept, numberOf(writes))
    } catch (error) {
      if (!(error instanceof NotSent)) throw error
      this.#noticeDown(client)
      const refusal = this.#seen === null && /^(WRONGPASS|NOAUTH|NOPERM|ERR )/.test(messageOf(error.cause))
      // A password that was wrong from the beginning is not a matter of waiting.
      throw refusal ? error.cause : error
    }
  }

  async #run(
    client: RedisClient,
    operation: string,
    args: readonly Argument[],
    now?: number,
  ): Promise<Reply> {
    const script = this.#short.get(operation) ?? this.#script
    const time = now === undefined ? '' : String(now)
    try {
      return await client.sendOn(script.head, [...args, operation, time])
    } catch (error) {
      return this.#runAgain(client, script, { operation, args, time }, error)
    }
  }

  /** After an error of which it is certain that nothing has happened; any other is thrown. */
  async #runAgain(client: RedisClient, script: Script, run: ScriptRun, error: unknown): Promise<Reply> {
    const { operation, args, time } = run
    // After a restart or a flush the server does not know the script.
    if (messageOf(error).startsWith('NOSCRIPT')) {
      const [, , ...keys] = script.head.args
      try {
        return await client.send('EVAL', [script.text, ...keys, ...args, operation, time])
      } catch (second) {
        return this.#runAgain(client, script, run, second)
      }
    }
    if (!isOutOfMemory(error) || !MAY_EXCEED_MEMORY.has(operation)) throw error
    return client.sendOn(script.head, [...args, `!${operation}`, time])
  }

  async #confirm(client: RedisClient, connection: number): Promise<void> {
    const { replicas, timeoutMs } = this.#options.wait as { replicas: number; timeoutMs: number }
    // Another connection would be told about its own writes, and it has none.
    const isSame = client.connection === connection
    const confirmed = isSame
      ? numberOf(await this.#within(client, client.send('WAIT', [String(replicas), String(timeoutMs)])))
      : 0
    if (confirmed >= replicas) return
    throw new StoreError(
      'STORE_UNKNOWN',
      `${confirmed} of ${replicas} replicas confirmed the call within ${timeoutMs} ms. It happened, but a failover may lose it.`,
    )
  }

  /** `before` is what had been seen when the call was sent: of that nothing may be missing. Answers may overtake each other. */
  #notice(before: Sight | null, birth: string, writes: number, present: number = writes): void {
    const isOld = before !== null && before.losses !== this.#losses
    if (isOld) return
    const isLost =
      before !== null && before.birth !== '' && (before.birth !== birth || writes < before.writes)
    if (isLost) this.#losses++
    const seen = this.#seen
    if (isLost || seen === null || seen.birth !== birth || seen.writes <= present) {
      this.#seen = { birth, writes: present, run: this.#name?.run ?? '', losses: this.#losses }
    }
    if (!isLost) return
    const lost = before.birth === birth ? `the last ${before.writes - writes} changes` : 'everything'
    this.#options.onLoss(
      `Redis has lost ${lost} of "${this.#options.prefix}" that it had acknowledged: a failover to a replica that was ` +
        'behind, a restart without its log, or somebody flushed it.',
    )
  }

  /** A connection that takes nothing for long may be stuck in its beginnings, where no library looks for it. */
  #noticeDown(client: RedisClient): void {
    const { runtime, callTimeoutMs } = this.#options
    const now = runtime.mono()
    this.#downSince ??= now
    if (now - this.#downSince < callTimeoutMs) return
    this.#downSince = now
    client.reset()
  }

  /** Once for all calls that waited for it. Of a cluster nobody knows which connection it was. */
  #throwAway(client: RedisClient): void {
    if (!client.isCluster && this.#thrownAway === client.connection) return
    this.#thrownAway = client.connection
    client.reset()
  }

  /** A server that does not answer must not hold up whoever called for ever, and its connection may be dead. */
  #within<T>(client: RedisClient, answer: Promise<T>): Promise<T> {
    const { callTimeoutMs } = this.#options
    const { connection } = client
    return new Promise((resolve, reject) => {
      const end = this.#deadlines.begin(callTimeoutMs, () => {
        const message = `Redis did not answer within ${callTimeoutMs} ms. The call may have happened.`
        reject(new StoreError('STORE_UNKNOWN', message))
        if (client.connection === connection) this.#throwAway(client)
      })
      answer.then(
        (reply) => {
          end()
          resolve(reply)
        },
        (error: unknown) => {
          end()
          reject(error as Error)
        },
      )
    })
  }
}

/** What this connection is called; null where the server lets nobody ask. */
async function nameOf(client: RedisClient): Promise<ConnectionName | null> {
  try {
    const [info, id] = await Promise.all([client.send('INFO', ['server']), client.send('CLIENT', ['ID'])])
    const run = infoOf(textOf(info))['run_id']
    return run === undefined ? null : { run, client: textOf(id) }
  } catch (error) {
    if (messageOf(error).startsWith('NOPERM')) return null
    throw error
  }
}

function unreachable(cause: StoreError | Error): StoreError {
  return new StoreError('STORE_UNAVAILABLE', `Redis cannot be reached: ${messageOf(cause)}`, { cause })
}

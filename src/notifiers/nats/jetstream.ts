/**
 * The JetStream API as plain JSON requests over a NATS connection. So the notifier needs no JetStream client,
 * and any connection will do.
 */
import { SkepError } from '../../core/errors.ts'
import { NOTICE_DELIVERIES } from '../../notifier/notices.ts'
import type { ResolvedOptions } from './options.ts'
import type { Line } from './stream.ts'

const NOT_FOUND: readonly number[] = [10_059, 10_014, 10_037]
const NAME_TAKEN = 10_058

/** The server stops redelivering after this number. Skep buries a notice long before. */
const MOST_DELIVERIES = 5 * NOTICE_DELIVERIES
/** The maximum number of pending pull requests per consumer. */
const MOST_WAITING = 4_096
const DEAD_NOTICES = 100_000
const DEAD_AGE_MS = 30 * 24 * 3_600_000

export class JetStreamError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

interface StreamInfo {
  readonly config: {
    readonly retention: string
    readonly subjects?: readonly string[]
    readonly num_replicas: number
    readonly storage: string
  }
  readonly state: { readonly first_seq: number; readonly last_seq: number }
}

interface ConsumerInfo {
  readonly config: { readonly ack_wait: number }
}

interface Answer {
  readonly error?: { readonly code?: number; readonly err_code?: number; readonly description?: string }
}

export interface StoredMessage {
  readonly sequence: number
  readonly text: string
}

export interface ConsumerPlan {
  readonly stream: string
  readonly name: string
  readonly subject: string
}

export class JetStream {
  readonly #line: Line
  readonly #options: ResolvedOptions
  readonly #api: string

  constructor(line: Line, options: ResolvedOptions) {
    this.#line = line
    this.#options = options
    this.#api = options.domain === null ? '$JS.API' : `$JS.${options.domain}.API`
  }

  /** Adds a message to a stream. Resolves when the server has stored it. */
  async add(subject: string, text: string): Promise<void> {
    read(await this.#line.request(subject, text))
  }

  /** Creates the stream of notices, if it does not exist. Returns a remark if the existing one differs. */
  async keepNotices(name: string, subject: string): Promise<string | undefined> {
    const { replicas, storage, maxAgeMs } = this.#options
    const { config } = await this.#keepStream({
      name,
      subjects: [subject],
      // Acknowledged messages are removed.
      retention: 'workqueue',
      max_age: nanoseconds(maxAgeMs),
      discard: 'old',
      storage,
      num_replicas: replicas,
    })
    if (config.retention !== 'workqueue' || !config.subjects?.includes(subject)) {
      throw new SkepError(
        'CONFIG_INVALID',
        `The stream "${name}" is not a work queue of "${subject}". Use another prefix, or remove the stream.`,
        { facts: { stream: name } },
      )
    }
    const differs = config.num_replicas !== replicas || config.storage !== storage
    return differs
      ? `The stream "${name}" has ${config.num_replicas} replica(s) in ${config.storage}, not ${replicas} in ${storage}: change it with "nats stream edit".`
      : undefined
  }

  /** Creates the stream of dead notices, if it does not exist. */
  async keepDead(name: string, subject: string): Promise<void> {
    const { replicas, storage } = this.#options
    await this.#keepStream({
      name,
      subjects: [subject],
      retention: 'limits',
      max_msgs: DEAD_NOTICES,
      max_age: nanoseconds(DEAD_AGE_MS),
      discard: 'old',
      storage,
      num_replicas: replicas,
    })
  }

  /** Creates a durable consumer, or updates it if its hold time differs. */
  async keepConsumer({ stream, name, subject }: ConsumerPlan): Promise<void> {
    const { heldMs, maxAgeMs } = this.#options
    const found = await this.#askOrNull<ConsumerInfo>(`CONSUMER.INFO.${stream}.${name}`, {})
    if (found?.config.ack_wait === nanoseconds(heldMs)) return
    await this.#ask(`CONSUMER.DURABLE.CREATE.${stream}.${name}`, {
      stream_name: stream,
      config: {
        durable_name: name,
        description: subject,
        filter_subject: subject,
        deliver_policy: 'all',
        ack_policy: 'explicit',
        ack_wait: nanoseconds(heldMs),
        // Delayed notices count as pending too, and their number is unlimited.
        max_ack_pending: -1,
        max_deliver: MOST_DELIVERIES,
        max_waiting: MOST_WAITING,
        // Consumers of unused queues expire like their notices. They are created again on demand.
        inactive_threshold: nanoseconds(maxAgeMs),
      },
    })
  }

  /** The subject for pull requests of a consumer. */
  pullSubject(stream: string, consumer: string): string {
    return `${this.#api}.CONSUMER.MSG.NEXT.${stream}.${consumer}`
  }

  /** The first and the last sequence of a stream; null if it does not exist. */
  async bounds(stream: string): Promise<{ readonly first: number; readonly last: number } | null> {
    const info = await this.#askOrNull<StreamInfo>(`STREAM.INFO.${stream}`, {})
    return info && { first: info.state.first_seq, last: info.state.last_seq }
  }

  /** The message with this sequence, or the next one with this subject; null if there is none. */
  async message(stream: string, sequence: number, next?: string): Promise<StoredMessage | null> {
    const found = await this.#askOrNull<{ message: { seq: number; data?: string } }>(
      `STREAM.MSG.GET.${stream}`,
      next === undefined ? { seq: sequence } : { seq: sequence, next_by_subj: next },
    )
    if (found === null) return null
    const { seq, data = '' } = found.message
    return { sequence: seq, text: Buffer.from(data, 'base64').toString() }
  }

  async #keepStream(config: { readonly name: string } & Record<string, unknown>): Promise<StreamInfo> {
    const { name } = config
    const found = await this.#askOrNull<StreamInfo>(`STREAM.INFO.${name}`, {})
    if (found !== null) return found
    try {
      return await this.#ask<StreamInfo>(`STREAM.CREATE.${name}`, config)
    } catch (error) {
      // Another process was faster, with other options.
      if (!(error instanceof JetStreamError) || error.code !== NAME_TAKEN) throw error
      return this.#ask<StreamInfo>(`STREAM.INFO.${name}`, {})
    }
  }

  async #askOrNull<T extends object>(call: string, body: object): Promise<T | null> {
    try {
      return await this.#ask<T>(call, body)
    } catch (error) {
      if (error instanceof JetStreamError && NOT_FOUND.includes(error.code)) return null
      throw error
    }
  }

  async #ask<T extends object>(call: string, body: object): Promise<T> {
    return read(await this.#line.request(`${this.#api}.${call}`, JSON.stringify(body))) as T
  }
}

/** Parses a reply of JetStream; throws if it is an error. */
function read(data: Uint8Array): object {
  const answer = JSON.parse(Buffer.from(data).toString()) as Answer
  const { error } = answer
  if (error)
    throw new JetStreamError(
      error.err_code ?? error.code ?? 0,
      error.description ?? 'JetStream rejected the request.',
    )
  return answer
}

/** Converts to JetStream's unit of time. */
export function nanoseconds(ms: number): number {
  return Math.round(ms) * 1_000_000
}

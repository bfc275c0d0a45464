import { assertOptions, type ErrorCode, optionKeys, SkepError } from '../index.ts'
import type { ApiError, InputOf, Nothing, OperationName, OutputOf } from '../operations/schema/wire-types.ts'

export interface ServerClientOptions {
  /** Where the server is: its address, with the path if it is mounted in another one. */
  readonly url: string
  /** An access token: `skep tokens create`. @default none, which a server accepts from its own machine at most */
  readonly token?: string
  /** Another space than the token's own, if it may. */
  readonly space?: string
}

const KEYS = optionKeys<ServerClientOptions>('a server client', { url: true, token: true, space: true })

const WATCH_KEYS = optionKeys<{ signal?: AbortSignal }>('watch() of a server client', { signal: true })

/** An operation that takes nothing may be called without an input. */
type Given<Name extends OperationName> =
  Nothing extends InputOf<Name> ? readonly [input?: InputOf<Name>] : readonly [input: InputOf<Name>]

/**
 * Asks a server over HTTP, for programs that have its address and no database. What goes in and comes out is typed; moments are
 * ISO texts, as on the wire.
 */
export class ServerClient {
  readonly #base: string
  readonly #headers: Readonly<Record<string, string>>

  constructor(options: ServerClientOptions) {
    assertOptions(KEYS, options)
    const { url, token, space } = options
    this.#base = baseOf(url)
    this.#headers = {
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...(space === undefined ? {} : { 'skep-space': space }),
    }
  }

  /**
   * Calls an operation. Rejects with the code that the server refused with; with `STORE_UNAVAILABLE` if the server was not
   * reached, and with `STORE_UNKNOWN` if it did not answer, so that nobody knows whether it was done.
   */
  async call<Name extends OperationName>(name: Name, ...[input]: Given<Name>): Promise<OutputOf<Name>> {
    const response = await this.#fetch(`/call/${name}`, {
      method: 'POST',
      headers: { ...this.#headers, 'content-type': 'application/json' },
      body: JSON.stringify(input ?? {}),
    })
    return (await this.#read(response)) as OutputOf<Name>
  }

  /** What happens to a job, as `skep.jobs.watch` tells it, until it has ended. Moments are ISO texts. */
  async *watch(job: string, options: { readonly signal?: AbortSignal } = {}): AsyncGenerator<unknown> {
    assertOptions(WATCH_KEYS, options)
    const { signal } = options
    const response = await this.#fetch(`/events?job=${encodeURIComponent(job)}`, {
      headers: { ...this.#headers, accept: 'text/event-stream' },
      ...(signal === undefined ? {} : { signal }),
    })
    if (!response.ok || response.body === null) await this.#read(response)
    let rest = ''
    const decoder = new TextDecoder()
    try {
      for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
        const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n\n')
        rest = parts.pop() as string
        for (const part of parts) {
          const data = /^data: (.*)$/m.exec(part)?.[1]
          if (data === undefined) continue
          const told = JSON.parse(data) as { readonly kind: string; readonly event?: unknown }
          if (told.kind === 'job') yield told.event
        }
      }
    } catch (error) {
      if (signal?.aborted || error instanceof SkepError) throw error
      throw this.#unanswered(error)
    }
  }

  async #fetch(path: string, init: RequestInit): Promise<Response> {
    try {
      return await fetch(`${this.#base}/api/v1${path}`, init)
    } catch (error) {
      if (init.signal?.aborted) throw error
      throw this.#unanswered(error)
    }
  }

  #unanswered(error: unknown): SkepError {
    const { code, message } = ((error as Error).cause ?? error) as {
      readonly code?: unknown
      readonly message?: string
    }
    // There are ports that fetch does not even try.
    const isSent = !NOT_SENT.test(String(code)) && message !== 'bad port'
    return new SkepError(
      isSent ? 'STORE_UNKNOWN' : 'STORE_UNAVAILABLE',
      isSent
        ? `The server at ${this.#base} broke off before its answer. If this was a change, it may have been made.`
        : `The server at ${this.#base} cannot be reached.`,
      { cause: error },
    )
  }

  async #read(response: Response): Promise<unknown> {
    const text = await response.text().catch((error: unknown) => {
      throw this.#unanswered(error)
    })
    const body = parsed(text)
    if (response.ok && body !== undefined) return body
    const refused = (body as Partial<ApiError> | undefined)?.error
    if (typeof refused?.code === 'string') {
      const { code, message, facts } = refused
      throw new SkepError(code as ErrorCode, message, facts === undefined ? {} : { facts })
    }
    const { status } = response
    const isAway = status === 502 || status === 503 || status === 504
    throw new SkepError(
      isAway ? 'STORE_UNAVAILABLE' : 'OPTION_INVALID',
      isAway
        ? `There is no server behind ${this.#base} (${status}).`
        : `${this.#base} does not answer as a Skep server does (${status}). Give the address of one, with the path where it is mounted.`,
      { facts: { status } },
    )
  }
}

/** Errors that come before anything was sent. */
const NOT_SENT =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|.*CERT.*)$/

function baseOf(url: string): string {
  if (!URL.canParse(url) || !/^https?:\/\//i.test(url)) {
    throw new SkepError('OPTION_INVALID', 'url must be an address such as https://jobs.example.com.', {
      facts: { path: 'url' },
    })
  }
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname.replace(/\/(api\/v1\/?)?$/, '')}`
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

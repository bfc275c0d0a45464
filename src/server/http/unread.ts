/**
 * The part of a request body that the server has not read when it responds.
 *
 * Bytes left on a keep-alive connection stand in front of the next request, which may belong to another user when a proxy pools its
 * connections. So every response waits for the end of its request:
 *
 * - The rest arrives within GRACE_MS: it is discarded, and the response is sent as it is.
 * - Its declared length is small: the response is sent, and the connection is reused once the rest has been discarded.
 * - It is large, or its length is unknown: the response is sent with `connection: close`. The connection stays open for a moment and
 *   discards what comes, because closing a socket with unread bytes resets it, and the client would lose the response.
 *
 * This happens between fetch's request and response, so that it holds in every mount.
 */
import { type Runtime, sleepFor } from '../../index.ts'

/** A body of up to this size is discarded to keep the connection. */
export const DISCARD_BYTES = 1_048_576
/** How long a connection is held open for the rest of a body. */
export const DISCARD_MS = 5_000
/** How long a response is held back, since the rest of most bodies has arrived already. */
const GRACE_MS = 50

/** The response, for a connection on which nothing of the request is left. */
export async function afterBody(request: Request, response: Response, runtime: Runtime): Promise<Response> {
  const { body } = request
  // Streams begin after their request has been read.
  if (body === null || body.locked || isStream(response)) return response
  const rest = new Rest(body)
  const declared = Number(request.headers.get('content-length') ?? Number.NaN)
  await rest.endsWithin(GRACE_MS, DISCARD_BYTES, runtime)
  if (rest.isOver) return response
  const isKept = declared <= DISCARD_BYTES
  const headers = new Headers(response.headers)
  if (!isKept) headers.set('connection', 'close')
  const init = { status: response.status, headers }
  if (response.body === null) {
    await rest.endsWithin(DISCARD_MS, Infinity, runtime)
    rest.stop()
    return new Response(null, init)
  }
  const bytes = new Uint8Array(await response.arrayBuffer())
  // With its length the response is complete for the client before its stream has ended.
  headers.set('content-length', String(bytes.byteLength))
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await rest.endsWithin(DISCARD_MS, Infinity, runtime)
        rest.stop()
        // What remains of a body that was promised to be small ends the connection: nothing may come after it.
        if (rest.isOver || !isKept) controller.close()
        else controller.error(new Error('The rest of the request did not arrive.'))
      },
      start: (controller) => controller.enqueue(bytes),
      cancel: () => rest.stop(),
    },
    { highWaterMark: 0 },
  )
  return new Response(stream, init)
}

function isStream({ headers }: Response): boolean {
  return /event-stream|ndjson/.test(headers.get('content-type') ?? '')
}

/** Reads the rest of a body and discards it. */
class Rest {
  isOver = false
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  readonly #stopped = new AbortController()
  #bytes = 0
  #most = Infinity
  #onEnough: () => void = () => {}

  constructor(body: ReadableStream<Uint8Array>) {
    this.#reader = body.getReader()
    void this.#read()
  }

  /** Resolves at the end of the body, after `ms`, or when more than `most` bytes came. */
  async endsWithin(ms: number, most: number, runtime: Runtime): Promise<void> {
    if (this.isOver || this.#stopped.signal.aborted) return
    const enough = new AbortController()
    this.#most = most
    this.#onEnough = () => enough.abort()
    await sleepFor(runtime, ms, enough.signal, { background: true })
  }

  stop(): void {
    this.#stopped.abort()
    this.#onEnough()
  }

  async #read(): Promise<void> {
    try {
      while (!this.#stopped.signal.aborted) {
        const { done, value } = await this.#reader.read()
        if (done) break
        this.#bytes += value.byteLength
        if (this.#bytes > this.#most) this.#onEnough()
      }
    } catch {
      // The client is gone, and with it the connection.
    }
    this.isOver = !this.#stopped.signal.aborted
    this.#onEnough()
  }
}

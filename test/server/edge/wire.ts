/** One connection of HTTP/1.1 by hand: what a pooled client or proxy does with it, one request after the other. */
import { connect, type Socket } from 'node:net'

export interface WireResponse {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
  /** The server has said that it closes the connection after it. */
  readonly isLast: boolean
}

/** Far less than the timeouts of requests (60 s, or 300 s in Node's own servers), and far more than a busy machine takes. */
const PATIENCE_MS = 25_000

export class Wire {
  readonly #socket: Socket
  #received: Buffer = Buffer.alloc(0)
  #isEnded = false
  #error: Error | null = null
  #onNews: () => void = () => {}

  constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (bytes) => {
      this.#received = Buffer.concat([this.#received, bytes])
      this.#onNews()
    })
    socket.on('end', () => {
      this.#isEnded = true
      this.#onNews()
    })
    socket.on('close', () => {
      this.#isEnded = true
      this.#onNews()
    })
    socket.on('error', (error) => {
      this.#error = error
      this.#onNews()
    })
  }

  static open(url: string): Promise<Wire> {
    const { port } = new URL(url)
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), '127.0.0.1', () => resolve(new Wire(socket)))
      socket.once('error', reject)
    })
  }

  /** Writes as a client does that has more to send: without waiting for an answer, and without minding that nobody reads it. */
  write(bytes: string | Uint8Array): void {
    if (this.#socket.writable) this.#socket.write(bytes)
  }

  head(method: string, path: string, headers: Readonly<Record<string, string>> = {}): void {
    const lines = Object.entries({ host: '127.0.0.1', ...headers }).map(
      ([name, value]) => `${name}: ${value}`,
    )
    this.write(`${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
  }

  /** The next response; throws if the connection ends or nothing comes in time. */
  async response(): Promise<WireResponse> {
    const end = await this.#until(() => {
      const at = this.#received.indexOf('\r\n\r\n')
      return at === -1 ? null : at + 4
    }, 'the head of a response')
    const [first = '', ...lines] = this.#received.subarray(0, end).toString('latin1').trim().split('\r\n')
    const headers = new Map(
      lines.map((line) => {
        const at = line.indexOf(':')
        return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()]
      }),
    )
    this.#received = this.#received.subarray(end)
    const length = headers.get('content-length')
    const body = length === undefined ? await this.#chunks() : await this.#take(Number(length))
    return {
      status: Number(first.split(' ')[1]),
      headers,
      body,
      isLast: headers.get('connection')?.toLowerCase() === 'close',
    }
  }

  /** Resolves when the server has closed the connection. */
  async closed(): Promise<void> {
    await this.#until(() => (this.#isEnded ? true : null), 'the end of the connection', true)
  }

  end(): void {
    this.#socket.destroy()
  }

  async #take(bytes: number): Promise<string> {
    await this.#until(() => (this.#received.length >= bytes ? true : null), `a body of ${bytes} bytes`)
    const body = this.#received.subarray(0, bytes).toString('utf8')
    this.#received = this.#received.subarray(bytes)
    return body
  }

  async #chunks(): Promise<string> {
    let body = ''
    for (;;) {
      const end = await this.#until(() => {
        const at = this.#received.indexOf('\r\n')
        return at === -1 ? null : at + 2
      }, 'a chunk')
      const size = Number.parseInt(this.#received.subarray(0, end).toString('latin1'), 16)
      this.#received = this.#received.subarray(end)
      body += await this.#take(size)
      await this.#take(2)
      if (size === 0) return body
    }
  }

  async #until<T>(look: () => T | null, what: string, isEndFine = false): Promise<T> {
    const deadline = performance.now() + PATIENCE_MS
    for (;;) {
      const found = look()
      if (found !== null) return found
      const left = deadline - performance.now()
      if (!isEndFine && (this.#isEnded || this.#error)) {
        throw new Error(`The connection ended before ${what}: ${this.#error?.message ?? 'closed'}`)
      }
      if (left <= 0) throw new Error(`No sign of ${what} within ${PATIENCE_MS} ms.`)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left)
        this.#onNews = () => {
          clearTimeout(timer)
          resolve()
        }
      })
    }
  }
}

import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { createSkep, type Skep, SkepError, type SkepOptions } from '../index.ts'
import { ServerCore } from './core.ts'
import { remoteOf, sendResponse, toRequest } from './http/node.ts'
import type { ServerOptions } from './options.ts'

export interface ListenOptions {
  /** @default '127.0.0.1' */
  readonly host?: string
  /** 0: any that is free. @default 7337 */
  readonly port?: number
  /** If the port is taken, so many of the next ones are tried. @default 0 */
  readonly tries?: number
}

/** Makes a server for a Skep, or opens a Skep of its own and closes it with the server. */
export function createServer(source: Skep | SkepOptions, options: ServerOptions = {}): SkepServer {
  return new SkepServer(source, options)
}

/** A server of its own: one port for everything. */
export class SkepServer {
  /** The space that it was made for. */
  readonly skep: Skep
  readonly #core: ServerCore
  readonly #ownsSkep: boolean
  readonly #http: Server
  #closing: Promise<void> | null = null

  constructor(source: Skep | SkepOptions, options: ServerOptions) {
    this.#ownsSkep = !isSkep(source)
    this.skep = isSkep(source) ? source : createSkep(source)
    this.#core = new ServerCore(this.skep, options)
    this.#http = createHttpServer((incoming, outgoing) => {
      this.#answer(incoming, outgoing).catch(() => {
        // Fetch has no such request: a method like TRACE. Nothing of it was looked at.
        if (!outgoing.headersSent) outgoing.writeHead(400, { connection: 'close' })
        outgoing.end()
      })
    })
  }

  /** Opens the port. Resolves with the address; rejects if it is taken, or if anybody could use the server (`SERVER_UNPROTECTED`). */
  async listen({ host = '127.0.0.1', port = 7337, tries = 0 }: ListenOptions = {}): Promise<{
    readonly url: string
    readonly host: string
    readonly port: number
  }> {
    await this.#core.guard.listen?.(host)
    for (let at = port; ; at++) {
      try {
        await this.#open(host, at)
        break
      } catch (error) {
        const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
        if (!isTaken || at >= port + tries) throw listenError(error, host, at)
      }
    }
    const bound = (this.#http.address() as AddressInfo).port
    const shown = host.includes(':') ? `[${host}]` : host
    return { url: `http://${shown}:${bound}`, host, port: bound }
  }

  #open(host: string, port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#http.once('error', reject)
      this.#http.listen(port, host, () => {
        this.#http.off('error', reject)
        resolve()
      })
    })
  }

  async #answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const gone = new AbortController()
    outgoing.on('close', () => gone.abort())
    const request = toRequest(incoming, gone.signal)
    const response = await this.#core.handle({ request, remote: remoteOf(incoming), mount: '' })
    await sendResponse(response, outgoing, incoming.method === 'HEAD')
  }

  /** Takes no more requests, ends streams, waits for what is being answered, and closes the Skep if it is its own. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#http.close(() => resolve()))
    this.#core.closing.abort()
    this.#http.closeIdleConnections()
    await closed
    await this.#core.close()
    if (this.#ownsSkep) await this.skep.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

// Not by its class: the package may be loaded twice, once as ESM and once as CommonJS.
function isSkep(source: Skep | SkepOptions): source is Skep {
  return 'enqueue' in source
}

function listenError(error: unknown, host: string, port: number): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') return error
  return new SkepError(
    'CONFIG_INVALID',
    `Port ${port} of ${host} is taken. Choose another with port, or 0 for any.`,
    {
      facts: { host, port },
      cause: error,
    },
  )
}

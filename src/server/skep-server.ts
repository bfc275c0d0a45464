import { assertOptions, createSkep, type Skep, SkepError, type SkepOptions } from '../index.ts'
import { ServerCore } from './core.ts'
import { GRPC_INSTALL, grpcOff, loadGrpc, RPC_PREFIX } from './grpc/load.ts'
import {
  type Incoming,
  type NodeHandler,
  type Outgoing,
  remoteOf,
  sendResponse,
  toRequest,
} from './http/node.ts'
import { type ConnectionOptions, DEFAULT_PORT, resolveConnections } from './node-options.ts'
import { OnePort } from './one-port.ts'
import { assertServerOptions, LISTEN_KEYS, NODE_SERVER_KEYS } from './option-keys.ts'
import { MOST_BODY_BYTES, resolveServerOptions, type ServerOptions } from './options.ts'

export interface NodeServerOptions extends ServerOptions, ConnectionOptions {
  /**
   * Serves gRPC, which needs the packages `@connectrpc/connect`, `@connectrpc/connect-node` and `@bufbuild/protobuf`. With true
   * `listen` rejects with `CLIENT_MISSING` if one is not installed. @default on if they are installed; otherwise off, with a warning
   */
  readonly grpc?: boolean
}

export interface ListenOptions {
  /** @default '127.0.0.1' */
  readonly host?: string
  /** 0: any that is free. @default 7537 */
  readonly port?: number
  /** If the port is taken, so many of the next ones are tried. @default 0 */
  readonly tries?: number
}

/** Where a server listens. */
export interface Listening {
  readonly url: string
  readonly host: string
  readonly port: number
  /** Whether gRPC is served. */
  readonly grpc: boolean
}

/** Makes a server for a Skep, or opens a Skep of its own and closes it with the server. Nothing is open before `listen`. */
export function createServer(source: Skep | SkepOptions, options: NodeServerOptions = {}): SkepServer {
  return new SkepServer(source, options)
}

/** A server of its own: one port for everything. */
export class SkepServer {
  /** In the space that it was made for. */
  readonly skep: Skep
  readonly core: ServerCore
  readonly #ownsSkep: boolean
  readonly #port: OnePort
  readonly #tls: boolean
  readonly #bulk: { stop(): Promise<void> } | null
  readonly #grpc: boolean | undefined
  #rpc: NodeHandler | null = null
  #closing: Promise<void> | null = null

  constructor(source: Skep | SkepOptions, options: NodeServerOptions = {}) {
    assertServerOptions(NODE_SERVER_KEYS, options)
    const connections = resolveConnections(options)
    this.#ownsSkep = !isSkep(source)
    this.skep = isSkep(source) ? source : createSkep(source)
    this.core = new ServerCore(this.skep, options)
    this.#port = new OnePort(
      (incoming, outgoing) => this.#take(incoming, outgoing),
      connections,
      this.core.runtime,
    )
    this.#tls = connections.tls !== null
    this.#grpc = options.grpc
    this.core.connections = () => this.#port.connections
    this.#bulk = resolveServerOptions(options).bulk ? this.skep.bulk.serve() : null
  }

  /**
   * Opens the port. Resolves with the address. Rejects if the port is taken; with `SERVER_UNPROTECTED` if anybody could use it, or if
   * other machines could reach it by plain http alone.
   */
  async listen(options: ListenOptions = {}): Promise<Listening> {
    assertOptions(LISTEN_KEYS, options)
    const { host = '127.0.0.1', port = DEFAULT_PORT, tries = 0 } = options
    if (this.#closing) throw new SkepError('CLOSED', 'This server is closed. Make a new one.')
    await this.core.guard.listen?.(host, this.#tls)
    const grpc = await this.#serveRpc()
    for (let at = port; ; at++) {
      try {
        const bound = await this.#port.listen(host, at)
        return { url: `${this.#tls ? 'https' : 'http'}://${shown(host)}:${bound}`, host, port: bound, grpc }
      } catch (error) {
        const isTaken = (error as NodeJS.ErrnoException).code === 'EADDRINUSE'
        if (!isTaken || at >= port + tries) throw listenError(error, host, at)
      }
    }
  }

  /** Answers a request that somebody else has taken. */
  fetch(request: Request): Promise<Response> {
    return this.core.handle({ request, remote: { address: null, isEncrypted: false }, mount: '' })
  }

  /** gRPC and Connect. Only a server that listens needs their code. Resolves with whether they are served. */
  async #serveRpc(): Promise<boolean> {
    const { core } = this
    const grpc = this.#grpc === false ? null : await this.#loadGrpc()
    const handler =
      grpc?.connectHandler({
        guard: core.guard,
        services: core.services,
        skepFor: (space) => core.skepFor(space),
        onChange: (space, name) => core.onChange(space, name),
        hub: core.hub,
        messageBytes: MOST_BODY_BYTES,
        report: (error) => core.logger.error('A call failed in an unexpected way.', { error }),
      }) ?? grpcOff(core.runtime)
    // Replaced, not added: `listen` may be called again after it failed.
    this.#rpc = handler
    return grpc !== null
  }

  /** Null if its packages are missing and were not asked for. */
  async #loadGrpc(): Promise<Awaited<ReturnType<typeof loadGrpc>> | null> {
    try {
      return await loadGrpc()
    } catch (error) {
      if (this.#grpc === true || !(error instanceof SkepError)) throw error
      this.core.logger.warn(
        `gRPC is off, because its packages are not installed. For gRPC run "${GRPC_INSTALL}"; without it set grpc: false.`,
        { code: error.code, ...error.facts },
      )
      return null
    }
  }

  #take(incoming: Incoming, outgoing: Outgoing): void {
    const isRpc = incoming.url?.startsWith(RPC_PREFIX) === true
    if (isRpc && this.#rpc !== null) this.#rpc(incoming, outgoing)
    else void this.#answer(incoming, outgoing)
  }

  async #answer(incoming: Incoming, outgoing: Outgoing): Promise<void> {
    const gone = new AbortController()
    outgoing.on('close', () => gone.abort())
    try {
      const request = toRequest(incoming, gone.signal)
      const response = await this.core.handle({ request, remote: remoteOf(incoming), mount: '' })
      await sendResponse(response, outgoing, {
        isHead: incoming.method === 'HEAD',
        isLast: this.#closing !== null,
      })
    } catch (error) {
      // Fetch has no such request: a method like TRACE. Nothing of it was looked at.
      this.core.logger.debug('A request could not be answered.', { error })
      if (!outgoing.headersSent) outgoing.writeHead(400)
      outgoing.end()
    }
  }

  /** Takes no more requests, ends streams, waits for what is being answered, and closes the Skep if it is its own. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.core.closing.abort(new SkepError('CLOSED', 'This server is closed.'))
    // While the port is open: what receivers have begun they can still end, and nothing of theirs counts as lost.
    await this.core.hub.close()
    await this.#port.close()
    await this.#bulk?.stop()
    await this.core.close()
    if (this.#ownsSkep) await this.skep.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

// Not by its class: the package may be loaded twice, once as ESM and once as CommonJS.
export function isSkep(source: Skep | SkepOptions): source is Skep {
  return 'enqueue' in source
}

function shown(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
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

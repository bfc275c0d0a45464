/**
 * One port for HTTP/1.1 and HTTP/2 without TLS: the first bytes of a connection tell which it is. A client of gRPC begins with
 * `PRI * HTTP/2.0`, and no request of HTTP/1.1 does.
 */
import { createServer as createHttp1, type Server as Http1Server } from 'node:http'
import { createServer as createHttp2, type Http2Server, type ServerHttp2Session } from 'node:http2'
import { type AddressInfo, createServer as createNet, type Server, type Socket } from 'node:net'
import { createServer as createTls } from 'node:tls'
import type { Runtime } from '../index.ts'
import type { NodeHandler } from './http/node.ts'
import type { ResolvedConnections } from './node-options.ts'

const PREFACE = Buffer.from('PRI')
/** How often a client of HTTP/2 is asked whether it is there. One that has not answered twice in a row is gone. */
const PING_MS = 15_000

export class OnePort {
  readonly http1: Http1Server
  readonly http2: Http2Server
  readonly #front: Server
  readonly #options: ResolvedConnections
  readonly #runtime: Runtime
  readonly #sockets = new Set<Socket>()
  readonly #sessions = new Set<ServerHttp2Session>()

  constructor(handler: NodeHandler, options: ResolvedConnections, runtime: Runtime) {
    this.#options = options
    this.#runtime = runtime
    this.http1 = createHttp1(
      {
        maxHeaderSize: options.headerBytes,
        headersTimeout: options.headersMs,
        requestTimeout: options.requestMs,
        keepAliveTimeout: options.idleMs,
        connectionsCheckingInterval: Math.max(100, Math.min(1_000, Math.ceil(options.headersMs / 2))),
      },
      handler,
    )
    this.http2 = createHttp2({
      maxHeaderListPairs: 128,
      settings: { maxConcurrentStreams: options.streams, maxHeaderListSize: options.headerBytes },
    })
    this.http2.on('request', handler)
    this.http2.on('session', (session) => {
      this.#sessions.add(session)
      session.setTimeout(Math.max(options.idleMs, options.requestMs), () => {
        if (this.#isIdle(session)) session.close()
      })
      const stopPings = this.#watch(session)
      session.on('close', () => {
        stopPings()
        this.#sessions.delete(session)
      })
      session.on('error', () => session.destroy())
    })
    this.#front = options.tls
      ? createTls({ ...options.tls, ALPNProtocols: ['h2', 'http/1.1'] }, (socket) => this.#accept(socket))
      : createNet((socket) => this.#accept(socket))
    this.#front.maxConnections = options.connections
    // A client whose handshake fails is its own affair.
    this.#front.on('tlsClientError', () => {})
    this.http1.on('clientError', refuse)
  }

  get connections(): number {
    return this.#sockets.size
  }

  async listen(host: string, port: number): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#front.once('error', reject)
      this.#front.listen(port, host, () => {
        this.#front.off('error', reject)
        resolve()
      })
    })
    // It has no port of its own, and begins to look after its timeouts when it is told that it listens.
    this.http1.emit('listening')
    return (this.#front.address() as AddressInfo).port
  }

  /** Takes no new connections, closes those that do nothing, and after a while the others. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#front.close(() => resolve()))
    this.http1.close(() => {})
    this.http1.closeIdleConnections()
    for (const session of this.#sessions) session.close()
    const cancel = this.#runtime.timer(this.#options.closeMs, () => {
      for (const session of this.#sessions) session.destroy()
      for (const socket of this.#sockets) socket.destroy()
    })
    await closed
    cancel()
  }

  #isIdle(session: ServerHttp2Session): boolean {
    return !session.destroyed && (session.state.effectiveRecvDataLength ?? 0) === 0
  }

  /** Finds out that a client is gone whose cable was cut: nothing else would tell, and its streams would hold their jobs for ever. */
  #watch(session: ServerHttp2Session): () => void {
    let unanswered = 0
    const ask = (): void => {
      if (session.destroyed) return
      if (unanswered >= 2) {
        session.destroy()
        return
      }
      unanswered += 1
      session.ping((error) => {
        if (error === null) unanswered = 0
      })
      cancel = this.#runtime.timer(PING_MS, ask, { background: true })
    }
    let cancel = this.#runtime.timer(PING_MS, ask, { background: true })
    return () => cancel()
  }

  #accept(socket: Socket): void {
    // As a server of HTTP does with sockets of its own. Otherwise the end of an answer waits 40 ms for the client's word on its head.
    socket.setNoDelay(true)
    // A connection of HTTP/1.1 on which nothing is sent is asked by the kernel whether its other end is there.
    socket.setKeepAlive(true, PING_MS)
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    const cancel = this.#runtime.timer(this.#options.headersMs, () => socket.destroy(), { background: true })
    socket.once('close', cancel)
    this.#sniff(socket, () => {
      cancel()
      socket.off('close', cancel)
    })
  }

  #sniff(socket: Socket, known: () => void): void {
    socket.once('readable', () => {
      const bytes = socket.read() as Buffer | null
      if (bytes === null) {
        // Its other end is closed, and it has said nothing.
        if (socket.readableEnded || socket.destroyed) return
        return this.#sniff(socket, known)
      }
      socket.unshift(bytes)
      const isPreface = bytes.subarray(0, PREFACE.length).equals(PREFACE.subarray(0, bytes.length))
      if (isPreface && bytes.length < PREFACE.length) return this.#sniff(socket, known)
      known()
      const server = isPreface ? this.http2 : this.http1
      server.emit('connection', socket)
    })
  }
}

/** What is no HTTP is told so, shortly. */
function refuse(
  error: NodeJS.ErrnoException,
  socket: { readonly writable: boolean; end(text: string): void; destroy(): void },
): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const status =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? '431 Request Header Fields Too Large'
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? '408 Request Timeout'
        : '400 Bad Request'
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`)
}

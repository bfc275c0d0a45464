/**
 * A TCP proxy on this machine alone that does to a connection what networks do. One proxy stands before one server;
 * whatever is set holds for all its connections, those already open included, until `heal`.
 *
 * Bytes are late (latency, bandwidth), held back (stall: they arrive when it heals, as TCP repeats them) or gone
 * (black hole). A connection that lost bytes never works again: it is half-open until it is used after the heal, and
 * then it is reset.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** To the server, or to the client. */
export type Direction = 'up' | 'down'

export interface Faults {
  /** Every piece is this much later. @default 0 */
  readonly latencyMs?: number
  /** And up to this much more, by chance. The order of bytes stays. @default 0 */
  readonly jitterMs?: number
  /** In each direction. @default no limit */
  readonly bytesPerSecond?: number
  /** No byte moves in this direction until the heal, then all do. */
  readonly stall?: Direction | 'both'
  /** Bytes vanish; nor does either end hear of a close. */
  readonly blackHole?: Direction | 'both'
  /** A new connection is reset at once. @default false */
  readonly refuse?: boolean
  /** After this many more bytes from the server a connection is reset, in the middle of an answer if need be. */
  readonly cutAfterBytes?: number
}

export interface LostReply {
  /** Which bytes of a client the fault waits for. */
  readonly request: (bytes: Buffer) => boolean
  /** Whether the server has answered for good, that is, done what was asked. @default at its first bytes */
  readonly answered?: (bytes: Buffer) => boolean
}

const MOST_HELD_BYTES = 1 << 20

export class FaultProxy {
  readonly #server: Server
  readonly #links = new Set<Link>()
  readonly #lostReplies: (LostReply & { readonly done: () => void })[] = []
  #faults: Faults = {}

  private constructor(server: Server, target: { readonly host: string; readonly port: number }) {
    this.#server = server
    server.on('connection', (client) => {
      if (this.#faults.refuse) {
        breakOff(client)
        return
      }
      const link: Link = new Link(client, connect(target), {
        faults: () => this.#faults,
        takeLostReply: (bytes) => this.#takeLostReply(bytes),
        onEnd: () => void this.#links.delete(link),
      })
      this.#links.add(link)
    })
  }

  static async start(target: { readonly host: string; readonly port: number }): Promise<FaultProxy> {
    const server = createServer({ allowHalfOpen: true, noDelay: true })
    const proxy = new FaultProxy(server, target)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Connections that are open on at least one side. */
  get connections(): number {
    return this.#links.size
  }

  /** From now on these faults and no others. */
  set(faults: Faults): void {
    this.#faults = faults
    for (const link of this.#links) link.faultsChanged()
  }

  heal(): void {
    this.set({})
  }

  /** Resets what is open now, on both sides. */
  reset(): void {
    for (const link of this.#links) link.reset()
  }

  /**
   * The next such request reaches the server and is answered; the answer is swallowed and the connection reset.
   * Resolves when that has happened.
   */
  loseReply(reply: LostReply): Promise<void> {
    return new Promise((done) => this.#lostReplies.push({ ...reply, done }))
  }

  async close(): Promise<void> {
    this.#server.close()
    this.reset()
    if (this.#server.listening) await once(this.#server, 'close')
  }

  #takeLostReply(bytes: Buffer): (LostReply & { readonly done: () => void }) | null {
    const index = this.#lostReplies.findIndex(({ request }) => request(bytes))
    return index < 0 ? null : (this.#lostReplies.splice(index, 1)[0] ?? null)
  }
}

interface LinkParts {
  readonly faults: () => Faults
  readonly takeLostReply: (bytes: Buffer) => (LostReply & { readonly done: () => void }) | null
  readonly onEnd: () => void
}

/** One client's connection and the one to the server that goes with it. */
class Link {
  readonly #parts: LinkParts
  readonly #lanes: Record<Direction, Lane>
  readonly #timers = new Set<NodeJS.Timeout>()
  #cutLeft: number | null = null
  #hasLostBytes = false
  #hasLostEnd = false
  #losing: (LostReply & { readonly done: () => void }) | null = null
  #isOver = false

  constructor(client: Socket, server: Socket, parts: LinkParts) {
    this.#parts = parts
    server.setNoDelay(true)
    this.#lanes = {
      up: { from: client, to: server, held: [], bytes: 0, freeAt: 0 },
      down: { from: server, to: client, held: [], bytes: 0, freeAt: 0 },
    }
    this.#cutLeft = parts.faults().cutAfterBytes ?? null
    for (const direction of ['up', 'down'] as const) {
      const { from } = this.#lanes[direction]
      from.on('data', (bytes) => this.#take(direction, bytes))
      from.on('end', () => this.#take(direction, null))
      from.on('error', () => this.#broken())
      from.on('close', () => this.#closed())
    }
  }

  faultsChanged(): void {
    this.#cutLeft = this.#parts.faults().cutAfterBytes ?? null
    // That one side went away while nothing got through is heard of now.
    if (this.#hasLostEnd && !this.#isDark('up') && !this.#isDark('down')) this.reset()
    this.#move('up')
    this.#move('down')
  }

  reset(): void {
    if (this.#isOver) return
    this.#isOver = true
    for (const timer of this.#timers) clearTimeout(timer)
    for (const { from } of Object.values(this.#lanes)) breakOff(from)
    this.#parts.onEnd()
  }

  #isDark(direction: Direction): boolean {
    const { blackHole } = this.#parts.faults()
    return blackHole === 'both' || blackHole === direction
  }

  #isStalled(direction: Direction): boolean {
    const { stall } = this.#parts.faults()
    return stall === 'both' || stall === direction
  }

  #take(direction: Direction, bytes: Buffer | null): void {
    if (this.#isDark(direction)) {
      this.#hasLostBytes = true
      this.#hasLostEnd ||= bytes === null
    } else if (this.#hasLostBytes) {
      this.reset()
    } else if (bytes !== null && direction === 'down' && this.#losing) {
      this.#swallow(bytes)
    } else {
      if (bytes !== null && direction === 'up') this.#losing ??= this.#parts.takeLostReply(bytes)
      this.#hold(direction, bytes)
    }
  }

  #hold(direction: Direction, bytes: Buffer | null): void {
    const lane = this.#lanes[direction]
    const { latencyMs = 0, jitterMs = 0, bytesPerSecond } = this.#parts.faults()
    const now = performance.now()
    const takesMs = bytesPerSecond ? ((bytes?.length ?? 0) / bytesPerSecond) * 1_000 : 0
    // One piece after the other: each takes its time, and none overtakes.
    lane.freeAt = Math.max(lane.freeAt, now + latencyMs + jitterMs * Math.random()) + takesMs
    lane.held.push({ bytes, at: lane.freeAt })
    lane.bytes += bytes?.length ?? 0
    if (lane.bytes > MOST_HELD_BYTES) lane.from.pause()
    this.#move(direction)
  }

  #swallow(bytes: Buffer): void {
    const losing = this.#losing
    if (!losing || (losing.answered && !losing.answered(bytes))) return
    this.reset()
    losing.done()
  }

  /** Hands over what has arrived, and comes back for the rest. */
  #move(direction: Direction): void {
    const lane = this.#lanes[direction]
    while (!this.#isOver && !this.#isStalled(direction)) {
      const next = lane.held[0]
      if (!next) return
      const waitMs = next.at - performance.now()
      if (waitMs > 0.5) {
        this.#later(waitMs, () => this.#move(direction))
        return
      }
      lane.held.shift()
      lane.bytes -= next.bytes?.length ?? 0
      if (lane.bytes <= MOST_HELD_BYTES) lane.from.resume()
      if (this.#isDark(direction)) this.#hasLostBytes = true
      else this.#give(lane, direction, next.bytes)
    }
  }

  #give(lane: Lane, direction: Direction, bytes: Buffer | null): void {
    if (bytes === null) {
      lane.to.end()
    } else if (direction === 'up' || this.#cutLeft === null) {
      lane.to.write(bytes)
    } else {
      const part = bytes.subarray(0, this.#cutLeft)
      this.#cutLeft -= part.length
      if (this.#cutLeft > 0) lane.to.write(part)
      else lane.to.write(part, () => this.reset())
    }
  }

  #later(ms: number, run: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      run()
    }, ms)
    this.#timers.add(timer)
  }

  /** One side broke off: the other hears of it, unless nothing gets through. */
  #broken(): void {
    if (this.#isDark('up') || this.#isDark('down')) this.#hasLostBytes = this.#hasLostEnd = true
    else this.reset()
  }

  #closed(): void {
    const { up, down } = this.#lanes
    if (this.#isOver || !up.from.destroyed || !down.from.destroyed) return
    this.#isOver = true
    this.#parts.onEnd()
  }
}

/** Resets it. One that was ended already cannot be: Node would then wait for it for ever when the process exits. */
function breakOff(socket: Socket): void {
  if (socket.connecting || socket.writableEnded) socket.destroy()
  else if (!socket.destroyed) socket.resetAndDestroy()
}

/** One direction of a link: what was read and not yet handed over. `bytes: null` is the end. */
interface Lane {
  readonly from: Socket
  readonly to: Socket
  readonly held: { readonly bytes: Buffer | null; readonly at: number }[]
  bytes: number
  freeAt: number
}

/** The last bytes of an answer of PostgreSQL, outside of a transaction: the commit has happened. */
const READY_FOR_QUERY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

/** A statement with this text, its answer lost after the commit. */
export function postgresReply(text: string): LostReply {
  return {
    request: (bytes) => bytes.includes(text),
    answered: (bytes) => bytes.subarray(-READY_FOR_QUERY.length).equals(READY_FOR_QUERY),
  }
}

/** A call of an operation of the Redis store, its answer lost: the server has it by then, and nothing comes back. */
export function redisReply(operation: string): LostReply {
  return { request: (bytes) => bytes.includes(`\r\n${operation}\r\n`) }
}

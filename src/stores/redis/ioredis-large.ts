import type { Argument } from './client.ts'

/** The part of a socket that takes what is large. */
interface Socket {
  write(part: Buffer): unknown
}

/** A command of ioredis: what it is on the wire, it tells when it is written. */
interface IoRedisCommand {
  toWritable(socket?: Socket): string | Buffer
}

interface Sender {
  sendCommand?(command: IoRedisCommand): Promise<unknown>
}

type CommandClass = new (
  name: string,
  args: readonly Argument[],
  options: { readonly replyEncoding: null },
) => IoRedisCommand

/** From so many bytes on it is worth it. */
const LARGE_BYTES = 262_144

/**
 * Sends a large command without a copy of it. ioredis puts everything that it sends into one piece, and for many thousand jobs that is as
 * much memory again as they need. Null: the command is not large, or this is no client that can be told how to write it.
 */
export function sendLarge(client: object, name: string, args: readonly Argument[]): Promise<unknown> | null {
  let bytes = 0
  for (const arg of args) if (typeof arg !== 'string') bytes += arg.length
  if (bytes < LARGE_BYTES) return null
  const { sendCommand } = client as Sender
  const { Command } = client.constructor as { readonly Command?: CommandClass }
  if (typeof Command !== 'function' || typeof sendCommand !== 'function') return null
  const command = new Command(name, [], { replyEncoding: null })
  command.toWritable = (socket) => written(wireParts([name, ...args]), socket)
  return sendCommand.call(client, command)
}

/** Writes all parts but the last, which is left to whoever asked. */
function written(parts: readonly Buffer[], socket: Socket | undefined): Buffer {
  if (typeof socket?.write !== 'function') return Buffer.concat(parts)
  for (const part of parts.slice(0, -1)) socket.write(part)
  return parts.at(-1) as Buffer
}

/** A command as it is sent: its buffers as they are, and what stands between them. */
function wireParts(args: readonly Argument[]): Buffer[] {
  const parts: Buffer[] = []
  let text = `*${args.length}\r\n`
  for (const arg of args) {
    if (typeof arg === 'string') {
      text += `$${Buffer.byteLength(arg)}\r\n${arg}\r\n`
    } else {
      parts.push(Buffer.from(`${text}$${arg.length}\r\n`), arg)
      text = '\r\n'
    }
  }
  parts.push(Buffer.from(text))
  return parts
}

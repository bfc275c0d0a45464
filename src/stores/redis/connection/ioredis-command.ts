import { type Head, wireOf, wireParts } from '../jobs/wire.ts'
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
  callBuffer(command: string, ...args: Argument[]): Promise<unknown>
}

/** What a client of ioredis has beside that, if its types do not tell. */
interface CommandSender {
  sendCommand?(command: IoRedisCommand): Promise<unknown>
}

type CommandClass = new (
  name: string,
  args: readonly Argument[],
  options: { readonly replyEncoding: null },
) => IoRedisCommand

type WrittenClass = new (head: Head, args: readonly Argument[]) => IoRedisCommand

/** From so many bytes on a command is sent in parts, so that there is no copy of it. */
const LARGE_BYTES = 262_144

/** By the method that all clients of one ioredis share. Null: they do not let themselves be told how to write a command. */
const writtenClasses = new WeakMap<object, WrittenClass | null>()

/**
 * Sends a command that is written here. ioredis writes every argument anew, which for a script and its keys takes longer than anything else
 * in a call, and leaves ten kilobytes to collect. Null: this client is not known to let itself be told how.
 */
export function sendWritten(client: Sender, head: Head, args: readonly Argument[]): Promise<unknown> | null {
  const sender = client as CommandSender
  // One that is wrapped sends what it is asked for, whoever asks.
  if (typeof sender.sendCommand !== 'function' || Object.hasOwn(client, 'callBuffer')) return null
  const Written = writtenClass(client)
  return Written && sender.sendCommand(new Written(head, args))
}

function writtenClass({ callBuffer }: Sender): WrittenClass | null {
  let made = writtenClasses.get(callBuffer)
  if (made === undefined) {
    const Command = commandClass(callBuffer)
    made = Command && extend(Command)
    writtenClasses.set(callBuffer, made)
  }
  return made
}

/** What this version of ioredis makes commands with. A client does not tell, so it makes one that is not sent. */
function commandClass(callBuffer: Sender['callBuffer']): CommandClass | null {
  try {
    const silent = { options: {}, sendCommand: (command: unknown) => command }
    const command = callBuffer.call(silent as unknown as Sender, 'PING') as unknown
    const isOne = typeof (command as Partial<IoRedisCommand> | undefined)?.toWritable === 'function'
    if (isOne) return (command as object).constructor as CommandClass
    // It was sent after all, to nobody's harm.
    Promise.resolve(command).catch(() => {})
    return null
  } catch {
    return null
  }
}

function extend(Command: CommandClass): WrittenClass {
  return class extends Command {
    readonly #head: Head
    readonly #args: readonly Argument[]

    constructor(head: Head, args: readonly Argument[]) {
      super(head.args[0] as string, [], { replyEncoding: null })
      this.#head = head
      this.#args = args
    }

    override toWritable(socket?: Socket): Buffer {
      const isLarge = typeof socket?.write === 'function' && bytesOf(this.#args) >= LARGE_BYTES
      return isLarge ? inParts(wireParts(this.#head, this.#args), socket) : wireOf(this.#head, this.#args)
    }
  }
}

function bytesOf(args: readonly Argument[]): number {
  return args.reduce((sum, arg) => sum + (typeof arg === 'string' ? 0 : arg.length), 0)
}

/** Writes all parts but the last, which is left to whoever asked. */
function inParts(parts: readonly Buffer[], socket: Socket): Buffer {
  for (const part of parts.slice(0, -1)) socket.write(part)
  return parts.at(-1) as Buffer
}

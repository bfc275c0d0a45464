import { Command, Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { sendWritten } from '../../src/stores/redis/connection/ioredis-command.ts'
import { Head } from '../../src/stores/redis/jobs/wire.ts'

type Writable = InstanceType<typeof Command>

/** A client that connects to nothing, and answers with all that it would have written. */
function client({ hasSocket }: { hasSocket: boolean }): { redis: Redis; parts: Buffer[] } {
  const parts: Buffer[] = []
  const redis = new Redis({ lazyConnect: true })
  redis.sendCommand = async (command: Writable) => {
    const socket = { write: (part: Buffer) => parts.push(part) }
    parts.push(Buffer.from(command.toWritable((hasSocket ? socket : undefined) as never)))
    return Buffer.concat(parts)
  }
  return { redis, parts }
}

const head = new Head(['EVALSHA', 'sha', '1', 'ключ'])
const small = ['', 'ü', Buffer.from('some'), 'two', 'texts', Buffer.alloc(0), 'last', '']
const large = ['', Buffer.alloc(300_000, 'x'), Buffer.alloc(0), 'last', Buffer.from('end')]

describe('a command that is written here', () => {
  it.each([
    ['without arguments', []],
    ['of texts alone', ['one', '', 'ü']],
    ['with bytes', small],
    ['that is large', large],
  ])('is what ioredis would have written, %s', async (_, args) => {
    for (const hasSocket of [true, false]) {
      const [name, ...first] = head.args
      const command = new Command(name as string, [...first, ...args], { replyEncoding: null })
      // As `callBuffer` does before it is written.
      ;(command as unknown as { bufferMode: boolean }).bufferMode = args.some((arg) => Buffer.isBuffer(arg))

      const written = await sendWritten(client({ hasSocket }).redis, head, args)

      expect(written).toEqual(Buffer.from(command.toWritable({} as never)))
    }
  })

  it('is sent in one piece, and in parts without a copy if it is large', async () => {
    const { redis, parts } = client({ hasSocket: true })

    await sendWritten(redis, head, small)
    expect(parts.splice(0)).toHaveLength(1)
    await sendWritten(redis, head, large)
    expect(parts.length).toBeGreaterThan(1)
  })

  it('is left to a client that is not known to let itself be told how', async () => {
    class Stranger {
      async callBuffer(): Promise<never> {
        asked++
        throw new Error('No.')
      }
      sendCommand(): never {
        throw new Error('It must not be sent.')
      }
    }
    let asked = 0

    expect(sendWritten(new Stranger(), head, small)).toBeNull()
    expect(sendWritten(new Stranger(), head, small)).toBeNull()

    // Asked once, and what it said was heard: a rejection that nobody handles ends a process.
    expect(asked).toBe(1)
    await new Promise((resolve) => setImmediate(resolve))
  })

  it('is left to one that is wrapped, which is not even asked', () => {
    const redis = new Redis({ lazyConnect: true })
    let asked = 0
    const callBuffer = async (): Promise<number> => ++asked
    const wrapped = Object.assign(Object.create(redis) as object, { callBuffer })

    expect(sendWritten(wrapped, head, small)).toBeNull()
    expect(sendWritten({ callBuffer }, head, small)).toBeNull()
    expect(asked).toBe(0)
  })
})

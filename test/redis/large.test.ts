import { Command } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { sendLarge } from '../../src/stores/redis/ioredis-large.ts'

type Writable = InstanceType<typeof Command>

/** Writes as ioredis does, and answers with all that was written. */
class Client {
  static readonly Command = Command
  readonly hasSocket: boolean

  constructor(hasSocket: boolean) {
    this.hasSocket = hasSocket
  }

  async sendCommand(command: Writable): Promise<Buffer> {
    const parts: Buffer[] = []
    const socket = { write: (part: Buffer) => parts.push(part) }
    parts.push(Buffer.from(command.toWritable((this.hasSocket ? socket : undefined) as never)))
    return Buffer.concat(parts)
  }
}

const args = ['sha', '', 'ü', Buffer.alloc(300_000, 'x'), Buffer.alloc(0), 'last', Buffer.from('end')]

describe('a large command', () => {
  it.each([true, false])('is what ioredis would have written, with the socket: %s', async (hasSocket) => {
    const expected = new Command('EVALSHA', [...args], { replyEncoding: null }).toWritable({} as never)
    expect(await sendLarge(new Client(hasSocket), 'EVALSHA', args)).toEqual(Buffer.from(expected))
  })

  it('is left to others if it is not large, or if the client is not known', () => {
    expect(sendLarge(new Client(true), 'EVALSHA', ['sha', Buffer.alloc(1_000)])).toBeNull()
    expect(sendLarge({ sendCommand: async () => null }, 'EVALSHA', args)).toBeNull()
  })
})

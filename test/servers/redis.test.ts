import { once } from 'node:events'
import { createConnection } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { reasonToSkip, startRedis } from './index.ts'

it('starts a Redis that keeps what it was told, as often as it was asked to', async (t) => {
  const { redis, reason } = await startRedis({ appendfsync: 'always' })
  if (!redis) return t.skip(reasonToSkip(reason))

  try {
    const settings = await ask(redis.url, ['appendonly', 'appendfsync', 'maxmemory-policy', 'save'])

    expect(settings).toEqual({
      appendonly: 'yes',
      appendfsync: 'always',
      'maxmemory-policy': 'noeviction',
      save: '',
    })
  } finally {
    await redis.stop()
  }
  await expect(ask(redis.url, ['appendonly'])).rejects.toThrow('ECONNREFUSED')
}, 300_000)

/** The server's settings of these names, asked for in Redis' own words. */
async function ask(url: string, names: readonly string[]): Promise<Record<string, string>> {
  const { hostname, port } = new URL(url)
  const socket = createConnection({ host: hostname, port: Number(port) })
  await once(socket, 'connect')
  for (const name of names) socket.write(`CONFIG GET ${name}\r\n`)
  socket.write('QUIT\r\n')
  const lines = (await text(socket)).split('\r\n')
  // Each answer: *2, the length and the name, the length and the value.
  return Object.fromEntries(names.map((_, i) => [lines[i * 5 + 2] ?? '', lines[i * 5 + 4] ?? '']))
}

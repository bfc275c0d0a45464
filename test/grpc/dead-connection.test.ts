// A client whose cable was cut says nothing any more, and nobody tells. It is asked, and what it held is free.
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, it, vi } from 'vitest'
import { hurried } from '../support/hurried.ts'
import { grpcClient, stage } from './stage.ts'

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
const SETTINGS = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])

it('a connection that answers no pings is ended, and one that does stays', async () => {
  const { address, server } = await stage({ runtime: hurried(100) })
  const [host, port] = address.split(':') as [string, string]
  const { skep: client } = grpcClient(address)
  const stream = client['Receive']()
  const errors: unknown[] = []
  stream.on('error', (error: unknown) => errors.push(error))
  stream.on('data', () => {})
  stream.write({ open: { queues: ['mail'], credits: 1 } })
  await vi.waitFor(async () => expect(await server.core.hub.list('default')).toHaveLength(1), {
    timeout: 20_000,
  })

  const dead = connect(Number(port), host)
  dead.write(Buffer.concat([PREFACE, SETTINGS]))
  let pings = 0
  dead.on('data', (bytes: Buffer) => {
    // A frame of type 6 with eight bytes.
    for (let at = 0; at + 9 <= bytes.length; at++) {
      if (bytes.readUIntBE(at, 3) === 8 && bytes[at + 3] === 6) pings += 1
    }
  })
  dead.on('error', () => {})
  await once(dead, 'close')

  expect(pings).toBeGreaterThanOrEqual(2)
  expect(errors).toEqual([])
  expect(await server.core.hub.list('default')).toHaveLength(1)
  stream.end()
})

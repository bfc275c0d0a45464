/**
 * A thousand receivers that take jobs and read nothing, over real connections: half of them over HTTP/1.1, half over gRPC. The server
 * holds what docs/receivers.md says, and no more.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { create, toBinary } from '@bufbuild/protobuf'
import { expect, it, onTestFinished, vi } from 'vitest'
import { OpenSchema } from '../../src/server/grpc/gen/skep/v1/skep_pb.ts'

const RECEIVERS = 1_000
const STREAMS_PER_CONNECTION = 100
const MIB = 1_048_576
const JOB_BYTES = 20_000
const TOTAL_BYTES = 24 * MIB
const JOBS = 2_500

interface Told {
  readonly memory: number
  readonly receivers: number
  readonly held: number
}

it('a thousand receivers that read nothing take no more memory than is stated', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'skep-slow-'))
  const program = fileURLToPath(new URL('./support/slow-program.ts', import.meta.url))
  const given = {
    file: join(folder, 'jobs.db'),
    jobs: JOBS,
    jobBytes: JOB_BYTES,
    totalBytes: TOTAL_BYTES,
  }
  const child = fork(program, [JSON.stringify(given)], {
    execArgv: ['--expose-gc', '--import', 'jiti/register'],
  })
  onTestFinished(() => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })
  const [{ url }] = (await once(child, 'message')) as [{ url: string }]
  const look = async (): Promise<Told> => {
    child.send('look')
    return ((await once(child, 'message')) as [Told])[0]
  }
  const { port } = new URL(url)
  // So that what is loaded only once is there before anything is measured.
  const warm = openHttp(Number(port))
  await vi.waitFor(async () => expect((await look()).receivers).toBe(1), { timeout: 20_000 })
  warm.destroy()
  await vi.waitFor(async () => expect((await look()).held).toBe(0), { timeout: 20_000 })
  const before = await look()

  for (let n = 0; n < RECEIVERS / 2; n++) openHttp(Number(port))
  for (let n = 0; n < RECEIVERS / 2; n += STREAMS_PER_CONNECTION) openGrpc(url, STREAMS_PER_CONNECTION)
  await vi.waitFor(
    async () => {
      const { receivers, held } = await look()
      expect([receivers, held >= TOTAL_BYTES]).toEqual([RECEIVERS, true])
    },
    { timeout: 60_000, interval: 500 },
  )
  const after = await look()

  // One batch more than the limit may have been given out.
  expect(after.held).toBeLessThan(TOTAL_BYTES + 2 * MIB)
  // What is held, the same on its way, and so much for each of them.
  const forEach = (after.memory - before.memory - 2 * TOTAL_BYTES) / RECEIVERS
  expect(forEach).toBeLessThan(64 * 1_024)
}, 150_000)

function openHttp(port: number): ReturnType<typeof connect> {
  const body = JSON.stringify({ queues: ['mail'], credits: 1_000 })
  const socket = connect(port, '127.0.0.1')
  socket.write(
    `POST /api/v1/receive HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  )
  socket.pause()
  socket.on('error', () => {})
  onTestFinished(() => {
    socket.destroy()
  })
  return socket
}

function openGrpc(url: string, streams: number): void {
  const session = connectHttp2(url)
  session.on('error', () => {})
  onTestFinished(() => session.destroy())
  const message = toBinary(OpenSchema, create(OpenSchema, { queues: ['mail'], credits: 1_000 }))
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  for (let n = 0; n < streams; n++) {
    const stream = session.request({
      ':method': 'POST',
      ':path': '/skep.v1.Skep/Subscribe',
      'content-type': 'application/grpc',
      te: 'trailers',
    })
    stream.on('error', () => {})
    stream.end(Buffer.concat([head, message]))
  }
}

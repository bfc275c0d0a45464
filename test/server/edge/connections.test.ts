import { connect } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { createSkep, type Logger, silentLogger } from '../../../src/index.ts'
import { memoryStore } from '../../../src/memory.ts'
import { createServer } from '../../../src/server.ts'
import { startServer } from '../support.ts'

it.each([
  ['requestTimeout', '8s'],
  ['requestTimeout', 500],
  ['headersTimeout', '2s'],
  ['idleTimeout', '5s'],
] as const)('%s may be %s', async (name, value) => {
  const { get } = await startServer({ [name]: value })

  expect((await get('/healthz')).status).toBe(200)
})

it.each([
  [{ requestTimeout: '8 seconds' }, 'DURATION_INVALID'],
  [{ requestTimeout: -1 }, 'DURATION_INVALID'],
  [{ requestTimeout: 0 }, 'OPTION_INVALID'],
  [{ headersTimeout: '2d' }, 'OPTION_INVALID'],
  [{ requestTimeout: '8s', headersTimeout: '9s' }, 'OPTION_INVALID'],
])('%o is refused with a code', async (options, code) => {
  const skep = createSkep({ store: memoryStore(), logger: silentLogger })
  onTestFinished(() => skep.close())

  expect(() => createServer(skep, options as object)).toThrow(expect.objectContaining({ code }))
})

it('a client that hangs up in the middle of its body is no error', async () => {
  const said: string[] = []
  const logger: Logger = {
    ...silentLogger,
    warn: (message) => said.push(message),
    error: (message) => said.push(message),
  }
  const { url, get } = await startServer({ logger })
  const { port } = new URL(url)
  for (let n = 0; n < 5; n++) {
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('error', () => {})
    await new Promise<void>((resolve) =>
      socket.write(
        'POST /api/v1/jobs HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{',
        () => resolve(),
      ),
    )
    // The server has begun to read it when it answers another one.
    await get('/healthz')
    socket.destroy()
  }

  // It has seen them go when it has answered some more.
  for (let n = 0; n < 5; n++) await get('/healthz')

  expect(said).toEqual([])
})

it('many streams of events are no leak', async () => {
  const warnings: string[] = []
  const hear = (warning: Error): void => void warnings.push(warning.name)
  process.on('warning', hear)
  onTestFinished(() => void process.off('warning', hear))
  const { url } = await startServer()

  const leaving = new AbortController()
  const streams = Array.from({ length: 30 }, () => fetch(`${url}/api/v1/events`, { signal: leaving.signal }))
  for (const { status } of await Promise.all(streams)) expect(status).toBe(200)
  leaving.abort()
  await new Promise((resolve) => setImmediate(resolve))

  expect(warnings.filter((name) => name === 'MaxListenersExceededWarning')).toEqual([])
})

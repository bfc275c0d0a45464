import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { afterEach, describe, expect, it } from 'vitest'
import { freshDatabase } from '../servers/index.ts'
import { FaultProxy, postgresReply } from './fault-proxy.ts'

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

describe('The fault proxy before an echo server', () => {
  it('hands on every byte, in order, both ways, and the end', async () => {
    const { client } = await echoThroughProxy()
    const sent = Buffer.alloc(3_000_000, 'abc')

    const echoed = bytesOf(client)
    client.end(sent)

    expect((await echoed).equals(sent)).toBe(true)
  })

  it('delays without changing the order', async () => {
    const { client, proxy } = await echoThroughProxy()
    proxy.set({ latencyMs: 40, jitterMs: 40 })
    const startedAt = performance.now()

    const echoed = bytesOf(client)
    for (let n = 0; n < 50; n++) client.write(`${n},`)
    client.end()

    expect((await echoed).toString()).toBe(Array.from({ length: 50 }, (_, n) => `${n},`).join(''))
    expect(performance.now() - startedAt).toBeGreaterThan(75)
  })

  it('lets through no more bytes than the bandwidth', async () => {
    const { client, proxy } = await echoThroughProxy()
    proxy.set({ bytesPerSecond: 100_000 })
    const startedAt = performance.now()

    const echoed = bytesOf(client)
    for (let n = 0; n < 10; n++) client.write(Buffer.alloc(3_000))
    client.end()

    expect((await echoed).length).toBe(30_000)
    expect(performance.now() - startedAt).toBeGreaterThan(250)
  })

  it('holds everything back while it stalls, and loses nothing', async () => {
    const { client, proxy, received } = await echoThroughProxy()
    proxy.set({ stall: 'both' })

    client.write('held')
    await sleep(50)
    expect(received()).toBe('')
    proxy.heal()

    expect((await once(client, 'data')).toString()).toBe('held')
  })

  it('swallows bytes in a black hole: the connection looks open, and is reset when it is used after the heal', async () => {
    const { client, proxy, received } = await echoThroughProxy()
    proxy.set({ blackHole: 'both' })

    client.write('lost')
    await sleep(50)
    expect(received()).toBe('')
    expect(client.destroyed).toBe(false)
    proxy.heal()
    client.write('more')

    expect(await errorOf(client)).toBe('ECONNRESET')
    expect(received()).toBe('')
  })

  it('leaves a half-open connection behind: the server does not hear that the client is gone', async () => {
    const { client, proxy, open } = await echoThroughProxy()
    proxy.set({ blackHole: 'both' })

    client.destroy()
    await sleep(50)
    expect(open()).toBe(1)
    proxy.heal()

    await until(() => open() === 0)
  })

  it('swallows answers alone: the request arrives', async () => {
    const { client, proxy, received } = await echoThroughProxy()
    proxy.set({ blackHole: 'down' })
    let answered = ''
    client.on('data', (bytes) => (answered += bytes.toString()))

    client.write('heard')

    await until(() => received() === 'heard')
    expect(answered).toBe('')
  })

  it('resets connections, refuses new ones, and cuts in the middle of an answer', async () => {
    const { client, proxy } = await echoThroughProxy()
    proxy.reset()
    expect(await errorOf(client)).toBe('ECONNRESET')

    proxy.set({ refuse: true })
    expect(await errorOf(connectTo(proxy.port))).toBe('ECONNRESET')

    proxy.set({ cutAfterBytes: 5 })
    const cut = connectTo(proxy.port)
    let answered = ''
    cut.on('data', (bytes) => (answered += bytes.toString()))
    cut.write('123456789')
    await once(cut, 'close')
    expect('12345'.startsWith(answered)).toBe(true)
  })

  it('swallows the answer to one request and no other', async () => {
    const { client, proxy, received } = await echoThroughProxy()
    const lost = proxy.loseReply({ request: (bytes) => bytes.includes('second') })

    client.write('first')
    expect((await once(client, 'data')).toString()).toBe('first')
    client.write('second')

    expect(await errorOf(client)).toBe('ECONNRESET')
    await lost
    expect(received()).toBe('firstsecond')
    expect(proxy.connections).toBe(0)
  })
})

describe('The fault proxy before PostgreSQL', () => {
  it('loses the answer of an insert after its commit, and of no other statement', async () => {
    const database = await freshDatabase()
    closers.push(() => database.drop())
    const proxy = await startProxy(Number(new URL(database.url).port))
    const url = new URL(database.url)
    url.port = String(proxy.port)
    const direct = await openClient(database.url)
    const through = await openClient(url.href)
    await through.query('create table t (n integer)')
    const lost = proxy.loseReply(postgresReply('insert into t'))

    expect((await through.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    await expect(through.query('insert into t values ($1)', [7])).rejects.toThrow()
    await lost

    expect((await direct.query('select n from t')).rows).toEqual([{ n: 7 }])
  })
})

async function echoThroughProxy(): Promise<{
  client: Socket
  proxy: FaultProxy
  received: () => string
  open: () => number
}> {
  let received = ''
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.on('data', (bytes) => {
      if (received.length < 1_000) received += bytes.toString()
    })
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    socket.pipe(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const proxy = await startProxy((server.address() as AddressInfo).port)
  const client = connectTo(proxy.port)
  await once(client, 'connect')
  await until(() => sockets.size === 1)
  return { client, proxy, received: () => received, open: () => sockets.size }
}

async function startProxy(port: number): Promise<FaultProxy> {
  const proxy = await FaultProxy.start({ host: '127.0.0.1', port })
  closers.push(() => proxy.close())
  return proxy
}

function connectTo(port: number): Socket {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  socket.on('error', () => {})
  closers.push(() => socket.destroy())
  return socket
}

async function openClient(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  closers.push(() => client.end())
  return client
}

async function bytesOf(socket: Socket): Promise<Buffer> {
  const pieces: Buffer[] = []
  socket.on('data', (bytes) => pieces.push(bytes))
  await once(socket, 'end')
  return Buffer.concat(pieces)
}

async function errorOf(socket: Socket): Promise<string> {
  const [error] = (await once(socket, 'error').catch((error: unknown) => [error])) as [NodeJS.ErrnoException]
  return error.code ?? ''
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(5)
}

/** Messages to addresses that somebody wrote into options, against real servers: they reach those, and nothing else. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Address, type Post, post } from '../../../src/server/alerts/post.ts'
import { Allowed } from '../../../src/server/alerts/reach.ts'
import { missingProgram } from '../../servers/missing.ts'

const hasOpenssl = missingProgram('openssl', ['version']) === undefined

type Answer = (request: IncomingMessage, response: ServerResponse) => void

const ok: Answer = (_request, response) => void response.end('thanks')

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

async function serve(answer: Answer = ok): Promise<{ readonly port: number; readonly asked: string[] }> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.host}`)
    answer(request, response)
  })
  return { port: await listen(server), asked }
}

function resolver(...answers: readonly (readonly string[])[]): (host: string) => Promise<readonly Address[]> {
  let turn = 0
  return async () => {
    const addresses = answers[Math.min(turn++, answers.length - 1)] as readonly string[]
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  }
}

function send(
  url: string,
  options: Partial<Post> & { readonly allow?: readonly string[] } = {},
): Promise<number> {
  const { allow = [], ...rest } = options
  const signal = AbortSignal.timeout(5_000)
  return post({ url: new URL(url), headers: {}, body: '{}', allowed: new Allowed(allow), signal, ...rest })
}

const refused = expect.objectContaining({ code: 'OPTION_INVALID' })

describe('a message', () => {
  it('reaches a host by name, which keeps its name, at the address that was checked', async () => {
    const { port, asked } = await serve()
    const lookup = resolver(['127.0.0.1'])

    expect(await send(`http://hooks.test:${port}/in?a=1`, { allow: ['hooks.test'], lookup })).toBe(200)
    expect(asked).toEqual([`POST /in?a=1 hooks.test:${port}`])
  })

  it.each([
    ['http://127.0.0.1', 'http to this machine'],
    ['https://127.0.0.1', 'this machine'],
    ['https://2130706433', 'this machine as a number'],
    ['https://0x7f.1', 'this machine in hex'],
    ['https://[::1]', 'this machine in IPv6'],
    ['https://[::ffff:127.0.0.1]', 'this machine in IPv6'],
    ['https://169.254.169.254/latest/meta-data', 'metadata'],
    ['https://10.0.0.1', 'a private address'],
    ['http://example.com', 'http'],
    ['ftp://example.com', 'another protocol'],
    ['file:///etc/passwd', 'a file'],
    ['https://user:word@example.com', 'a password'],
  ])('never goes to %s: %s', async (url) => {
    await expect(send(url)).rejects.toEqual(refused)
  })

  it.each([
    ['private', ['10.1.2.3']],
    ['one private among public ones', ['93.184.215.14', '127.0.0.1']],
    ['IPv4 in the clothes of IPv6', ['::ffff:127.0.0.1']],
    ['metadata', ['169.254.169.254']],
  ])('never goes to a name that is %s', async (_what, addresses) => {
    await expect(send('https://hooks.test/', { lookup: resolver(addresses) })).rejects.toEqual(refused)
  })

  it('goes to what was checked, though the name says something else a moment later', async () => {
    const { port, asked } = await serve()
    let lookups = 0
    // First an address that nobody answers at, then this machine: as a page does that rebinds its name.
    const answers = resolver(['203.0.113.1'], ['127.0.0.1'])
    const lookup = (host: string): Promise<readonly Address[]> => {
      lookups += 1
      return answers(host)
    }
    const sent = send(`http://hooks.test:${port}/`, {
      allow: ['hooks.test'],
      lookup,
      signal: AbortSignal.timeout(500),
    })

    await expect(sent).rejects.toThrow()
    expect([lookups, asked]).toEqual([1, []])
  })

  it('follows no redirect', async () => {
    const inner = await serve()
    const outer = await serve((_request, response) => {
      response.writeHead(307, { location: `http://127.0.0.1:${inner.port}/secret` }).end()
    })

    expect(await send(`http://127.0.0.1:${outer.port}/`, { allow: ['127.0.0.1'] })).toBe(307)
    expect(inner.asked).toEqual([])
  })

  it('asks no proxy of the environment', async () => {
    const proxy = await serve()
    const { port } = await serve()
    const before = { ...process.env }
    onTestFinished(() => void Object.assign(process.env, { HTTP_PROXY: '', NODE_USE_ENV_PROXY: '' }, before))
    process.env['HTTP_PROXY'] = `http://127.0.0.1:${proxy.port}`
    process.env['NODE_USE_ENV_PROXY'] = '1'

    expect(await send(`http://127.0.0.1:${port}/`, { allow: ['127.0.0.1'] })).toBe(200)
    expect(proxy.asked).toEqual([])
  })

  it('reads no more of an answer than it must', async () => {
    let isCut = false
    let written = 0
    const { port } = await serve((_request, response) => {
      response.on('close', () => {
        isCut = !response.writableFinished
      })
      const more = (): void => {
        while (written < 100_000_000 && response.write('x'.repeat(65_536))) written += 65_536
      }
      response.on('drain', more)
      more()
    })

    expect(await send(`http://127.0.0.1:${port}/`, { allow: ['127.0.0.1'] })).toBe(200)
    await expect.poll(() => isCut).toBe(true)
    expect(written).toBeLessThan(50_000_000)
  })

  it('gives up when it is told to, also while nobody answers', async () => {
    const { port } = await serve(() => {})
    const signal = AbortSignal.timeout(100)

    await expect(send(`http://127.0.0.1:${port}/`, { allow: ['127.0.0.1'], signal })).rejects.toThrow()
  })

  it.runIf(hasOpenssl)(
    'goes by https to who has the certificate of the name, and to nobody else',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'skep-alerts-'))
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
      const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
      const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=hooks.test']
      const names = ['-addext', 'subjectAltName=DNS:hooks.test']
      execFileSync('openssl', [...made, ...names, '-keyout', key, '-out', cert], { stdio: 'ignore' })
      const ca = readFileSync(cert, 'utf8')
      const port = await listen(createTlsServer({ key: readFileSync(key), cert: ca }, ok))
      const lookup = resolver(['127.0.0.1'])
      const allow = ['127.0.0.0/8']

      expect(await send(`https://hooks.test:${port}/`, { allow, lookup, ca })).toBe(200)
      await expect(send(`https://hooks.test:${port}/`, { allow, lookup })).rejects.toThrow(/self-signed/)
      await expect(send(`https://other.test:${port}/`, { allow, lookup, ca })).rejects.toThrow(/altnames/)
    },
  )
})

describe('what never comes to an end', () => {
  it('is given up: a name that nobody looks up in time', async () => {
    const late = new AbortController()
    const lookup = (): Promise<never> => new Promise(() => {})
    const sending = send('https://hooks.example/', { lookup, signal: late.signal })

    late.abort(new Error('no answer within 10 s'))

    await expect(sending).rejects.toThrow('no answer within 10 s')
  })

  it('is given up: an answer that is none, but another protocol', async () => {
    const server = createServer()
    server.on('connection', (socket) =>
      socket.once('data', () =>
        socket.end('HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
      ),
    )
    const port = await listen(server)

    await expect(send(`http://127.0.0.1:${port}/`, { allow: ['127.0.0.1'] })).rejects.toThrow()
  })
})

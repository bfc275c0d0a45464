import { createServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { asInstalled, CONFIG, project, skep, start } from './cli.ts'

asInstalled()

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const ADDRESS = /http:\/\/127\.0\.0\.1:\d+/

describe('skep server', () => {
  it('answers for its database, refuses changes where it is told so, and drains at SIGTERM', async () => {
    const cwd = project()
    await skep(['enqueue', 'mail.send', '-d', '1', '--db', 'jobs.db'], { cwd })
    const args = ['server', '--db', 'jobs.db', '--port', '0', '--read-only', '--environment', 'test']
    const server = start(args, { cwd })
    const url = await server.until(ADDRESS)

    const ready = await fetch(`${url}/readyz`)
    const queues = (await (await fetch(`${url}/api/v1/queues`)).json()) as { queues: object[] }
    const me = await (await fetch(`${url}/api/v1/me`)).json()
    const pause = await fetch(`${url}/api/v1/call/holds.pause`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"queue":"mail.send"}',
    })
    server.child.kill('SIGTERM')
    const { code, stdout } = await server.ended

    expect(ready.status).toBe(200)
    expect(queues.queues).toMatchObject([{ queue: 'mail.send', counts: { ready: 1 } }])
    expect(me).toMatchObject({ environment: 'test' })
    expect(pause.status).toBe(403)
    expect(stdout).toMatch(/serving jobs\.db on .*\n.*stopped after/)
    expect(code).toBe(0)
  })

  it('opens its port while the database is away, says what it dialled, and hides the password', async () => {
    const cwd = project()
    const server = start(['server', '--db', 'postgres://ada:secret@127.0.0.1:1/shop', '--port', '0'], { cwd })
    const url = await server.until(ADDRESS)
    await server.until(/Retrying until it is available/)

    const [ready, alive] = await Promise.all([fetch(`${url}/readyz`), fetch(`${url}/healthz`)])
    server.child.kill('SIGTERM')
    const { code, stderr, stdout } = await server.ended

    expect([ready.status, alive.status]).toEqual([503, 200])
    expect(stderr).toContain('postgres://ada:***@127.0.0.1:1/shop')
    expect(stderr + stdout).not.toContain('secret')
    expect(code).toBe(0)
  })

  it('is closed to other machines unless somebody says who may use it', async () => {
    const { code, stderr } = await skep(['server', '--host', '0.0.0.0', '--port', '0'], { cwd: project() })

    expect(stderr).toContain('SERVER_UNPROTECTED')
    expect(code).toBe(2)
  })

  it('does not take tokens of other machines over plain http unless somebody says so', async () => {
    const args = [
      'server',
      '--host',
      '0.0.0.0',
      '--port',
      '0',
      '--token',
      'a-token-that-nobody-can-guess-at-all',
    ]
    const { code, stderr } = await skep(args, { cwd: project() })

    expect(stderr).toMatch(/SERVER_UNPROTECTED.*everybody on the way[\s\S]*--plain-http/)
    expect(code).toBe(2)

    const server = start([...args, '--plain-http'], { cwd: project() })
    await server.until(/serving/)
    server.child.kill('SIGTERM')
    const ended = await server.ended

    expect(ended.stderr).toMatch(/warning .*plain http/)
    expect(ended.code).toBe(0)
  })

  it.each([
    ['without a secret', [], /--alert-secret-file/],
    ['with a weak one', ['--alert-secret', 'whsec_abc', '--alert-allow', '127.0.0.1'], /openssl rand/],
    ['with a file that is not there', ['--alert-secret-file', 'none'], /cannot be read from "none"/],
    ['to this machine', ['--alert-secret', SECRET], /it is not a public address/],
  ])('sends no alerts %s', async (_what, flags, said) => {
    const args = ['server', '--port', '0', '--alert-url', 'https://127.0.0.1/', ...flags]
    const { code, stderr } = await skep(args, { cwd: project() })

    expect(stderr).toMatch(said)
    expect(code).toBe(2)
  })

  it.each([
    ['without its key', ['--tls-cert', 'cert.pem'], /--tls-cert and --tls-key go together/],
    [
      'that is not there',
      ['--tls-cert', 'none', '--tls-key', 'none'],
      /certificate cannot be read from "none"/,
    ],
    [
      'that is none',
      ['--tls-cert', 'skep.config.mjs', '--tls-key', 'skep.config.mjs'],
      /are no certificate and its key/,
    ],
  ])('does not begin to speak https with a certificate %s', async (_what, flags, said) => {
    const cwd = project({ 'skep.config.mjs': CONFIG })
    const { code, stderr } = await skep(['server', '--port', '0', ...flags], { cwd })

    expect(stderr).toMatch(said)
    expect(code).toBe(2)
  })

  it('says so when the port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void other.close())
    await new Promise((resolve) => other.once('listening', resolve))
    const { port } = other.address() as { port: number }

    const { code, stderr } = await skep(['server', '--port', String(port)], { cwd: project() })

    expect(stderr).toContain(`Port ${port} of 127.0.0.1 is taken`)
    expect(stderr).toContain('--port 0')
    expect(code).toBe(2)
  })
})

describe('what describes the API', () => {
  it('is printed and written', async () => {
    const cwd = project()

    const openapi = await skep(['openapi'], { cwd })
    const proto = await skep(['proto'], { cwd })
    const written = await skep(['proto', '--out', 'api', '--json'], { cwd })

    const document = JSON.parse(openapi.stdout)
    expect(document.openapi).toBe('3.1.0')
    expect(Object.keys(document.paths)).toEqual(expect.arrayContaining(['/queues', '/receive']))
    expect(proto.stdout).toContain('package skep.v1;')
    expect(JSON.parse(written.stdout).files).toContain('api/skep/v1/skep.proto')
  })
})

describe('skep dev', () => {
  it('serves the API of what it runs, on the next free port', async () => {
    const cwd = project({ 'skep.config.ts': CONFIG })
    const [first, second] = [start(['dev', '--plain'], { cwd }), start(['dev', '--plain'], { cwd })]
    const urls = [await first.until(ADDRESS), await second.until(ADDRESS)]
    await first.until(/Handlers +hello, bad, slow/)

    const answers = await Promise.all(urls.map((url) => fetch(`${url}/api/v1/me`)))
    for (const dev of [first, second]) dev.child.kill('SIGINT')
    const ended = await Promise.all([first.ended, second.ended])

    expect(new Set(urls).size).toBe(2)
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(ended.map(({ code }) => code)).toEqual([0, 0])
  })
})

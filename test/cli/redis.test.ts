import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RedisServer, redisUrlVariable, startRedis } from '../servers/index.ts'
import { CONFIG, project, skep, start } from './cli.ts'

let server: RedisServer
/** With a password that must not be seen. */
let url: string

beforeAll(async () => {
  const { redis, reason } = await startRedis({ appendfsync: 'always' })
  if (!redis) throw new Error(reason)
  server = redis
  const client = new Redis(server.url)
  await client.call('ACL', 'SETUSER', 'ada', 'on', '>s3cret-w0rd', '~*', '&*', '+@all')
  client.disconnect()
  const address = new URL(server.url)
  address.username = 'ada'
  address.password = 's3cret-w0rd'
  url = address.href
}, 300_000)

afterAll(() => server?.stop())

describe('on Redis, the command line', () => {
  it('enqueues, runs and shows jobs', async () => {
    const cwd = project({ 'skep.config.ts': CONFIG })
    const env = { SKEP_DB: url, SKEP_PREFIX: 'shop' }
    const worker = start(['worker'], { cwd, env })
    await worker.until(/started/)

    const [waited, failed, doctor] = await Promise.all([
      skep(['enqueue', 'hello', '-d', '{"name":"Ada"}', '--wait', '20s'], { cwd, env }),
      skep(['enqueue', 'bad', '--wait', '20s'], { cwd, env }),
      skep(['doctor', '--json'], { cwd, env }),
    ])
    worker.child.kill('SIGTERM')
    const [ended, bench, queues, elsewhere] = await Promise.all([
      worker.ended,
      skep(['bench', '--jobs', '20', '--json'], { cwd, env }),
      skep(['queues', '--json'], { cwd, env }),
      skep(['queues', '--json', '--prefix', 'other'], { cwd, env }),
    ])

    expect(JSON.parse(waited.stdout)).toEqual({ text: 'Hello, Ada!' })
    expect(failed.code).toBe(1)
    const { findings } = JSON.parse(doctor.stdout)
    expect(findings).toContainEqual(
      expect.objectContaining({ name: 'durability', status: 'ok', detail: expect.stringContaining('Redis') }),
    )
    expect(findings).toContainEqual(
      expect.objectContaining({ name: 'notifier', status: 'ok', detail: 'up: Listening.' }),
    )
    expect(findings).toContainEqual(
      expect.objectContaining({ name: 'workers', detail: expect.stringMatching(/^1, running/) }),
    )
    expect(ended.code).toBe(0)
    expect(JSON.parse(bench.stdout).measures).toHaveLength(4)
    const names = (stdout: string): string[] =>
      JSON.parse(stdout).queues.map((one: { queue: string }) => one.queue)
    expect(names(queues.stdout)).toEqual(['bad', 'hello'])
    expect(names(elsewhere.stdout)).toEqual([])
    for (const { stdout, stderr } of [waited, failed, doctor, ended, bench]) {
      expect(stdout + stderr).not.toContain('s3cret')
    }
  })

  it('has nothing to migrate, and says so', async () => {
    const cwd = project()

    const [up, status] = await Promise.all([
      skep(['migrate', '--db', url], { cwd }),
      skep(['migrate', 'status', '--db', url], { cwd }),
    ])

    expect(up).toMatchObject({ code: 0, stderr: expect.stringContaining('up to date') })
    expect(status).toMatchObject({ code: 0 })
  })

  it('runs a development session', async () => {
    const { code, stdout } = await skep(['dev', '--demo', '--for', '2s', '--db', url, '--prefix', 'demo'], {
      cwd: project(),
    })

    expect(stdout).toMatch(/mail\.send /)
    expect(stdout).not.toContain('s3cret')
    expect(code).toBe(0)
  })

  it('refuses a server that loses jobs, unless a config accepts it', async () => {
    const unsafe = process.env[redisUrlVariable] as string
    const cwd = project({
      'accepts.ts': `
        import { defineConfig } from 'skep'
        import { redisStore } from 'skep/redis'
        export default defineConfig({
          store: () => redisStore({ url: '${unsafe}', prefix: 'cli-${process.pid}', unsafe: { lateFsync: true } }),
        })`,
    })

    const [refused, doctor, accepted] = await Promise.all([
      skep(['queues', '--db', unsafe], { cwd }),
      skep(['doctor', '--db', unsafe], { cwd }),
      skep(['queues', '--config', 'accepts.ts', '--json'], { cwd }),
    ])

    expect(refused.stderr).toContain('STORE_UNSAFE')
    expect(refused.stderr).toContain('appendfsync always')
    expect(refused.stderr).toContain('skep.config.ts')
    expect(doctor.stdout).toMatch(/^fail {2}database .*appendfsync everysec/m)
    expect([refused.code, doctor.code, accepted.code]).toEqual([1, 1, 0])
  })

  it.each([
    {
      when: 'nobody listens',
      address: 'redis://ada:s3cret-w0rd@127.0.0.1:1',
      code: 'STORE_UNAVAILABLE',
      why: 'ECONNREFUSED',
      fix: 'Start the server',
    },
    {
      when: 'the password is wrong',
      address: 'redis://ada:wr0ng-w0rd@',
      code: 'STORE_REJECTED',
      why: 'WRONGPASS',
      fix: 'refuses this user and password',
    },
  ])('says what was dialled, why it failed and what to do when $when', async (said) => {
    const { address, code, why, fix } = said
    const cwd = project()
    const dialled = address.endsWith('@') ? address + new URL(server.url).host : address

    const [asText, doctor] = await Promise.all([
      skep(['queues', '--db', dialled], { cwd }),
      skep(['doctor', '--db', dialled], { cwd }),
    ])

    expect(asText.stderr).toContain(code)
    expect(asText.stderr).toMatch(/dialled +redis:\/\/ada:\*\*\*@/)
    expect(asText.stderr).toContain(why)
    expect(asText.stderr).toContain(fix)
    expect(doctor.stdout).toMatch(/^fail {2}database/m)
    expect([asText.code, doctor.code]).toEqual([1, 1])
    for (const { stdout, stderr } of [asText, doctor]) expect(stdout + stderr).not.toContain('w0rd')
  })
})

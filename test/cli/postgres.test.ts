import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import { freshDatabase } from '../servers/index.ts'
import { asInstalled, CONFIG, project, skep, start } from './cli.ts'

asInstalled()

async function database(): Promise<string> {
  const { url, drop } = await freshDatabase()
  onTestFinished(drop)
  return url
}

/** The same address with a password that must not be seen. */
function withPassword(url: string): string {
  const address = new URL(url)
  address.password = 's3cret-w0rd'
  return address.href
}

describe('on PostgreSQL, the command line', () => {
  it('migrates, and tells before and after', async () => {
    const [cwd, url] = [project(), await database()]
    const env = { SKEP_DB: url }

    const before = await skep(['migrate', 'status'], { cwd, env })
    const refused = await skep(['queues'], { cwd, env })
    const up = await skep(['migrate'], { cwd, env })
    const again = await skep(['migrate', 'up'], { cwd, env })
    const after = await skep(['migrate', 'status'], { cwd, env })

    expect([before.code, refused.code, up.code, again.code, after.code]).toEqual([1, 1, 0, 0, 0])
    expect(refused.stderr).toContain('SCHEMA_MISSING')
    expect(refused.stderr).toContain('skep migrate')
    expect(up.stdout).toMatch(/^applied /m)
    expect(again.stderr).toContain('up to date')
  })

  it('says at once that a worker finds no tables, and starts when they are there', async () => {
    const [cwd, url] = [project({ 'skep.config.ts': CONFIG }), await database()]
    const env = { SKEP_DB: url }
    const worker = start(['worker'], { cwd, env })

    await worker.until(/SCHEMA_MISSING[\s\S]*skep migrate[\s\S]*Retrying until the tables exist/)
    await skep(['migrate'], { cwd, env })
    await worker.until(/worker \S+ started/)

    worker.child.kill('SIGTERM')
    expect(await worker.ended).toMatchObject({ code: 0 })
  })

  it('ends a worker whose login is refused, and says why', async () => {
    const [cwd, url] = [project({ 'skep.config.ts': CONFIG }), await database()]
    const wrong = new URL(url)
    wrong.pathname = '/no_such_database'

    const { code, stderr } = await skep(['worker'], { cwd, env: { SKEP_DB: wrong.href } })

    expect(code).toBe(1)
    expect(stderr).toContain('STORE_REJECTED')
    expect(stderr).toContain('no_such_database')
  })

  it('prints SQL that others can run', async () => {
    const [cwd, url] = [project(), await database()]

    const { stdout } = await skep(['migrate', 'sql', '--schema', 'jobs'], { cwd })
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(stdout)
    await client.end()
    const status = await skep(['migrate', 'status', '--db', url, '--schema', 'jobs'], { cwd })

    expect(status).toMatchObject({ code: 0 })
  })

  it('prints with it what the other roles may do', async () => {
    const cwd = project()

    const plain = await skep(['migrate', 'sql'], { cwd })
    const roles = await skep(['migrate', 'sql', '--app', 'shop', '--reader', 'report'], { cwd })

    expect(plain.stdout).toContain('-- Run this as the role that owns the tables.')
    expect(roles.stdout).toContain(
      'grant select, insert, update, delete on all tables in schema skep to "shop";',
    )
    expect(roles.stdout).toContain('grant select on all tables in schema skep to "report";')
  })

  it('enqueues, runs and shows jobs', async () => {
    const cwd = project({ 'skep.config.ts': CONFIG })
    const url = withPassword(await database())
    const env = { SKEP_DB: url }
    await skep(['migrate'], { cwd, env })
    const worker = start(['worker'], { cwd, env })
    await worker.until(/started/)

    const waited = await skep(['enqueue', 'hello', '-d', '{"name":"Ada"}', '--wait', '20s'], { cwd, env })
    const failed = await skep(['enqueue', 'bad', '--wait', '20s'], { cwd, env })
    const doctor = await skep(['doctor', '--json'], { cwd, env })
    worker.child.kill('SIGTERM')
    const ended = await worker.ended
    const retried = await skep(['dead', 'retry', '--all', '--yes', '--json'], { cwd, env })
    const bench = await skep(['bench', '--jobs', '100', '--json'], { cwd, env })
    const queues = await skep(['queues', '--json'], { cwd, env })

    expect(JSON.parse(waited.stdout)).toEqual({ text: 'Hello, Ada!' })
    expect(failed.code).toBe(1)
    const { findings } = JSON.parse(doctor.stdout)
    expect(findings).toContainEqual(
      expect.objectContaining({ name: 'durability', detail: expect.stringContaining('PostgreSQL') }),
    )
    expect(findings).toContainEqual(expect.objectContaining({ name: 'notifier', status: 'ok' }))
    expect(findings).toContainEqual(
      expect.objectContaining({ name: 'workers', detail: '1, running 0 of 10' }),
    )
    expect(ended.code).toBe(0)
    expect(JSON.parse(retried.stdout)).toMatchObject({ changed: 1 })
    expect(JSON.parse(bench.stdout).measures).toHaveLength(4)
    expect(JSON.parse(queues.stdout).queues.map((one: { queue: string }) => one.queue)).toEqual([
      'bad',
      'hello',
    ])
    for (const { stdout, stderr } of [waited, failed, doctor, ended, bench]) {
      expect(stdout + stderr).not.toContain('s3cret')
    }
  })

  it.each([
    ['nobody listens', 'postgres://ada:s3cret-w0rd@127.0.0.1:1/shop', 'ECONNREFUSED', 'Start the server'],
    ['there is no such host', 'postgres://ada:s3cret-w0rd@nowhere.invalid/shop', 'nowhere.invalid', 'host'],
  ])('says what was dialled, why it failed and what to do when %s', async (_, url, why, fix) => {
    const cwd = project()

    // Each of them tries for seconds, and none changes anything.
    const [asText, asJson, doctor] = await Promise.all([
      skep(['queues', '--db', url], { cwd }),
      skep(['enqueue', 'a', '-d', '1', '--db', url, '--json'], { cwd }),
      skep(['doctor', '--db', url], { cwd }),
    ])

    expect(asText.stderr).toContain('STORE_UNAVAILABLE')
    expect(asText.stderr).toMatch(/dialled +postgres:\/\/ada:\*\*\*@/)
    expect(asText.stderr).toContain(why)
    expect(asText.stderr).toContain(fix)
    expect(JSON.parse(asJson.stderr).error).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      dialled: url.replace('s3cret-w0rd', '***'),
      exitCode: 1,
    })
    expect(doctor.stdout).toMatch(/^fail {2}database/m)
    expect([asText.code, asJson.code, doctor.code]).toEqual([1, 1, 1])
    for (const { stdout, stderr } of [asText, asJson, doctor]) expect(stdout + stderr).not.toContain('s3cret')
  })

  it('names a database that does not exist', async () => {
    const url = new URL(withPassword(await database()))
    url.pathname = '/not_there'

    const { code, stderr } = await skep(['queues', '--db', url.href], { cwd: project() })

    expect(stderr).toContain('not_there')
    expect(stderr).toContain('createdb')
    expect(stderr).not.toContain('s3cret')
    expect(code).toBe(1)
  })

  it('goes on trying in a development session, and says so', async () => {
    const dev = start(['dev', '--db', 'postgres://ada:s3cret-w0rd@127.0.0.1:1/shop'], { cwd: project() })
    await dev.until(/127\.0\.0\.1:1\/shop does not answer.*Trying again/)

    dev.child.kill('SIGINT')
    const { code, stdout, stderr } = await dev.ended

    expect(stderr).toContain('ECONNREFUSED')
    expect(stdout + stderr).not.toContain('s3cret')
    expect(code).toBe(0)
  })

  it('makes the tables for a development session', async () => {
    const [cwd, url] = [project(), await database()]

    const { code, stdout } = await skep(['dev', '--demo', '--for', '4s', '--db', url], { cwd })

    expect(stdout).toMatch(/mail\.send .*done/)
    expect(code).toBe(0)
  })
})

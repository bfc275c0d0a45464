import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { CONFIG, type Ended, project, type RunOptions, type Started, skep, start } from './cli.ts'

const ADDRESS = /http:\/\/127\.0\.0\.1:\d+/

/** A folder with a database and a server, and one without anything, from which the server is asked. */
async function place(
  options: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<{
  readonly cwd: string
  readonly url: string
  /** Runs a command against the server, from elsewhere. */
  far(args: readonly string[], options?: Partial<RunOptions>): Promise<Ended>
  worker(): Promise<Started>
}> {
  const cwd = project({ 'skep.config.ts': CONFIG })
  const elsewhere = project()
  const server = start(['server', '--port', '0', ...options], { cwd, env })
  const url = await server.until(ADDRESS)
  return {
    cwd,
    url,
    far: (args, more = {}) => skep(args, { cwd: elsewhere, ...more, env: { SKEP_URL: url, ...more.env } }),
    async worker() {
      const worker = start(['worker'], { cwd })
      await worker.until(/started/)
      return worker
    },
  }
}

const json = ({ stdout }: Ended): unknown => JSON.parse(stdout)

describe('skep --url', () => {
  it('enqueues, waits for results, follows logs and tells what became of jobs, without a database', async () => {
    const { far, worker } = await place()
    await worker()

    const good = await far(['enqueue', 'hello', '-d', '{"name":"Ada"}', '--wait', '60s'])
    const bad = await far(['enqueue', 'bad', '-d', '1', '--wait', '60s'])
    const slow = await far(['enqueue', 'slow', '-d', '1'])
    const late = await far(['enqueue', 'slow', '-d', '1', '--wait', '1s'])
    const followed = far(['jobs', 'logs', slow.stdout.trim(), '--follow'])
    const cancelled = await far(['jobs', 'cancel', slow.stdout.trim()])

    expect([good.code, json(good)]).toEqual([0, { text: 'Hello, Ada!' }])
    expect([bad.code, bad.stderr]).toEqual([1, expect.stringMatching(/JOB_FAILED.*it never works/)])
    expect([late.code, late.stderr]).toEqual([1, expect.stringContaining('RESULT_TIMEOUT')])
    expect([cancelled.code, cancelled.stdout]).toEqual([0, expect.stringContaining('1 running were asked')])
    expect((await followed).stderr).toMatch(/cancelled/)
  })

  it('warns that no live worker handles the queue of a job it waits for', async () => {
    const { far, worker } = await place()

    const alone = await far(['enqueue', 'hello', '-d', '{"name":"Ada"}', '--wait', '5s'])
    await worker()
    const served = await far(['enqueue', 'hello', '-d', '{"name":"Ada"}', '--wait', '60s'])

    expect(alone.stdout).toBe('')
    expect(alone.stderr).toMatch(
      /warning No live worker handles the queue "hello".*the database of the server/,
    )
    expect(alone.stderr).toContain('RESULT_TIMEOUT')
    expect([served.code, served.stderr]).toEqual([0, expect.not.stringContaining('warning')])
  })

  it('shows the same as a look into the database', async () => {
    const { cwd, far, worker } = await place()
    const running = await worker()
    await skep(['enqueue', 'bad', '-d', '1', '--wait'], { cwd })
    for (const args of [
      ['enqueue', 'hello', '-d', '{"name":"Ada"}', '--header', 'tenant=acme', '--wait'],
      ['enqueue', 'later', '-d', '1', '--delay', '1h', '--priority', '5'],
      ['queues', 'pause', 'later', '--reason', 'not now'],
      ['queues', 'limits', 'hello', '--concurrency', '7'],
      ['schedules', 'put', 'nightly', '--queue', 'later', '--cron', '0 3 * * *', '-d', '{"a":1}'],
    ]) {
      expect((await skep(args, { cwd })).code, args.join(' ')).toBe(0)
    }
    running.child.kill('SIGTERM')
    await running.ended
    const { jobs } = json(await skep(['jobs', '--json'], { cwd })) as { jobs: { id: string }[] }
    const ids = jobs.map(({ id }) => id)

    expect(ids).toHaveLength(3)
    for (const args of [
      ['jobs', '--state', 'dead,done'],
      ['jobs', '--queue', 'later', '--limit', '1'],
      ['jobs', '--where', 'header.tenant:acme'],
      ['jobs', 'get', ...ids],
      ['jobs', 'explain', ...ids],
      ['queues', 'limits'],
      ['schedules'],
      ['schedules', 'preview', 'nightly', '--count', '12'],
      ['flows'],
      ['jobs', 'retry', '--where', 'queue:bad', '--dry-run'],
      ['queues', 'purge', 'bad', '--dry-run'],
    ]) {
      const [near, remote] = await Promise.all([skep([...args, '--json'], { cwd }), far([...args, '--json'])])
      expect([remote.code, withoutMore(json(remote))], args.join(' ')).toEqual([
        near.code,
        withoutMore(json(near)),
      ])
    }
    for (const args of [['queues'], ['schedules', 'show', 'nightly']]) {
      const [near, remote] = await Promise.all([skep(args, { cwd }), far(args)])
      expect(withoutSpans(remote.stdout), args.join(' ')).toBe(withoutSpans(near.stdout))
    }
  })

  it('changes what it names, by ids, filters and queries', async () => {
    const { cwd, far } = await place()
    for (const n of [1, 2, 3, 4]) await skep(['enqueue', 'later', '-d', String(n), '--delay', '1h'], { cwd })
    const first = json(await far(['jobs', '--limit', '1', '--json'])) as { jobs: { id: string }[] }
    const id = first.jobs[0]?.id ?? ''

    const promoted = await far(['jobs', 'promote', id, '--json'])
    const again = await far(['jobs', 'promote', id, '--json'])
    const unknown = await far(['jobs', 'cancel', '01890a5d-ac96-774b-bcce-b302099a8057'])
    const prioritized = await far(['jobs', 'prioritize', '--queue', 'later', '--priority', '3', '--yes'])
    const buried = await far(['jobs', 'bury', '--where', 'queue:later state:delayed', '--yes', '--json'])
    const retried = await far(['dead', 'retry', '--queue', 'later', '--limit', '2', '--yes'])
    const paused = await far(['queues', 'pause', 'later', '--reason', 'x', '--for', '1h', '--json'])
    const resumed = await far(['queues', 'resume', 'later'])
    const drained = await far(['queues', 'drain', 'later', '--json'])
    const limited = await far(['queues', 'limits', 'later', '--rate', '5/1s', '--json'])
    const copied = await far(['jobs', 'copy', id, '-d', '{"b":2}'])
    const purged = await far(['queues', 'purge', 'later', '--state', 'dead', '--yes', '--json'])
    const byText = await far(['jobs', 'cancel', '--text', '{"b":2}', '--dry-run'])
    const everywhere = await far(['queues', 'pause', 'later', '--everywhere'])

    expect(json(promoted)).toMatchObject({ changed: 1, refused: [] })
    expect([again.code, json(again)]).toEqual([4, expect.objectContaining({ changed: 0 })])
    expect([unknown.code, unknown.stderr]).toEqual([3, expect.stringContaining('no such job')])
    expect(prioritized.stdout).toBe('Prioritized 4 jobs.\n')
    expect(json(buried)).toMatchObject({ changed: 3, status: 'done' })
    expect(retried.stdout).toBe('Retried 2 jobs.\n')
    expect(json(paused)).toMatchObject({
      targets: [{ target: 'later', holds: [{ reason: 'x', by: 'local' }] }],
    })
    expect(resumed.stdout).toBe('Resumed later.\n')
    expect(json(drained)).toMatchObject({ ended: 0, ready: 3, holds: [{ kind: 'pause' }] })
    expect(json(limited)).toMatchObject({ limit: { limits: { rate: { limit: 5, per: 1_000 } } } })
    expect(copied.stdout).toMatch(/^[0-9a-f-]{36}\n$/)
    expect(json(purged)).toMatchObject({ jobs: 1, states: { dead: 1 } })
    expect(byText.stdout).toBe('Would cancel 1 job.\n')
    expect(everywhere.stdout).toBe('Paused later in every space.\n')
    expect(json(await skep(['jobs', '--queue', 'later', '--json'], { cwd }))).toMatchObject({
      jobs: expect.arrayContaining([expect.objectContaining({ payload: { b: 2 }, state: 'ready' })]),
    })
  })

  it('lists who receives jobs, and ends a stream', async () => {
    const { url, far } = await place()
    const nobody = await far(['receivers'])
    const stream = await fetch(`${url}/api/v1/receive`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ queues: ['mail.*'], name: 'ada-1', credits: 7 }),
    })
    const reader = stream.body?.getReader()
    await reader?.read()

    const shown = await far(['receivers'])
    const listed = json(await far(['receivers', '--json'])) as { receivers: { id: string }[] }
    const id = listed.receivers[0]?.id ?? ''
    const tried = await far(['receivers', 'close', id, '--dry-run'])
    const closed = await far(['receivers', 'close', id.slice(0, 30), '--yes'])
    const gone = await far(['receivers', 'close', id, '--yes'])
    for (let part = await reader?.read(); part !== undefined && !part.done; ) part = await reader?.read()

    expect(nobody.stderr).toContain('No receivers are connected')
    expect(shown.stdout).toMatch(/^ID +NAME +FROM +BY +HOLDS.*\n.*ada-1 +127\.0\.0\.1 +http +0\/7 .*mail\.\*/)
    expect(listed.receivers).toMatchObject([
      { name: 'ada-1', protocol: 'http', credits: 7, queues: ['mail.*'] },
    ])
    expect([tried.code, tried.stdout]).toEqual([0, 'Would close: ada-1\n'])
    expect([closed.code, closed.stdout]).toEqual([0, expect.stringContaining('Closed ada-1')])
    expect([gone.code, gone.stderr]).toEqual([3, expect.stringContaining('There is no receiver')])
  })

  it('brings a token, and says which scope another one lacks', async () => {
    const secret = 'a'.repeat(40)
    const { far } = await place([], { SKEP_TOKEN: secret })

    const none = await far(['queues'])
    const wrong = await far(['queues', '--token', 'b'.repeat(40)])
    const right = await far(['queues', '--json'], { env: { SKEP_TOKEN: secret } })
    const made = await far(['tokens', 'create', '--name', 'shop', '--scopes', 'enqueue', '--token', secret])
    const sent = await far(['enqueue', 'hello', '-d', '1'], { env: { SKEP_TOKEN: made.stdout.trim() } })
    const looked = await far(['queues', '--token', made.stdout.trim()])
    const listed = json(await far(['tokens', '--json', '--token', secret]))

    expect([none.code, none.stderr]).toEqual([1, expect.stringMatching(/UNAUTHENTICATED[\s\S]*--token-file/)])
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('UNAUTHENTICATED')])
    expect([right.code, json(right)]).toEqual([0, { space: 'default', queues: [], holds: [] }])
    expect([sent.code, sent.stdout]).toEqual([0, expect.stringMatching(/^[0-9a-f-]{36}\n$/)])
    expect([looked.code, looked.stderr]).toEqual([1, expect.stringMatching(/FORBIDDEN.*scope "read"/)])
    expect(looked.stderr).not.toContain(made.stdout.trim())
    expect(listed).toMatchObject({ tokens: [{ name: 'shop', scopes: ['enqueue'] }] })
  })

  it('says what it cannot do over a server, and what was dialled where none is', async () => {
    const { cwd, far, url } = await place()
    const dead = await nowhere()

    const away = await far(['queues'], { env: { SKEP_URL: dead } })
    const doctor = await far(['doctor', '--json'], { env: { SKEP_URL: dead } })
    const other = await far(['queues'], { env: { SKEP_URL: `${url}/nothing` } })
    const both = await far(['queues'], { env: { SKEP_DB: 'jobs.db' } })
    const typed = await skep(['queues', '--db', 'jobs.db'], { cwd, env: { SKEP_URL: dead } })
    const refused = await Promise.all(
      [
        ['queues', '--url', 'jobs.example.com'],
        ['queues', '--url', url, '--db', 'jobs.db'],
        ['queues', 'limits', '--shared', 'x', '--concurrency', '1'],
        ['jobs', 'cancel', '01890a5d-ac96-774b-bcce-b302099a8057', '--by', 'me'],
        ['migrate', '--url', url],
      ].map((args) => far(args)),
    )

    expect([away.code, away.stderr]).toEqual([
      1,
      expect.stringMatching(/STORE_UNAVAILABLE[\s\S]*dialled +http:\/\/127\.0\.0\.1:\d+\n[\s\S]*--url/),
    ])
    expect([doctor.code, json(doctor)]).toMatchObject([1, { ok: false }])
    expect([other.code, other.stderr]).toEqual([3, expect.stringContaining('/nothing/')])
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('SKEP_URL and SKEP_DB')])
    expect(typed.code).not.toBe(1)
    expect(refused.map(({ code, stderr }) => [code, stderr.split(':')[0]])).toEqual(
      refused.map(() => [2, 'error USAGE']),
    )
  })

  it('is watched by skep top, which waits for a server that is not there yet', async () => {
    const { far, cwd } = await place()
    await skep(['enqueue', 'hello', '-d', '1'], { cwd })

    const lines = await far(['top', '--plain', '--for', '3s'])
    const waiting = start(['top', '--plain', '--url', await nowhere()], { cwd: project() })
    const told = await waiting.until(/does not answer.*Trying again/)
    waiting.child.kill('SIGTERM')

    expect([lines.code, lines.stdout]).toEqual([0, expect.stringMatching(/hello +delayed 0 +ready 1/)])
    expect(told).toContain('ECONNREFUSED')
    expect((await waiting.ended).code).toBe(0)
  })
})

/** A server adds in words what a schedule says, and says of every job that there is no result yet. */
function withoutMore(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (key: string, one: unknown) =>
    key === 'words' || (key === 'result' && one === null) ? undefined : one,
  )
}

/** An address where nobody listens. */
async function nowhere(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}

function withoutSpans(text: string): string {
  return text.replace(/\((in )?[\dhmds. ]+( ago)?\)/g, '(span)').replace(/ +\d[\d.]*(ms|s)\b/g, ' span')
}

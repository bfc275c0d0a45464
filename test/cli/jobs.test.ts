import { describe, expect, it } from 'vitest'
import { CONFIG, type Ended, project, skep, start } from './cli.ts'

const UNKNOWN = '01890a5d-ac96-774b-bcce-b302099a8057'

/** Enqueues jobs with these payloads and returns their ids. */
async function enqueue(cwd: string, queue: string, payloads: readonly unknown[]): Promise<string[]> {
  const ids: string[] = []
  for (const payload of payloads) {
    const { stdout } = await skep(['enqueue', queue, '-d', JSON.stringify(payload)], { cwd })
    ids.push(stdout.trim())
  }
  return ids
}

function json(ended: Ended): any {
  return JSON.parse(ended.stdout)
}

describe('skep enqueue', () => {
  it('prints the id, and the result with --wait', async () => {
    const cwd = project({ 'skep.config.mjs': CONFIG })
    const worker = start(['worker', '--json'], { cwd })
    await worker.until(/"started"/)

    const plain = await skep(['enqueue', 'hello', '-d', '{"name":"Ada"}'], { cwd })
    const waited = await skep(['enqueue', 'hello', '-d', '{"name":"Ada"}', '--wait', '20s'], { cwd })
    const failed = await skep(['enqueue', 'bad', '--wait', '--json'], { cwd })
    worker.child.kill('SIGTERM')
    const ended = await worker.ended

    expect(plain.stdout).toMatch(/^[0-9a-f-]{36}\n$/)
    expect(JSON.parse(waited.stdout)).toEqual({ text: 'Hello, Ada!' })
    expect(waited.code).toBe(0)
    expect(waited.stderr).not.toContain('warning')
    expect(failed.code).toBe(1)
    expect(JSON.parse(failed.stderr).error).toMatchObject({ code: 'JOB_FAILED' })
    expect(ended.code).toBe(0)
    const lines = ended.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines.map(({ event }) => event)).toEqual(['started', 'stopped'])
    expect(lines[0]).toMatchObject({ queues: ['hello', 'bad', 'slow'], concurrency: 10 })
  })

  it('warns on stderr that no live worker handles the queue, and waits until one starts', async () => {
    const cwd = project({ 'skep.config.mjs': CONFIG })
    const warning = /warning No live worker handles the queue "hello".* Start one: skep worker/

    const waiting = start(['enqueue', 'hello', '-d', '{"name":"Ada"}', '--wait'], { cwd })
    const program = start(['enqueue', 'hello', '-d', '{"name":"Bob"}', '--wait', '--json'], { cwd })
    const later = await skep(['enqueue', 'hello', '--delay', '1h', '--wait', '3s'], { cwd })
    await Promise.all([waiting.until(warning), program.until(warning)])
    const worker = start(['worker'], { cwd })
    const [ended, json] = await Promise.all([waiting.ended, program.ended])
    worker.child.kill('SIGTERM')

    expect([ended.code, JSON.parse(ended.stdout)]).toEqual([0, { text: 'Hello, Ada!' }])
    expect(ended.stderr.match(/warning/g)).toHaveLength(1)
    expect(JSON.parse(json.stdout)).toMatchObject({ duplicate: false, result: { text: 'Hello, Bob!' } })
    expect(later.stderr).not.toContain('warning')
  })

  it('reads the payload from stdin or a file', async () => {
    const cwd = project({ 'payload.json': '{"from":"file"}' })

    const piped = await skep(['enqueue', 'a', '--json'], { cwd, input: '{"from":"stdin"}' })
    const file = await skep(['enqueue', 'a', '-d', '@payload.json', '--json'], { cwd })
    const none = await skep(['enqueue', 'a', '--json'], { cwd })
    const ids = [piped, file, none].map((ended) => json(ended).id as string)
    const { jobs } = json(await skep(['jobs', 'get', ...ids, '--json'], { cwd }))

    expect(jobs.map(({ payload }: any) => payload)).toEqual([{ from: 'stdin' }, { from: 'file' }, null])
  })

  it('refuses a number that would be stored as another one', async () => {
    const cwd = project()

    const refused = await skep(['enqueue', 'a', '-d', '{"id":9007199254740993}', '--json'], { cwd })
    const list = await skep(['jobs', '--json'], { cwd })

    expect(refused.code).not.toBe(0)
    expect(JSON.parse(refused.stderr).error).toMatchObject({ code: 'NUMBER_INEXACT' })
    expect(list.stdout).not.toContain('9007199254740')
  })

  it('puts a job into a lane, with a cost', async () => {
    const cwd = project()

    const { id } = json(await skep(['enqueue', 'a', '-d', '1', '--lane=acme', '--cost=3', '--json'], { cwd }))
    const { jobs } = json(await skep(['jobs', 'get', id, '--json'], { cwd }))

    expect(jobs).toMatchObject([{ lane: 'acme', cost: 3 }])
  })

  it('says which job holds a unique key, and takes an id twice', async () => {
    const cwd = project()

    const first = json(await skep(['enqueue', 'a', '-d', '1', '--unique', 'k', '--json'], { cwd }))
    const second = await skep(['enqueue', 'a', '-d', '2', '--unique', 'k', '--json'], { cwd })
    const once = await skep(['enqueue', 'a', '-d', '1', '--id', UNKNOWN], { cwd })
    const twice = await skep(['enqueue', 'a', '-d', '1', '--id', UNKNOWN], { cwd })
    const [queue] = json(await skep(['queues', '--json'], { cwd })).queues

    expect(json(second)).toEqual({ id: first.id, queue: 'a', duplicate: true })
    expect(second.code).toBe(0)
    expect([once.stdout, twice.stdout]).toEqual([`${UNKNOWN}\n`, `${UNKNOWN}\n`])
    expect(queue.ready).toBe(2)
  })

  it('holds back delayed jobs', async () => {
    const cwd = project()
    await skep(['enqueue', 'a', '-d', '1', '--delay', '1h'], { cwd })
    await skep(['enqueue', 'a', '-d', '1', '--run-at', '2100-01-01T00:00:00Z'], { cwd })

    const promoted = await skep(['jobs', 'promote', '--queue', 'a', '--limit', '1', '--yes', '--json'], {
      cwd,
    })
    const [queue] = json(await skep(['queues', '--json'], { cwd })).queues

    expect(json(promoted)).toMatchObject({ action: 'promote', changed: 1 })
    expect(queue).toMatchObject({ delayed: 1, ready: 1 })
  })
})

describe('skep jobs', () => {
  it('lists page by page, and filters', async () => {
    const cwd = project()
    const ids = await enqueue(cwd, 'mail', [{ to: 'ada' }, { to: 'grace' }, { to: 'alan' }])

    const first = json(await skep(['jobs', '--limit', '2', '--json'], { cwd }))
    const second = json(await skep(['jobs', '--limit', '2', '--cursor', first.cursor, '--json'], { cwd }))
    const grace = await skep(['jobs', 'list', '--text', 'grace', '--state', 'ready,delayed', '-q'], { cwd })
    const table = await skep(['jobs', '--before', '1h'], { cwd })

    expect([...first.jobs, ...second.jobs].map(({ id }: any) => id)).toEqual(ids)
    expect(second.cursor).toBeNull()
    expect(grace.stdout).toBe(`${ids[1]}\n`)
    expect(table.stderr).toContain('No such jobs')
  })

  it('tells not found (3) from not possible now (4)', async () => {
    const cwd = project()
    const [id = ''] = await enqueue(cwd, 'mail', [1])

    const missing = await skep(['jobs', 'get', id, UNKNOWN, '--json'], { cwd })
    const unknown = await skep(['jobs', 'cancel', UNKNOWN], { cwd })
    const retried = await skep(['jobs', 'retry', id, '--json'], { cwd })
    const cancelled = await skep(['jobs', 'cancel', id], { cwd })
    const again = await skep(['jobs', 'cancel', id], { cwd })
    const malformed = await skep(['jobs', 'get', 'x'], { cwd })

    expect(json(missing)).toMatchObject({ jobs: [{ id }], missing: [UNKNOWN] })
    expect(missing.code).toBe(3)
    expect(unknown.code).toBe(3)
    expect(json(retried)).toMatchObject({ changed: 0, refused: [{ id, reason: 'state' }] })
    expect(retried.code).toBe(4)
    expect(cancelled.stdout).toBe('Cancelled 1 job.\n')
    expect(again.code).toBe(4)
    expect(malformed.code).toBe(2)
  })

  it('changes by filter only what was meant, and only when somebody said yes', async () => {
    const cwd = project()
    await enqueue(cwd, 'mail', [1, 2, 3])
    await enqueue(cwd, 'other', [1])

    const nothing = await skep(['jobs', 'cancel'], { cwd })
    const unasked = await skep(['jobs', 'cancel', '--queue', 'mail'], { cwd })
    const dry = await skep(['jobs', 'cancel', '--queue', 'mail', '--dry-run', '--json'], { cwd })
    const searched = await skep(['jobs', 'cancel', '--all', '--text', '1', '--dry-run'], { cwd })
    const both = await skep(['jobs', 'cancel', UNKNOWN, '--queue', 'mail', '--yes'], { cwd })
    const done = await skep(['jobs', 'cancel', '--queue', 'mail', '--yes'], { cwd })
    const { queues } = json(await skep(['queues', '--json'], { cwd }))

    expect([nothing.code, unasked.code, both.code]).toEqual([2, 2, 2])
    expect(unasked.stderr).toContain('Cancel 3 jobs? Cannot ask: this is not a terminal.')
    expect(json(dry)).toEqual({ action: 'cancel', dryRun: true, jobs: 3, exact: true })
    expect(searched.stdout).toBe('Would cancel 2 jobs.\n')
    expect(done.stdout).toBe('Cancelled 3 jobs.\n')
    expect(queues).toMatchObject([
      { queue: 'mail', cancelled: 3, ready: 0 },
      { queue: 'other', cancelled: 0, ready: 1 },
    ])
  })

  it('shows hostile text harmlessly, and gives it unchanged to programs', async () => {
    const cwd = project()
    const evil = '\u001b]0;owned\u0007\u001b[2J\u009b31m\u202egnp.exe\r\nready forged\u0000'.replace('\0', '')
    const [id = ''] = await enqueue(cwd, 'mail', [{ evil }])

    const shown = [await skep(['jobs'], { cwd }), await skep(['jobs', 'get', id], { cwd })]
    const asJson = await skep(['jobs', 'get', id, '--json'], { cwd })
    const typed = await skep([evil], { cwd })

    for (const { stdout, stderr } of [...shown, asJson, typed]) {
      expect(stdout + stderr).not.toMatch(/[^\P{Cc}\n]|[\u202a-\u202e]/u)
    }
    expect(shown[0]?.stdout.split('\n')).toHaveLength(3)
    expect(json(asJson).jobs[0].payload).toEqual({ evil })
  })
})

describe('skep dead', () => {
  it('lists, retries and removes what died, and touches nothing else', async () => {
    const cwd = project({ 'skep.config.mjs': CONFIG })
    const dead = await enqueue(cwd, 'bad', [1, 2])
    const [waiting = ''] = await enqueue(cwd, 'nobody', [1])
    const worker = start(['worker', '--queues', 'bad'], { cwd })
    await worker.until(/dead after[\s\S]*dead after/)
    worker.child.kill('SIGINT')
    await worker.ended

    const list = json(await skep(['dead', '--json'], { cwd }))
    const wrong = await skep(['dead', 'remove', waiting], { cwd })
    const removed = await skep(['dead', 'remove', dead[0] ?? ''], { cwd })
    const retried = await skep(['dead', 'retry', '--queue', 'bad', '--yes'], { cwd })
    const buried = await skep(['dead', 'bury', waiting], { cwd })
    const { queues } = json(await skep(['queues', '--json'], { cwd }))

    expect(list.jobs.map(({ id }: any) => id).sort()).toEqual([...dead].sort())
    expect(list.jobs[0].failure.message).toBe('it never works')
    expect(wrong.code).toBe(4)
    expect(removed.stdout).toBe('Removed 1 job.\n')
    expect(retried.stdout).toBe('Retried 1 job.\n')
    expect(buried.stdout).toBe('Buried 1 job.\n')
    expect(queues).toMatchObject([
      { queue: 'bad', ready: 1, dead: 0 },
      { queue: 'nobody', ready: 0, dead: 1 },
    ])
  })
})

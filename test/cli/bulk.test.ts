import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createSkep, queue } from '../../src/index.ts'
import { sqliteStore } from '../../src/sqlite.ts'
import { CONFIG, project, skep, start } from './cli.ts'

/** A database with dead and waiting jobs, made without the command, which is slower. */
async function shop(): Promise<string> {
  const cwd = project({ 'skep.config.mjs': CONFIG })
  const filled = createSkep({ store: sqliteStore({ file: join(cwd, 'jobs.db') }) })
  const mail = queue<{ readonly to: string }>('mail.send')
  const many = Array.from({ length: 30 }, (_, n) => ({ to: `${n % 2 === 0 ? 'ada' : 'bob'}@example.com` }))
  await filled.enqueueMany(mail, many)
  await filled.jobs.bury({ queue: 'mail.send', text: 'ada' })
  await filled.close()
  return cwd
}

describe('skep jobs --where', () => {
  it('lists, counts and changes what fits a query', async () => {
    const cwd = await shop()

    const listed = await skep(['jobs', '--where', 'state:dead payload.to:ada*', '--json'], { cwd })
    const counted = await skep(['jobs', 'retry', '--where', 'queue:mail.*', '--dry-run'], { cwd })
    const alone = await skep(['jobs', 'retry', '--where', 'queue:mail.*'], { cwd })
    const retried = await skep(['jobs', 'retry', '--where', 'queue:mail.*', '--yes', '--json'], { cwd })
    const { id } = JSON.parse(retried.stdout)
    const actions = await skep(['bulk', '--json'], { cwd })
    const one = await skep(['bulk', 'get', id], { cwd })

    expect(JSON.parse(listed.stdout).jobs).toHaveLength(15)
    expect(counted.stdout).toBe('Would retry 15 jobs.\n')
    expect(alone).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
    expect(JSON.parse(retried.stdout)).toMatchObject({ changed: 15, refused: 0, status: 'done' })
    expect(JSON.parse(actions.stdout).actions).toMatchObject([{ id, action: 'retry', expected: 15 }])
    expect(one.stdout).toMatch(/status +done/)
  })

  it('reschedules and moves what fits, or what is named', async () => {
    const cwd = await shop()

    const off = await skep(['jobs', 'reschedule', '--where', 'state:ready', '--delay', '2h', '--yes'], {
      cwd,
    })
    const { jobs } = JSON.parse((await skep(['jobs', '--state', 'delayed', '--json'], { cwd })).stdout)
    const near = await skep(['jobs', 'reschedule', jobs[0].id, '--run-at', '2020-01-01T00:00Z'], { cwd })
    const when = await skep(['jobs', 'reschedule', jobs[1].id], { cwd })
    const moved = await skep(['jobs', 'move', jobs[0].id, jobs[1].id, '--to', 'post', '--yes'], { cwd })
    const dead = await skep(['jobs', 'move', '--where', 'state:dead', '--to', 'post', '--yes'], { cwd })
    const nowhere = await skep(['jobs', 'move', jobs[2].id, '--yes'], { cwd })
    const stray = await skep(['jobs', 'cancel', jobs[2].id, '--to', 'post'], { cwd })
    const { queues } = JSON.parse((await skep(['queues', '--json'], { cwd })).stdout)

    expect([off.stdout, near.stdout]).toEqual(['Rescheduled 15 jobs.\n', 'Rescheduled 1 job.\n'])
    expect(when).toMatchObject({ code: 2, stderr: expect.stringContaining('--delay') })
    expect([moved.stdout, dead.stdout]).toEqual(['Moved 2 jobs.\n', 'Moved 15 jobs.\n'])
    expect(nowhere).toMatchObject({ code: 2, stderr: expect.stringContaining('--to') })
    expect(stray).toMatchObject({ code: 2, stderr: expect.stringContaining('--to is for skep jobs move') })
    expect(queues).toMatchObject([
      { queue: 'mail.send', delayed: 13, dead: 0 },
      { queue: 'post', ready: 16, delayed: 1 },
    ])
  })

  it('exports a line for each job, and enqueues one again with another payload', async () => {
    const cwd = await shop()

    const exported = await skep(['jobs', 'export', '--where', 'payload.to:bob*'], { cwd })
    const [first] = exported.stdout.split('\n', 1) as [string]
    const { id } = JSON.parse(first)
    const again = await skep(['jobs', 'copy', id, '-d', '{"to":"eve"}', '--queue', 'other'], { cwd })
    const copy = await skep(['jobs', 'get', again.stdout.trim(), '--json'], { cwd })

    expect(exported.stdout.trimEnd().split('\n')).toHaveLength(15)
    expect(JSON.parse(copy.stdout).jobs).toMatchObject([
      { queue: 'other', payload: { to: 'eve' }, headers: { 'skep-copy-of': id } },
    ])
  })

  it('stops at Ctrl-C, says so, and leaves the rest as it was', async () => {
    const cwd = await shop()
    const args = ['jobs', 'cancel', '--where', 'payload.to:bob*', '--per-second', '1', '--yes', '--json']
    const change = start(args, { cwd })
    const running = async (): Promise<boolean> => {
      const { stdout } = await skep(['bulk', '--json'], { cwd })
      return JSON.parse(stdout).actions.some((one: { changed: number }) => one.changed > 0)
    }
    while (!(await running()));

    change.child.kill('SIGINT')
    const { code, stdout } = await change.ended
    const left = await skep(['jobs', '--where', 'state:ready', '--json'], { cwd })

    const { status, changed } = JSON.parse(stdout)
    expect(status).toBe('stopped')
    expect(code).toBe(1)
    expect(JSON.parse(left.stdout).jobs).toHaveLength(15 - changed)
  })

  it.each([
    [['jobs', '--where', 'sate:dead'], 'QUERY_INVALID'],
    [['jobs', '--where', 'state:dead', '--queue', 'a'], "--where 'queue:a'"],
    [['jobs', 'retry', 'some-id', '--where', 'state:dead'], 'do not go together'],
    [['jobs', 'retry', '--detach', '--all'], '--detach goes with --where'],
  ])('refuses %j', async (args, words) => {
    const { code, stderr } = await skep(args, { cwd: project() })

    expect(stderr).toContain(words)
    expect(code).toBe(2)
  })
})

describe('skep errors', () => {
  it('shows groups of errors, mutes them, and retries their jobs', async () => {
    const cwd = project({ 'skep.config.ts': FAILING })
    const worker = start(['worker'], { cwd })
    await worker.until(/started/)
    await Promise.all(['17', '18'].map((n) => skep(['enqueue', 'pay', '-d', n, '--wait', '30s'], { cwd })))
    worker.child.kill('SIGTERM')
    await worker.ended

    const listed = await skep(['errors', '--json'], { cwd })
    const [group] = JSON.parse(listed.stdout).groups
    const page = await skep(['errors', 'get', group.id], { cwd })
    const muted = await skep(['errors', 'mute', group.id, '--for', '1d', '--json'], { cwd })
    const table = await skep(['errors', '--muted'], { cwd })
    const retried = await skep(['errors', 'retry', group.id, '--yes'], { cwd })

    expect(group).toMatchObject({ queue: 'pay', name: 'CardDeclined', count: 2, dead: 2 })
    expect(page.stdout).toMatch(/sample .*skep jobs get/)
    expect(page.stdout).toContain('skep.config.ts')
    expect(JSON.parse(muted.stdout).muted.until).not.toBeNull()
    expect(table.stdout).toContain('muted  CardDeclined')
    expect(retried.stdout).toBe('Retried 2 jobs.\n')
  })
})

describe('skep workers', () => {
  it('lists workers, and stops one', async () => {
    const cwd = project({ 'skep.config.mjs': CONFIG })
    const worker = start(['worker'], { cwd })
    await worker.until(/started/)

    const listed = await skep(['workers', '--json'], { cwd })
    const [one] = JSON.parse(listed.stdout).workers
    const page = await skep(['workers', 'get', one.id.slice(0, 20)], { cwd })
    const planned = await skep(['workers', 'stop', '--all', '--dry-run'], { cwd })
    const told = await skep(['workers', 'stop', one.id], { cwd })
    const ended = await worker.ended

    expect(one).toMatchObject({ life: 'here', queues: expect.arrayContaining(['hello']) })
    expect(page.stdout).toMatch(/busy +0 of 10/)
    expect(planned.stdout).toContain(one.id)
    expect(told.stdout).toContain('is stopping: it drains first')
    expect(ended).toMatchObject({ code: 0, stdout: expect.stringContaining('stopped') })
    expect(await skep(['workers', 'get', 'nobody'], { cwd })).toMatchObject({ code: 3 })
  })
})

const FAILING = `
import { defineConfig, never, queue } from 'skep'
import { sqliteStore } from 'skep/sqlite'

class CardDeclined extends Error { override readonly name = 'CardDeclined' }
const pay = queue<number>('pay', { onError: never() })

export default defineConfig({
  store: () => sqliteStore({ file: 'jobs.db' }),
  handlers: [pay.handle(({ payload }) => { throw new CardDeclined(\`Order \${payload} was declined\`) })],
})
`

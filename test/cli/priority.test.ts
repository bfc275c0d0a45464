import { describe, expect, it } from 'vitest'
import { type Ended, project, skep } from './cli.ts'

const UNKNOWN = '01890a5d-ac96-774b-bcce-b302099a8057'
const CONFIG = `
import { defineConfig, queue } from 'skep'
import { sqliteStore } from 'skep/sqlite'
const pager = queue('pager', { priorityMode: 'strict' })
const mail = queue('mail')
export default defineConfig({
  store: () => sqliteStore({ file: 'jobs.db' }),
  handlers: [pager.handle(() => {}), mail.handle(() => {})],
})
`

async function enqueue(cwd: string, queue: string, ...flags: string[]): Promise<string> {
  const { stdout } = await skep(['enqueue', queue, '-d', '{"to":"ada"}', ...flags], { cwd })
  return stdout.trim()
}

function json(ended: Ended): any {
  return JSON.parse(ended.stdout)
}

async function line(cwd: string, queue: string): Promise<[string, number][]> {
  const { jobs } = json(await skep(['jobs', '--queue', queue, '--state', 'ready', '--json'], { cwd }))
  return jobs.map(({ id, priority }: any) => [id, priority])
}

describe('skep jobs prioritize', () => {
  it('moves jobs, by ids and by filter, as the config says that their queue counts', async () => {
    const cwd = project({ 'skep.config.mjs': CONFIG })
    const [one, two] = [await enqueue(cwd, 'pager'), await enqueue(cwd, 'pager', '--priority', '1')]
    const mail = await enqueue(cwd, 'mail')

    const byId = await skep(['jobs', 'prioritize', one, mail, UNKNOWN, '--priority', '2'], { cwd })
    const pager = await line(cwd, 'pager')
    const filter = ['jobs', 'prioritize', '--all', '--text', 'ada', '--priority', '-3']
    const dry = await skep([...filter, '--dry-run', '--json'], { cwd })
    const all = await skep([...filter, '--yes', '--json'], { cwd })

    expect(byId.stdout).toBe('Prioritized 2 jobs.\n')
    expect(byId.code).toBe(3)
    expect(pager).toEqual([
      [one, 2],
      [two, 1],
    ])
    expect(json(dry)).toEqual({ action: 'prioritize', dryRun: true, jobs: 3, exact: true })
    expect(json(all)).toMatchObject({ action: 'prioritize', changed: 3, refused: [] })
    expect(await line(cwd, 'mail')).toEqual([[mail, -3]])
  })

  it('wants to be told how a queue counts that nothing declares, and believes nothing against the config', async () => {
    const cwd = project({ 'skep.config.mjs': CONFIG })
    const id = await enqueue(cwd, 'other', '--priority', '1', '--priority-mode', 'strict')
    await enqueue(cwd, 'pager')
    const prioritize = (...rest: string[]) => skep(['jobs', 'prioritize', ...rest, '--yes'], { cwd })

    const unsaid = await prioritize(id, '--priority', '2')
    const everywhere = await prioritize('--all', '--priority', '2')
    const wrong = await prioritize('--queue', 'pager', '--priority', '2', '--priority-mode', 'head-start')
    const none = await prioritize(id, '--priority', '2', '--priority-mode', 'loose')
    const without = await prioritize(id)
    const elsewhere = await skep(['jobs', 'cancel', id, '--priority', '2'], { cwd })
    const before = [...(await line(cwd, 'other')), ...(await line(cwd, 'pager'))]
    const said = await prioritize(id, '--priority', '2', '--priority-mode', 'strict')

    for (const ended of [unsaid, everywhere, wrong, none, without, elsewhere]) expect(ended.code).toBe(2)
    expect(unsaid.stderr).toContain('--priority-mode')
    expect(before.map(([, priority]) => priority)).toEqual([1, 0])
    expect(said.code).toBe(0)
    expect(await line(cwd, 'other')).toEqual([[id, 2]])
  })
})

describe('skep queues purge', () => {
  it('says first what it would remove, and removes it only when somebody said yes', async () => {
    const cwd = project()
    for (const flags of [[], [], ['--delay', '1h']]) await enqueue(cwd, 'mail', ...flags)
    const kept = await enqueue(cwd, 'other')

    const dry = await skep(['queues', 'purge', 'mail', '--dry-run'], { cwd })
    const unasked = await skep(['queues', 'purge', 'mail'], { cwd })
    const counted = json(
      await skep(['queues', 'purge', 'mail', '--state', 'ready', '--dry-run', '--json'], { cwd }),
    )
    const old = json(await skep(['queues', 'purge', 'mail', '--older', '1h', '--yes', '--json'], { cwd }))
    const done = await skep(['queues', 'purge', 'mail', '--yes'], { cwd })
    const empty = await skep(['queues', 'purge', 'mail'], { cwd })
    const { queues } = json(await skep(['queues', 'list', 'mail', 'other', '--json'], { cwd }))

    expect(dry.stdout).toBe('Would remove 3 jobs: 1 delayed, 2 ready.\n')
    expect(unasked.code).toBe(2)
    expect(unasked.stderr).toContain(
      'Remove 3 jobs of mail (1 delayed, 2 ready)? Cannot ask: this is not a terminal.',
    )
    expect(counted).toMatchObject({
      queue: 'mail',
      dryRun: true,
      jobs: 2,
      running: 0,
      states: { ready: 2, delayed: 0 },
    })
    expect(old).toMatchObject({ dryRun: false, jobs: 0 })
    expect(done.stdout).toBe('Removed 3 jobs: 1 delayed, 2 ready.\n')
    expect([empty.code, empty.stdout]).toEqual([0, 'Removed 0 jobs.\n'])
    expect(queues).toMatchObject([
      { queue: 'mail', ready: 0, delayed: 0 },
      { queue: 'other', ready: 1 },
    ])
    expect(kept).not.toBe('')
  })

  it('refuses what it does not understand', async () => {
    const cwd = project()
    await enqueue(cwd, 'mail')

    const ended = await Promise.all(
      [
        ['purge'],
        ['purge', 'mail', 'other', '--yes'],
        ['purge', 'mail', '--state', 'running', '--yes'],
        ['purge', 'mail', '--older', '1h', '--before', '1h', '--yes'],
        ['mail', '--dry-run'],
      ].map((words) => skep(['queues', ...words], { cwd })),
    )

    expect(ended.map(({ code }) => code)).toEqual([2, 2, 2, 2, 2])
    expect(json(await skep(['queues', 'mail', '--json'], { cwd })).queues).toMatchObject([{ ready: 1 }])
  })
})

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Ended, project, skep, start } from './cli.ts'

function json(ended: Ended): any {
  return JSON.parse(ended.stdout)
}

const CONFIG = `
import { defineConfig, queue, schedule } from 'skep'
import { sqliteStore } from 'skep/sqlite'
const beat = queue('beat')
export default defineConfig({
  store: () => sqliteStore({ file: 'jobs.db' }),
  handlers: [beat.handle(({ schedule }) => schedule)],
  schedules: [
    schedule('declared', { queue: beat, every: '1s', payload: { by: 'code' } }),
    schedule('made', { queue: beat, cron: '0 3 * * *', payload: ({ slot }) => ({ slot }) }),
  ],
  owner: 'shop',
})
`

describe('skep schedules', () => {
  it('puts, shows, previews, pauses, resumes, runs and removes', async () => {
    const cwd = project()
    const nightly = ['nightly', '--queue', 'report', '--cron', '0 3 * * *', '--time-zone', 'Europe/Berlin']
    const put = await skep(['schedules', 'put', ...nightly, '-d', '{"a":1}', '--overlap', 'skip', '--json'], {
      cwd,
    })
    const again = await skep(['schedules', 'put', ...nightly, '-d', '{"a":2}'], { cwd })
    const listed = await skep(['schedules'], { cwd })
    const shown = await skep(['schedules', 'show', 'nightly'], { cwd })
    const preview = json(await skep(['schedules', 'preview', 'nightly', '--count', '3', '--json'], { cwd }))
    const paused = await skep(['schedules', 'pause', 'nightly', '--reason', 'too loud', '--by', 'ada'], {
      cwd,
    })
    const view = json(await skep(['schedules', 'show', 'nightly', '--json'], { cwd }))
    const resumed = await skep(['schedules', 'resume', 'nightly', '--json'], { cwd })
    const run = await skep(['schedules', 'run', 'nightly'], { cwd })
    const job = json(await skep(['jobs', 'get', run.stdout.trim(), '--json'], { cwd })).jobs[0]
    const asked = await skep(['schedules', 'remove', 'nightly'], { cwd })
    const removed = await skep(['schedules', 'remove', 'nightly', '--yes'], { cwd })
    const none = await skep(['schedules', '--json'], { cwd })

    expect(json(put)).toMatchObject({
      id: 'nightly',
      queue: 'report',
      cron: { expression: '0 3 * * *', timeZone: 'Europe/Berlin' },
      payload: { a: 1 },
      overlap: 'skip',
      missed: 'once',
      declared: false,
    })
    expect(again.stdout).toMatch(/^nightly: next \d{4}-/)
    expect(listed.stdout).toMatch(/nightly +report +0 3 \* \* \* Europe\/Berlin +in \d+.*run time/)
    expect(shown.stdout).toMatch(/payload +\{"a":2\}/)
    expect(preview.slots).toHaveLength(3)
    const inBerlin = new Intl.DateTimeFormat('en', {
      timeZone: 'Europe/Berlin',
      hour: 'numeric',
      hourCycle: 'h23',
    })
    expect(preview.slots.map((slot: string) => inBerlin.format(new Date(slot)))).toEqual(['03', '03', '03'])
    expect(paused.stdout).toBe('nightly: paused\n')
    expect(view.paused).toMatchObject({ reason: 'too loud', by: 'ada' })
    expect(json(resumed)).toEqual({ id: 'nightly', done: 'resumed' })
    expect(job).toMatchObject({ queue: 'report', payload: { a: 2 }, headers: { 'skep-schedule': 'nightly' } })
    expect(asked.code).toBe(2)
    expect(removed.code).toBe(0)
    expect(json(none)).toEqual({ schedules: [], cursor: null })
  })

  it('says what is wrong, with the right exit code', async () => {
    const cwd = project()
    await skep(['schedules', 'put', 'a', '--queue', 'q', '--every', '1m'], { cwd })
    const cases: [string[], number, RegExp][] = [
      [['put', 'b', '--queue', 'q'], 2, /--cron or --every/],
      [['put', 'b', '--every', '1m'], 2, /Which queue/],
      [['put', 'b', '--queue', 'q', '--cron', '61 * * * *'], 2, /SCHEDULE_INVALID/],
      [['put', 'b', '--queue', 'q', '--every', '1m', '--overlap', 'x'], 2, /'allow', 'skip' or 'replace'/],
      [['show', 'x'], 3, /no schedule "x"/],
      [['pause', 'x'], 3, /NOT_FOUND/],
      [['remove', 'x', '--yes'], 3, /no schedule "x"/],
      [['show'], 2, /Which schedule/],
      [['show', 'a', 'b'], 2, /unexpected argument/],
    ]
    for (const [args, code, text] of cases) {
      const ended = await skep(['schedules', ...args], { cwd })
      expect([args, ended.code, ended.stderr]).toEqual([args, code, expect.stringMatching(text)])
    }
  })

  it('declares those of the config when a worker starts; they belong to the code', async () => {
    const cwd = project({ 'skep.config.mjs': CONFIG })
    const before = json(
      await skep(['schedules', '--json'], { cwd }).then((ended) =>
        ended.code === 0 ? ended : { ...ended, stdout: '{"schedules":[]}' },
      ),
    )
    const worker = start(['worker', '--json'], { cwd })
    await worker.until(/"started"/)
    let view: any
    do
      view = json(
        await skep(['schedules', 'show', 'declared', '--json'], { cwd }).then((ended) =>
          ended.code === 0 ? ended : { ...ended, stdout: '{"fired":0}' },
        ),
      )
    while (view.fired === 0)
    const run = await skep(['schedules', 'run', 'made', '--json'], { cwd })
    worker.child.kill('SIGTERM')
    await worker.ended
    const edited = await skep(['schedules', 'put', 'declared', '--queue', 'beat', '--every', '5s'], { cwd })
    const removed = await skep(['schedules', 'remove', 'declared', '--yes'], { cwd })
    const forced = await skep(['schedules', 'remove', 'declared', '--yes', '--force'], { cwd })

    expect(before.schedules).toEqual([])
    expect(view).toMatchObject({ declared: true, owner: 'shop', payload: { by: 'code' } })
    expect(run.code).toBe(0)
    expect([edited.code, edited.stderr]).toEqual([4, expect.stringMatching(/SCHEDULE_DECLARED/)])
    expect(removed.code).toBe(4)
    expect(forced.code).toBe(0)
  })

  it('tells what an expression means, without a database', async () => {
    const cwd = project()

    const text = await skep(['schedules', 'preview', '--cron', '0 9 * * 1-5', '--count', '2'], { cwd })
    const data = await skep(['schedules', 'preview', '--every', '90s', '--count', '3', '--json'], { cwd })
    const wrong = await skep(['schedules', 'preview', '--cron', '0 9 * *'], { cwd })
    const nothing = await skep(['schedules', 'preview'], { cwd })

    expect(text.stdout).toMatch(/^on weekdays at 09:00.*\n\S+T09:00:00\.000Z .*\n\S+T09:00:00\.000Z .*\n$/)
    expect(JSON.parse(data.stdout)).toMatchObject({ words: 'every 90 seconds', slots: { length: 3 } })
    expect([wrong.code, nothing.code]).toEqual([2, 2])
    expect(existsSync(join(cwd, '.skep'))).toBe(false)
  })
})

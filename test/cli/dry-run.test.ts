import { describe, expect, it } from 'vitest'
import { CONFIG, type Ended, project, skep } from './cli.ts'

function json(ended: Ended): any {
  return JSON.parse(ended.stdout)
}

/** A project with a dead job, an error group, a schedule, a token and a pause that can be taken away. */
async function furnished(): Promise<{ cwd: string; dead: string; group: string }> {
  const cwd = project({ 'skep.config.mjs': CONFIG })
  const dead = (await skep(['enqueue', 'bad', '-d', 'null'], { cwd })).stdout.trim()
  await skep(['dead', 'bury', dead], { cwd })
  await skep(['schedules', 'put', 'tick', '--queue', 'hello', '--every', '1h'], { cwd })
  await skep(['tokens', 'create', '--name', 'ada', '--scopes', 'read'], { cwd })
  await skep(['queues', 'pause', 'hello'], { cwd })
  const { groups } = json(await skep(['errors', '--json'], { cwd }))
  return { cwd, dead, group: groups[0]?.id ?? '' }
}

/** All that a change could have changed. */
async function everything(cwd: string): Promise<unknown> {
  const looks = [
    ['jobs', 'list', '--json'],
    ['queues', '--json'],
    ['queues', 'limits', '--json'],
    ['schedules', '--json'],
    ['tokens', '--json'],
    ['errors', '--json'],
  ]
  const seen: unknown[] = []
  for (const look of looks) seen.push(json(await skep(look, { cwd })))
  return JSON.parse(JSON.stringify(seen, (key, value) => (key === 'oldestMs' ? null : value)))
}

describe('--dry-run', () => {
  it('changes nothing, whatever the change is, typed or by its variable', async () => {
    const { cwd, dead, group } = await furnished()
    const changes = [
      ['enqueue', 'hello', '-d', '{"name":"Ada"}'],
      ['jobs', 'copy', dead],
      ['jobs', 'retry', dead],
      ['dead', 'retry', '--where', 'queue:bad'],
      ['dead', 'remove', '--all'],
      ['queues', 'pause', '--all'],
      ['queues', 'resume', 'hello'],
      ['queues', 'block', 'bad'],
      ['queues', 'drain', 'bad'],
      ['queues', 'limits', 'hello', '--concurrency', '3'],
      ['queues', 'purge', 'bad'],
      ['queues', 'drop', 'bad', '--force'],
      ['schedules', 'put', 'tock', '--queue', 'hello', '--every', '1h'],
      ['schedules', 'pause', 'tick'],
      ['schedules', 'resume', 'tick'],
      ['schedules', 'run', 'tick'],
      ['schedules', 'remove', 'tick'],
      ['tokens', 'create', '--name', 'bob', '--scopes', 'admin'],
      ['tokens', 'revoke', 'ada'],
      ...(group === '' ? [] : [['errors', 'mute', group]]),
    ]
    const before = await everything(cwd)

    const typed: Ended[] = []
    for (const change of changes) typed.push(await skep([...change, '--dry-run'], { cwd }))
    const byVariable: Ended[] = []
    const some = changes.filter(([command]) => command === 'queues' || command === 'jobs')
    for (const change of some)
      byVariable.push(await skep([...change, '--json'], { cwd, env: { SKEP_DRY_RUN: '1' } }))

    expect(typed.map(({ code, stdout }) => [code, stdout.split(' ')[0]])).toEqual(
      changes.map(() => [0, 'Would']),
    )
    expect(byVariable.map((ended) => [ended.code, json(ended).dryRun])).toEqual(some.map(() => [0, true]))
    expect(await everything(cwd)).toEqual(before)
  })

  it('still finds out what could not be done', async () => {
    const { cwd } = await furnished()
    const unknown = '01890a5d-ac96-774b-bcce-b302099a8057'

    const codes = []
    for (const change of [
      ['jobs', 'copy', unknown],
      ['bulk', 'stop', unknown],
      ['errors', 'mute', '3f1c9a0b5d7e2468'],
      ['schedules', 'remove', 'nothing'],
      ['tokens', 'revoke', 'nobody'],
    ]) {
      codes.push((await skep([...change, '--dry-run'], { cwd })).code)
    }
    const wrong = await skep(
      ['schedules', 'put', 'x', '--queue', 'hello', '--cron', '61 * * * *', '--dry-run'],
      {
        cwd,
      },
    )

    expect(codes).toEqual([3, 3, 3, 3, 3])
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('SCHEDULE_INVALID') })
  })
})

describe('skep dead --where', () => {
  it('takes the query language, and only dead jobs', async () => {
    const { cwd, dead } = await furnished()
    await skep(['enqueue', 'bad', '-d', 'null'], { cwd })

    const listed = json(await skep(['dead', 'list', '--where', 'queue:bad', '--json'], { cwd }))
    const state = await skep(['dead', 'remove', '--where', 'state:ready', '--yes'], { cwd })
    const both = await skep(['dead', 'remove', dead, '--where', 'queue:bad', '--yes'], { cwd })
    const retried = json(
      await skep(['dead', 'retry', '--where', 'queue:bad', '--per-second', '50', '--yes', '--json'], {
        cwd,
      }),
    )
    const [bad] = json(await skep(['queues', 'list', 'bad', '--json'], { cwd })).queues

    expect(listed.jobs.map(({ id }: any) => id)).toEqual([dead])
    expect([state.code, both.code]).toEqual([2, 2])
    expect(retried).toMatchObject({ action: 'retry', changed: 1, status: 'done' })
    expect(bad).toMatchObject({ ready: 2, dead: 0 })
  })
})

import { describe, expect, it } from 'vitest'
import { CONFIG, type Ended, project, skep, start } from './cli.ts'

const json = ({ stdout }: Ended): any => JSON.parse(stdout)

/** A folder with a queue that has a limit, two jobs that wait and one that is dead, and a server on it. */
async function place(isRemote: boolean): Promise<(args: readonly string[]) => Promise<Ended>> {
  const cwd = project({ 'skep.config.ts': CONFIG })
  for (const n of [1, 2, 3]) await skep(['enqueue', 'bad', '-d', String(n)], { cwd })
  const [first] = json(await skep(['jobs', '--queue', 'bad', '--json'], { cwd })).jobs
  await skep(['jobs', 'bury', first.id], { cwd })
  await skep(['queues', 'limits', 'bad', '--concurrency', '3'], { cwd })
  if (!isRemote) return (args) => skep(args, { cwd })
  const server = start(['server', '--port', '0'], { cwd })
  const url = await server.until(/http:\/\/127\.0\.0\.1:\d+/)
  const elsewhere = project()
  return (args) => skep(args, { cwd: elsewhere, env: { SKEP_URL: url } })
}

describe.each([
  ['in process', false],
  ['with --url', true],
])('skep queues drop %s', (_name, isRemote) => {
  it('refuses a queue with waiting jobs, asks, and removes it with --force', async () => {
    const run = await place(isRemote)

    const refused = await run(['queues', 'drop', 'bad', '--yes'])
    const dryRefused = await run(['queues', 'drop', 'bad', '--dry-run'])
    const dry = await run(['queues', 'drop', 'bad', '--force', '--dry-run'])
    const unasked = await run(['queues', 'drop', 'bad', '--force'])
    const before = json(await run(['queues', '--json']))
    const dropped = await run(['queues', 'drop', 'bad', '--force', '--yes', '--json'])
    const again = await run(['queues', 'drop', 'bad', '--yes'])
    const after = json(await run(['queues', '--json']))

    for (const one of [refused, dryRefused]) {
      expect([one.code, one.stderr]).toEqual([1, expect.stringMatching(/QUEUE_IN_USE.*2 jobs wait in it/s)])
    }
    expect([dry.code, dry.stdout]).toEqual([0, 'Would drop bad with 3 jobs (2 ready, 1 dead), 1 limit.\n'])
    expect([unasked.code, unasked.stderr]).toEqual([
      2,
      expect.stringContaining('Drop bad with 3 jobs (2 ready, 1 dead), 1 limit?'),
    ])
    expect(before.queues).toMatchObject([{ queue: 'bad', ready: 2, dead: 1, hold: null }])
    expect(json(dropped)).toMatchObject({
      queue: 'bad',
      dryRun: false,
      known: true,
      jobs: 3,
      states: { ready: 2, dead: 1 },
      limits: 1,
      holds: 0,
    })
    expect([again.code, again.stdout]).toEqual([0, 'Dropped nothing: there is no queue "bad".\n'])
    expect(after).toMatchObject({ queues: [], holds: [] })
  })
})

describe('skep queues drop', () => {
  it('removes waiting jobs only when --force was typed', async () => {
    const run = await place(false)
    const cwd = project({ 'skep.config.ts': CONFIG })
    await skep(['enqueue', 'bad', '-d', '1'], { cwd })

    const env = { SKEP_FORCE: '1', SKEP_YES: '1' }
    expect((await skep(['queues', 'drop', 'bad'], { cwd, env })).code).toBe(1)
    for (const words of [['drop'], ['drop', 'bad', 'slow', '--yes'], ['purge', 'bad', '--force', '--yes']]) {
      expect((await run(['queues', ...words])).code).toBe(2)
    }
    expect(json(await run(['queues', '--json'])).queues).toMatchObject([{ ready: 2, dead: 1 }])
  })

  it('is refused while a worker handles the queue', async () => {
    const cwd = project({ 'skep.config.ts': CONFIG })
    const worker = start(['worker'], { cwd })
    await worker.until(/started/)

    const refused = await skep(['queues', 'drop', 'bad', '--force', '--yes'], { cwd })

    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/QUEUE_IN_USE.*Stop the workers/s),
    ])
  })
})

import { userInfo } from 'node:os'
import { describe, expect, it } from 'vitest'
import { CONFIG, type Ended, project, skep, start } from './cli.ts'

const UNKNOWN = '01890a5d-ac96-774b-bcce-b302099a8057'

function json(ended: Ended): any {
  return JSON.parse(ended.stdout)
}

/** A project with one job in each of these queues, and the ids. */
async function withJobs(...queues: string[]): Promise<{ cwd: string; ids: string[] }> {
  const cwd = project({ 'skep.config.mjs': CONFIG })
  const ids: string[] = []
  for (const queue of queues) {
    ids.push((await skep(['enqueue', queue, '-d', '{"name":"Ada"}'], { cwd })).stdout.trim())
  }
  return { cwd, ids }
}

describe('skep queues pause and block', () => {
  it('hold queues by name and pattern, say who and why, and let them run again', async () => {
    const { cwd, ids } = await withJobs('hello', 'bad')

    const paused = await skep(['queues', 'pause', 'hello', '--reason', 'smtp is down', '--for', '1h'], {
      cwd,
    })
    const blocked = json(await skep(['queues', 'block', 'hel*', '--by', 'ops', '--json'], { cwd }))
    const shown = await skep(['queues'], { cwd })
    const { queues, holds } = json(await skep(['queues', '--json'], { cwd }))
    const resumed = await skep(['queues', 'resume', 'hello'], { cwd })
    const worker = start(['worker', '--json'], { cwd })
    await worker.until(/"started"/)
    const other = await skep(['enqueue', 'bad', '--wait', '20s', '--json'], { cwd })
    const held = json(await skep(['jobs', 'get', ids[0] as string, '--json'], { cwd }))
    const unblocked = await skep(['queues', 'unblock', 'hel*'], { cwd })
    const waited = await skep(['enqueue', 'hello', '-d', '{"name":"Bob"}', '--wait', '20s'], { cwd })
    worker.child.kill('SIGTERM')
    await worker.ended

    expect(paused.stdout).toBe('Paused hello.\n')
    expect(blocked.targets).toMatchObject([{ target: 'hel*', holds: [{ kind: 'block', by: 'ops' }] }])
    expect(shown.stdout).toMatch(/^QUEUE +HELD /m)
    expect(shown.stdout).toMatch(/^hello +block /m)
    expect(shown.stderr).toMatch(/pause on hello, by .*, ends in .*: smtp is down/)
    expect(queues.map(({ queue, hold }: any) => [queue, hold])).toEqual([
      ['bad', null],
      ['hello', 'block'],
    ])
    expect(holds.map(({ kind, by }: any) => [kind, by])).toEqual([
      ['block', 'ops'],
      ['pause', userInfo().username],
    ])
    expect(resumed.stdout).toMatch(/^Resumed hello\.\nStill held: block on hel\*, by ops/)
    expect(JSON.parse(other.stderr).error.code).toBe('JOB_FAILED')
    expect(held.jobs[0].state).toBe('ready')
    expect(unblocked.stdout).toBe('Unblocked hel*.\n')
    expect(JSON.parse(waited.stdout)).toEqual({ text: 'Hello, Bob!' })
  })

  it('ask before they hold a whole space or every space', async () => {
    const { cwd } = await withJobs('hello')

    const nobody = await skep(['queues', 'pause', '--all'], { cwd })
    const none = json(await skep(['queues', '--json'], { cwd }))
    const space = await skep(['queues', 'pause', '--all', '--yes'], { cwd })
    const everywhere = await skep(['queues', 'block', '--everywhere', '-y'], { cwd })
    const other = json(await skep(['queues', '--space', 'other', '--json'], { cwd }))
    const resumed = await skep(['queues', 'unblock', '--everywhere'], { cwd })

    expect(nobody.code).toBe(2)
    expect(nobody.stderr).toContain('Pause space default?')
    expect(none.holds).toEqual([])
    expect(space.stdout).toBe('Paused space default.\n')
    expect(everywhere.stdout).toBe('Blocked every space.\n')
    expect(other.holds).toMatchObject([{ kind: 'block', space: null, queue: null }])
    expect(resumed.stdout).toBe('Unblocked every space.\n')
  })

  it('take a lane, note a queue that is not there, and refuse what makes no sense', async () => {
    const { cwd } = await withJobs('hello')

    const lane = await skep(['queues', 'pause', 'helo', '--lane', 'acme'], { cwd })
    const usual = await skep(['queues', 'resume', 'hello', '--default-lane'], { cwd })
    const wrong = [
      ['pause'],
      ['puase', 'hello'],
      ['pause', 'hello', '--all'],
      ['pause', 'hello', 'bad', '--lane', 'a'],
      ['pause', 'hello', '--for', 'soon'],
      ['pause', 'hello', '--concurrency', '1'],
      ['resume', 'hello', '--reason', 'x'],
      ['pause', 'not a name'],
      ['list', '--by', 'me'],
    ]
    const codes: (number | null)[] = []
    for (const args of wrong) codes.push((await skep(['queues', ...args], { cwd })).code)
    const { holds } = json(await skep(['queues', '--json'], { cwd }))

    expect(lane.stdout).toBe('Paused lane "acme" of helo.\n')
    expect(lane.stderr).toContain('There is no queue "helo" yet')
    expect(usual.stdout).toBe('There was no pause on the default lane of hello.\n')
    expect(codes).toEqual(wrong.map(() => 2))
    expect(holds).toMatchObject([{ queue: 'helo', lane: 'acme' }])
  })
})

describe('skep queues drain', () => {
  it('waits for what runs, and gives up after its time with the pause in place', async () => {
    const { cwd } = await withJobs('slow', 'hello')
    const worker = start(['worker'], { cwd })
    await worker.until(/slow began/)

    const late = await skep(['queues', 'drain', 'slow', '--timeout', '200ms', '--json'], { cwd })
    const idle = await skep(['queues', 'drain', 'bad'], { cwd })
    const drain = start(['queues', 'drain', 'slow', '--json'], { cwd })
    const queues = json(await skep(['queues', '--json'], { cwd })).queues
    worker.child.kill('SIGKILL')
    // The next worker takes back what the dead one had, and may not start it.
    const next = start(['worker', '--json'], { cwd })
    const drained = await drain.ended
    next.child.kill('SIGTERM')

    expect(late.code).toBe(1)
    expect(JSON.parse(late.stderr).error.code).toBe('DRAIN_TIMEOUT')
    expect(idle.stdout).toBe('Drained bad: 0 jobs ended, 0 ready, 0 delayed.\n')
    expect(queues.find(({ queue }: any) => queue === 'slow')).toMatchObject({ hold: 'pause', running: 1 })
    expect(JSON.parse(drained.stdout)).toMatchObject({ action: 'drain', queue: 'slow', ended: 1 })
  })
})

describe('skep queues limits', () => {
  it('shows, changes and takes back limits of queues, lanes and what is shared', async () => {
    const { cwd } = await withJobs('hello')
    const limits = (...args: string[]): Promise<Ended> => skep(['queues', 'limits', ...args], { cwd })

    const none = await limits()
    const set = await limits(
      'hello',
      '--concurrency',
      '5',
      '--rate',
      '100/1m',
      '--burst',
      '7',
      '--shared',
      'api',
    )
    const lane = await limits('hello', '--lane', 'acme', '--weight', '3', '--json')
    await limits('--shared', 'api', '--concurrency', '2')
    const shown = await limits()
    const listed = json(await limits('hello', '--json'))
    const reset = await limits('hello', '--reset')
    const wrong = [
      await limits('--concurrency', '5'),
      await limits('hello', '--rate', 'fast'),
      await limits('hello', '--burst', '5'),
      await limits('hello', '--reset', '--concurrency', '5'),
      await limits('hello', '--concurrency', '0'),
    ]

    expect(none.stderr).toContain('No limits')
    expect(set.stdout).toBe('hello: 5 at once, 100/1m (burst 7), shares api\n')
    expect(json(lane).limit).toMatchObject({
      target: { queue: 'hello', lane: 'acme' },
      limits: { weight: 3 },
    })
    expect(shown.stdout).toMatch(/^shared api +2 at once +nothing$/m)
    expect(listed.limits.map(({ limits: said }: any) => said)).toEqual([
      { concurrency: 5, rate: { limit: 100, per: 60_000, burst: 7 }, shared: 'api' },
      { weight: 3 },
    ])
    expect(reset.stdout).toBe('hello: no limits\n')
    expect(wrong.map(({ code }) => code)).toEqual(wrong.map(() => 2))
  })
})

describe('skep queues get', () => {
  it('shows everything about one queue', async () => {
    const { cwd } = await withJobs('hello')
    await skep(['queues', 'pause', 'hello', '--by', 'ada', '--reason', 'quota'], { cwd })
    await skep(['queues', 'limits', 'hello', '--concurrency', '4'], { cwd })

    const text = await skep(['queues', 'get', 'hello'], { cwd })
    const data = json(await skep(['queues', 'get', 'hello', '--json'], { cwd }))
    const missing = await skep(['queues', 'get', 'nothing'], { cwd })
    const two = await skep(['queues', 'get', 'hello', 'other'], { cwd })

    expect(text.stdout).toMatch(
      /^queue +hello\njobs +\d+ ready\noldest .*\nheld +pause on hello, by ada.*: quota\nwaits +1 job waits: the queue is paused by "ada": "quota"\.\n +1 job waits: no live worker handles this queue\.\nlimits +hello: 4 at once\nworkers +none.*\n$/,
    )
    expect(data).toMatchObject({
      queue: 'hello',
      hold: 'pause',
      limits: [{ limits: { concurrency: 4 } }],
      workers: [],
    })
    expect([missing.code, two.code]).toEqual([3, 2])
  })
})

describe('skep jobs explain', () => {
  it('says why a job is not running', async () => {
    const { cwd, ids } = await withJobs('hello')
    const [id = ''] = ids
    await skep(['queues', 'pause', 'hello', '--by', 'ada', '--reason', 'quota'], { cwd })

    const text = await skep(['jobs', 'explain', id], { cwd })
    const data = await skep(['jobs', 'explain', id, UNKNOWN, '--json'], { cwd })
    const none = await skep(['jobs', 'explain'], { cwd })

    expect(text.stdout).toMatch(/ hello ready\n {2}held .*Queue "hello" is paused by "ada": "quota"/)
    expect(text.stdout).toMatch(/\n {2}no-worker +No worker handles this queue\.\n$/)
    expect(text.code).toBe(0)
    expect(json(data).jobs.map(({ state, causes }: any) => [state, causes[0].cause])).toEqual([
      ['ready', 'held'],
      [null, 'unknown-job'],
    ])
    expect(data.code).toBe(3)
    expect(none.code).toBe(2)
  })
})

describe('skep spaces', () => {
  it('lists the spaces that have jobs', async () => {
    const { cwd } = await withJobs('hello', 'bad')
    await skep(['enqueue', 'hello', '-d', '{"name":"Ada"}', '--space', 'acme'], { cwd })

    const shown = await skep(['spaces'], { cwd })
    const { spaces } = json(await skep(['spaces', '--json'], { cwd }))

    expect(shown.stdout).toMatch(
      /^SPACE +QUEUES +WAITING +RUNNING +FINISHED +DEAD\nacme +1 +1 .*\ndefault +2 +2 /,
    )
    expect(spaces).toMatchObject([
      { space: 'acme', queues: 1, waiting: 1 },
      { space: 'default', queues: 2, waiting: 2 },
    ])
    expect((await skep(['spaces', 'acme'], { cwd })).code).toBe(2)
  })
})

import { describe, expect, it } from 'vitest'
import { type Holdable, type HoldOptions, queue, sharedLimit } from '../../src/index.ts'
import { newJob, newJobs } from '../support/new-job.ts'
import { codeOf, gate, openScene, type Scene } from '../worker/support/scene.ts'

const mail = queue<unknown, unknown>('mail.send')
const letters = queue<unknown, unknown>('mail.print')
const report = queue<unknown, unknown>('report')

/** A worker of all queues that never looks by itself: only hints and timers make it. */
async function deaf(scene: Scene, started: string[] = []): Promise<string[]> {
  const worker = scene.skep.worker(
    [mail, letters, report].map((one) =>
      one.handle(({ id }) => {
        started.push(id)
      }),
    ),
    { poll: '1d' },
  )
  await worker.ready
  await scene.advance(1_000)
  return started
}

/** How often the store was asked for jobs. */
function claims(scene: Scene): number {
  return scene.faults.calls.filter(
    ({ operation, argument }) =>
      operation === 'claim' || (operation === 'settle' && (argument as { claim?: unknown }).claim),
  ).length
}

describe('pause', () => {
  it('lets what runs finish, and starts nothing else until it is resumed', async () => {
    const scene = openScene()
    const open = gate()
    const started: unknown[] = []
    const handler = mail.handle(async ({ payload }) => {
      started.push(payload)
      await open.promise
      return payload
    })
    await scene.skep.worker([handler], { concurrency: 1 }).ready
    const [first, second] = await scene.skep.enqueueMany(mail, ['first', 'second'])
    await scene.until(() => started.length === 1)

    await scene.skep.queues.pause(mail, { reason: 'smtp is down', by: 'ada' })
    open.open()
    expect(await scene.through(first!.result())).toBe('first')
    await scene.advance(60_000)
    expect(started).toEqual(['first'])
    expect(await scene.state(second!.id)).toBe('ready')

    await scene.skep.queues.resume(mail)
    expect(await scene.through(second!.result())).toBe('second')
  })

  it('that is taken away wakes an idle worker by a hint alone', async () => {
    const scene = openScene()
    const started = await deaf(scene)
    await scene.skep.queues.pause(mail)
    const job = await scene.skep.enqueue(mail, 1)
    await scene.advance(60_000)
    expect(started).toEqual([])

    await scene.skep.queues.resume(mail)
    await scene.runtime.settle()
    await scene.advance(10)

    expect(started).toEqual([job.id])
  })

  it.each<[string, Holdable]>([
    ['a pattern', 'mail.*'],
    ['the space', {}],
    ['everything', { everywhere: true }],
    ['a pattern everywhere', { everywhere: true, queue: 'm*send' }],
    ['a lane', { queue: mail, lane: '' }],
  ])('on %s is taken away with a hint to those it is about', async (_name, target) => {
    const scene = openScene()
    const started = await deaf(scene)
    await scene.skep.queues.pause(target)
    const job = await scene.skep.enqueue(mail, 1)
    await scene.advance(60_000)
    expect(started).toEqual([])

    expect(await scene.skep.queues.resume(target)).toEqual({ released: true, holds: [] })
    await scene.advance(10)

    expect(started).toEqual([job.id])
  })

  it('that has an end is over on time, without a poll and without asking in between', async () => {
    const scene = openScene()
    const started = await deaf(scene)
    await scene.skep.queues.pause(mail, { for: '1h' })
    const job = await scene.skep.enqueue(mail, 1)
    await scene.advance(1_000)
    const asked = claims(scene)

    await scene.advance(3_600_000 - 1_000 - 1)
    expect(started).toEqual([])
    expect(claims(scene)).toBe(asked)
    await scene.advance(5)

    expect(started).toEqual([job.id])
    expect(await scene.skep.queues.holds()).toEqual([])
  })

  it('can be given an earlier end, and then ends then', async () => {
    const scene = openScene()
    const started = await deaf(scene)
    await scene.skep.queues.pause(mail, { for: '1h' })
    const job = await scene.skep.enqueue(mail, 1)
    await scene.advance(1_000)

    await scene.skep.queues.pause(mail, { for: '1m' })
    await scene.advance(60_005)

    expect(started).toEqual([job.id])
  })

  it('holds what is delayed and comes due, and what is retried', async () => {
    const scene = openScene()
    const started = await deaf(scene)
    const late = await scene.skep.enqueue(mail, 1, { delay: '5s' })
    await scene.skep.queues.pause(mail)
    await scene.advance(60_000)
    expect(started).toEqual([])

    await scene.skep.queues.resume(mail)
    await scene.advance(10)

    expect(started).toEqual([late.id])
  })

  it('is about its target alone', async () => {
    const scene = openScene()
    const started = await deaf(scene)
    await scene.skep.queues.pause('mail.*')

    const held = await scene.skep.enqueue(mail, 1)
    await scene.skep.enqueue(letters, 1)
    const free = await scene.skep.enqueue(report, 1)
    await scene.advance(10_000)

    expect(started).toEqual([free.id])
    expect(await scene.state(held.id)).toBe('ready')
  })

  it('on a lane leaves the other lanes alone', async () => {
    const scene = openScene()
    const started = await deaf(scene)
    const space = 'default'
    await scene.skep.queues.pause({ queue: 'report', lane: 'ada' })
    const [held, free] = [
      newJob({ space, queue: 'report', lane: 'ada' }),
      newJob({ space, queue: 'report', lane: 'bob' }),
    ]
    await scene.truth.insert({ jobs: [held, free] })
    scene.notifier.tell({ kind: 'sync' })
    await scene.advance(10)
    expect(started).toEqual([free.id])

    await scene.skep.queues.resume({ queue: 'report', lane: 'ada' })
    await scene.advance(10)

    expect(started).toEqual([free.id, held.id])
  })

  it('costs the same however much waits, both ways', async () => {
    const scene = openScene()
    await scene.truth.insert({ jobs: newJobs(3_000, { space: 'default', queue: 'report' }) })
    const asked = scene.faults.calls.length

    await scene.skep.queues.pause(report)
    await scene.skep.queues.resume(report)

    // Neither lists nor changes jobs, so nothing of it grows with them.
    const operations = scene.faults.calls.slice(asked).map(({ operation }) => operation)
    expect(operations.filter((one) => ['list', 'change', 'get', 'claim', 'insert'].includes(one))).toEqual([])
  })

  it('repeated keeps its beginning and takes the new reason; resumed nine times it releases once', async () => {
    const scene = openScene()
    const started = await deaf(scene)
    await scene.skep.queues.pause(mail, { reason: 'first', by: 'ada' })
    const since = new Date(scene.runtime.now())
    await scene.advance(5_000)

    const again = await scene.skep.queues.pause(mail, { reason: 'second' })
    const job = await scene.skep.enqueue(mail, 1)
    const released: boolean[] = []
    for (let i = 0; i < 9; i++) released.push((await scene.skep.queues.resume(mail)).released)
    await scene.advance(10_000)

    expect(again.holds).toMatchObject([{ kind: 'pause', reason: 'second', by: null, since, until: null }])
    expect(released.filter(Boolean)).toHaveLength(1)
    expect(started).toEqual([job.id])
  })
})

describe('pause and block', () => {
  it.each<['pause' | 'block', 'resume' | 'unblock']>([
    ['pause', 'resume'],
    ['pause', 'unblock'],
    ['block', 'resume'],
    ['block', 'unblock'],
  ])(
    'put in the order that begins with %s are both there after one %s, less that one',
    async (first, end) => {
      const scene = openScene()
      const started = await deaf(scene)
      const second = first === 'pause' ? 'block' : 'pause'
      await scene.skep.queues[first](mail)
      await scene.skep.queues[second](mail)
      const job = await scene.skep.enqueue(mail, 1)

      const { holds } = await scene.skep.queues[end](mail)
      await scene.advance(20_000)
      expect(holds.map(({ kind }) => kind)).toEqual([end === 'resume' ? 'block' : 'pause'])
      expect(started).toEqual([])
      await scene.skep.queues[end === 'resume' ? 'unblock' : 'resume'](mail)
      await scene.advance(10)

      expect(started).toEqual([job.id])
    },
  )

  it('are shown with the counts, a block before a pause, with what is behind', async () => {
    const scene = openScene()
    for (const one of [mail, letters, report]) await scene.skep.enqueue(one, 1)
    await scene.skep.queues.pause(mail, { by: 'ada', reason: 'quota' })
    await scene.skep.queues.pause(letters)
    await scene.skep.queues.block('*print', { by: 'ops' })

    const counts = await scene.skep.queues.list([mail, letters, report])

    expect(counts.map(({ queue: name, hold, ready }) => [name, hold, ready])).toEqual([
      ['mail.send', 'pause', 1],
      ['mail.print', 'block', 1],
      ['report', null, 1],
    ])
    expect(counts[0]?.holds).toMatchObject([{ kind: 'pause', by: 'ada', reason: 'quota' }])
    expect(counts[1]?.holds.map(({ kind, queue: on }) => [kind, on])).toEqual([
      ['block', '*print'],
      ['pause', 'mail.print'],
    ])
  })

  it('say what still stands on the target: of the other kind, and on something wider', async () => {
    const scene = openScene()
    await scene.skep.queues.pause(mail)
    await scene.skep.queues.pause('mail.*')
    await scene.skep.queues.block({ everywhere: true })
    await scene.skep.queues.pause({ queue: mail, lane: 'ada' })
    const on = (holds: readonly { kind: string; queue: string | null }[]): string[] =>
      holds.map(({ kind, queue: name }) => `${kind} ${name}`).sort()

    const queueLeft = await scene.skep.queues.resume(mail)
    const patternLeft = await scene.skep.queues.resume('mail.s*')
    const laneLeft = await scene.skep.queues.resume({ queue: mail, lane: 'bob' })
    const everywhere = await scene.skep.queues.unblock({ everywhere: true })

    expect(on(queueLeft.holds)).toEqual(['block null', 'pause mail.*'])
    expect(patternLeft.released).toBe(false)
    expect(on(patternLeft.holds)).toEqual(['block null', 'pause mail.*'])
    expect(on(laneLeft.holds)).toEqual(['block null', 'pause mail.*'])
    expect(everywhere).toEqual({ released: true, holds: [] })
  })
})

describe('holds', () => {
  it('lists those of the space and those on every space', async () => {
    const scene = openScene()
    await scene.truth.hold({
      holds: [{ kind: 'pause', space: 'other', queue: 'x', lane: null, reason: null, by: null, forMs: null }],
    })
    await scene.skep.queues.block({ everywhere: true }, { reason: 'migration' })
    await scene.advance(10)
    await scene.skep.queues.pause(mail, { for: '1m' })

    const holds = await scene.skep.queues.holds()

    expect(holds.map(({ kind, space, queue: on }) => [kind, space, on])).toEqual([
      ['block', null, null],
      ['pause', 'default', 'mail.send'],
    ])
    expect(holds[1]?.until).toEqual(new Date(scene.runtime.now() + 60_000))
  })

  it.each<[string, unknown, HoldOptions | Record<string, unknown>, string]>([
    ['no target', undefined, {}, 'OPTION_INVALID'],
    ['an empty pattern', '', {}, 'NAME_INVALID'],
    ['a pattern with blanks', 'mail *', {}, 'NAME_INVALID'],
    ['an unknown key', { queu: 'mail' }, {}, 'OPTION_INVALID'],
    ['a queue that turned out empty', { queue: undefined }, {}, 'OPTION_INVALID'],
    ['a lane that turned out empty', { queue: 'mail', lane: undefined }, {}, 'OPTION_INVALID'],
    ['a lane without a queue', { lane: 'a' }, {}, 'OPTION_INVALID'],
    ['a lane of a pattern', { queue: 'mail.*', lane: 'a' }, {}, 'NAME_INVALID'],
    ['a lane of every space', { queue: 'mail', lane: 'a', everywhere: true }, {}, 'OPTION_INVALID'],
    ['a lane that is no key', { queue: 'mail', lane: '\n' }, {}, 'KEY_INVALID'],
    ['a shared limit', sharedLimit('smtp', {}), {}, 'OPTION_INVALID'],
    ['a list', ['mail'], {}, 'OPTION_INVALID'],
    ['a reason that is too long', 'mail', { reason: 'ä'.repeat(2_049) }, 'OPTION_INVALID'],
    ['a name that is no text', 'mail', { by: 7 }, 'OPTION_INVALID'],
    ['a reason no store can keep', 'mail', { reason: 'a\0b' }, 'OPTION_INVALID'],
    ['a time that is none', 'mail', { for: 'soon' }, 'DURATION_INVALID'],
    ['no time at all', 'mail', { for: 0 }, 'OPTION_INVALID'],
    ['an unknown option', 'mail', { until: 5 }, 'OPTION_INVALID'],
  ])('refuses %s before anything is written', async (_name, target, options, code) => {
    const scene = openScene()

    expect(await codeOf(scene.skep.queues.pause(target as Holdable, options as HoldOptions))).toBe(code)

    expect((await scene.truth.holds({})).holds).toEqual([])
  })
})

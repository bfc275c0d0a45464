import { describe, expect, it } from 'vitest'
import { never, queue } from '../../src/index.ts'
import { codeOf, openScene, type Scene } from '../worker/support/scene.ts'

const mail = queue<string>('mail', { onError: never() })
const NONE = { delayed: 0, ready: 0, done: 0, failed: 0, dead: 0, cancelled: 0 }

/** Two done, one dead, one that runs, three ready and one delayed. */
async function fill(scene: Scene): Promise<void> {
  await scene.skep.enqueueMany(mail, ['a', 'b', 'bad'])
  const worker = scene.skep.worker([
    mail.handle(({ payload }) => {
      if (payload === 'bad') throw new Error('no such street')
    }),
  ])
  await scene.until(async () => (await scene.counts('mail')).dead === 1)
  await scene.through(worker.stop())
  await scene.skep.enqueue(mail, 'runs')
  await scene.truth.claim({
    sources: [{ space: 'default', queue: 'mail', limit: 1 }],
    limit: 1,
    workerId: 'somebody',
    token: scene.runtime.uuid(),
    leaseMs: 3_600_000,
  })
  await scene.skep.enqueueMany(mail, ['x', 'y', 'urgent'])
  await scene.skep.enqueue(mail, 'later', { delay: '1h' })
}

describe('purge', () => {
  it('removes all that does not run, and says how many of each', async () => {
    const scene = openScene()
    await fill(scene)

    const summary = await scene.skep.queues.purge(mail)

    const states = { ...NONE, done: 2, dead: 1, ready: 3, delayed: 1 }
    expect(summary).toEqual({ queue: 'mail', dryRun: false, jobs: 7, states, running: 1 })
    expect(await scene.counts('mail')).toEqual({ running: 1 })
  })

  it.each([
    ['everything', {}],
    ['some states', { state: ['ready', 'dead'] }],
    ['one state, named twice', { state: ['ready', 'ready'] }],
    ['a text', { text: 'urgent' }],
    ['a text in a failure', { text: 'no such street' }],
    ['a time', { before: new Date(8.64e15) }],
    ['nothing', { before: new Date(0) }],
  ] as const)(
    'a dry run counts exactly what it would remove, and changes nothing: %s',
    async (_name, options) => {
      const scene = openScene()
      await fill(scene)
      const before = await scene.counts('mail')
      const changes = scene.faults.count('change')

      const dry = await scene.skep.queues.purge('mail', { ...options, dryRun: true })
      expect(await scene.counts('mail')).toEqual(before)
      expect(scene.faults.count('change')).toBe(changes)
      const wet = await scene.skep.queues.purge('mail', options)

      expect(wet).toEqual({ ...dry, dryRun: false })
      expect(wet.running).toBe(1)
    },
  )

  it('reads no jobs to count them', async () => {
    const scene = openScene()
    await fill(scene)

    await scene.skep.queues.purge(mail, { dryRun: true })
    await scene.skep.queues.purge(mail, { dryRun: true, text: 'x' })

    expect(scene.faults.count('list')).toBe(0)
  })

  it('of many jobs removes them all', async () => {
    const scene = openScene()
    await scene.skep.enqueueMany(
      mail,
      Array.from({ length: 2_300 }, (_, n) => `${n}`),
    )

    expect(await scene.skep.queues.purge(mail)).toMatchObject({ jobs: 2_300, states: { ready: 2_300 } })
    expect(await scene.counts('mail')).toEqual({})
  })

  it('touches no other queue, and of one that is not there nothing', async () => {
    const scene = openScene()
    const other = queue<string>('other')
    await scene.skep.enqueue(other, 'a')

    expect(await scene.skep.queues.purge(mail)).toMatchObject({ jobs: 0, running: 0 })
    expect(await scene.skep.queues.purge('mail', { dryRun: true })).toMatchObject({ jobs: 0, running: 0 })
    expect(await scene.counts('other')).toEqual({ ready: 1 })
  })

  it('refuses running jobs, states and names that are none, before it removes anything', async () => {
    const scene = openScene()
    await fill(scene)
    const changes = scene.faults.count('change')

    for (const state of [['ready', 'running'], 'broken'] as const) {
      expect(await codeOf(scene.skep.queues.purge(mail, { state: state as 'ready' }))).toBe('OPTION_INVALID')
    }
    expect(await codeOf(scene.skep.queues.purge('a b'))).toBe('NAME_INVALID')
    expect(scene.faults.count('change')).toBe(changes)
  })
})

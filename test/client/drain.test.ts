import { describe, expect, it } from 'vitest'
import { fixed, queue, retry } from '../../src/index.ts'
import { claimAndDie } from '../worker/support/dead-worker.ts'
import { codeOf, type Gate, gate, openScene, type Scene } from '../worker/support/scene.ts'

const mail = queue<string, unknown>('mail', { onError: retry(3, fixed('1m')) })

/** Two jobs that run until the gate opens, one that waits for a slot and one that is delayed. */
async function busy(scene: Scene): Promise<Gate<unknown>> {
  const open = gate<unknown>()
  let running = 0
  const handler = mail.handle(async () => {
    running++
    await open.promise
  })
  await scene.skep.worker([handler], { concurrency: 2 }).ready
  await scene.skep.enqueueMany(mail, ['a', 'b'])
  await scene.until(() => running === 2)
  await scene.skep.enqueue(mail, 'c')
  await scene.skep.enqueue(mail, 'd', { delay: '1h' })
  return open
}

describe('drain', () => {
  it('pauses the queue, waits for what runs, and tells what waits', async () => {
    const scene = openScene()
    const open = await busy(scene)
    let over = false
    const drained = scene.skep.queues.drain(mail, { reason: 'deploy', by: 'ada' }).then((summary) => {
      over = true
      return summary
    })
    await scene.advance(30_000)
    expect(over).toBe(false)

    open.open(1)
    const summary = await scene.through(drained)

    expect(summary).toMatchObject({ ended: 2, ready: 1, delayed: 1, holds: [{ kind: 'pause', by: 'ada' }] })
    expect(await scene.counts('mail')).toEqual({ done: 2, ready: 1, delayed: 1 })
    expect(scene.notifier.subscribers).toBe(1)
  })

  it('is told by a hint, and does not wait for its next look', async () => {
    const scene = openScene()
    const open = await busy(scene)
    let overAt = 0
    const drained = scene.skep.queues.drain('mail').then(() => {
      overAt = scene.runtime.mono()
    })
    // Right after a look, so that the next one is almost two seconds away.
    await scene.advance(2_001)
    const openedAt = scene.runtime.mono()

    open.open(1)
    await scene.through(drained)

    expect(overAt - openedAt).toBeLessThan(1_000)
  })

  it('looks by itself when hints are lost', async () => {
    const scene = openScene()
    const open = await busy(scene)
    const drained = scene.skep.queues.drain('mail')
    await scene.advance(100)
    scene.notifier.blackHole = true

    open.open(1)

    expect(await scene.through(drained, 10_000)).toMatchObject({ ended: 2 })
  })

  it('counts what goes back to wait as ended', async () => {
    const scene = openScene()
    const open = await busy(scene)
    const drained = scene.skep.queues.drain('mail')
    await scene.advance(100)

    open.fail(new Error('no'))

    expect(await scene.through(drained)).toMatchObject({ ended: 2, ready: 1, delayed: 3 })
  })

  it('of an idle queue is over at once', async () => {
    const scene = openScene()
    await scene.skep.enqueue(mail, 'a')

    expect(await scene.skep.queues.drain(mail)).toMatchObject({ ended: 0, ready: 1, delayed: 0 })
  })

  it('gives up after its time, names what runs, and leaves the pause', async () => {
    const scene = openScene()
    const open = await busy(scene)

    const failed = scene.skep.queues.drain(mail, { timeout: '5s' })
    const code = codeOf(failed)

    expect(await scene.through(code)).toBe('DRAIN_TIMEOUT')
    await expect(failed).rejects.toMatchObject({ facts: { queue: 'mail', timeoutMs: 5_000 } })
    const { facts } = (await failed.catch((error: unknown) => error)) as { facts: { running: string[] } }
    expect(facts.running).toHaveLength(2)
    expect((await scene.skep.queues.list([mail]))[0]?.hold).toBe('pause')
    open.open(1)
  })

  it('ends with the reason of its signal, and with the Skep', async () => {
    const scene = openScene()
    await scene.skep.enqueue(mail, 'a')
    await claimAndDie(scene)
    const stop = new AbortController()
    const other = scene.client()
    const first = scene.skep.queues.drain(mail, { signal: stop.signal })
    const second = codeOf(other.queues.drain(mail))
    await scene.advance(3_000)

    stop.abort(new Error('enough'))
    await other.close()

    await expect(first).rejects.toThrow('enough')
    expect(await second).toBe('CLOSED')
    expect(scene.notifier.subscribers).toBe(0)
  })

  it('waits through an outage of the store', async () => {
    const scene = openScene()
    await scene.skep.enqueue(mail, 'a')
    await claimAndDie(scene)
    const drained = scene.skep.queues.drain(mail)
    await scene.advance(100)
    scene.faults.break('before', ['counts'])
    await scene.advance(10_000)
    scene.faults.heal()

    const { jobs } = await scene.truth.list({
      space: 'default',
      queue: 'mail',
      state: 'running',
      limit: 1,
      cursor: null,
    })
    const { space, id, token } = jobs[0] as { space: string; id: string; token: string }
    await scene.truth.settle({
      settlements: [
        {
          space,
          id,
          token,
          verdict: { to: 'done', keepMs: 1_000, delayMs: 0, result: null, failure: null } as never,
        },
      ],
    })

    expect(await scene.through(drained)).toMatchObject({ ended: 1 })
  })

  it('refuses a pattern and options it does not know, before anything is written', async () => {
    const scene = openScene()

    expect(await codeOf(scene.skep.queues.drain('mail.*'))).toBe('NAME_INVALID')
    expect(await codeOf(scene.skep.queues.drain('mail', { for: '1h' } as object))).toBe('OPTION_INVALID')
    expect(await codeOf(scene.skep.queues.drain('mail', { timeout: 'x' as '1s' }))).toBe('DURATION_INVALID')

    expect(await scene.skep.queues.holds()).toEqual([])
  })
})

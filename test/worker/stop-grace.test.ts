import { describe, expect, it } from 'vitest'
import { bury, cancel, fixed, type Handler, queue, rateLimited, retry, snooze } from '../../src/index.ts'
import { aborted, openScene, type Scene } from './support/scene.ts'

const mail = queue<number, number>('mail', { onError: retry(0, fixed(0)) })

/** A handler that needs this long to clean up after its signal aborted, and then ends like this. */
function cleansUp(scene: Scene, ms: number, end: () => unknown, seen: string[] = []): Handler {
  return mail.handle(async ({ signal, attempt }) => {
    seen.push(`start ${attempt}`)
    if (attempt > 1) return 0
    await aborted(signal)
    await new Promise<void>((resolve) => void scene.runtime.timer(ms, resolve))
    seen.push(`end ${attempt}`)
    return end() as number
  })
}

describe('a handler whose signal aborts because its worker stops', () => {
  it('is alone with its job until it has ended, and an error costs no retry', async () => {
    const scene = openScene()
    const seen: string[] = []
    const failing = cleansUp(
      scene,
      2_000,
      () => {
        throw new Error('Aborted.')
      },
      seen,
    )
    const job = await scene.skep.enqueue(mail, 1)
    const worker = scene.skep.worker([failing], { drain: '1s' })
    await scene.until(() => seen.length === 1)
    await scene.client(scene.truth).worker([failing]).ready

    await scene.through(worker.stop(), 5_000)
    await scene.until(async () => (await scene.state(job.id)) === 'done')

    expect(seen).toEqual(['start 1', 'end 1', 'start 2'])
    expect(await scene.job(job.id)).toMatchObject({ errors: 0, lost: 0, starts: 2 })
    expect(scene.toldOf(job.id)).not.toContain('error')
    expect(scene.logged('warn', /signal/)).toBe(false)
  })

  it.each<[string, () => unknown, object]>([
    ['a value', () => 7, { state: 'done', result: '7' }],
    ['a snooze', () => snooze('1h'), { state: 'delayed', snoozes: 1 }],
    ['a rate limit', () => rateLimited('1h'), { state: 'ready', starts: 0 }],
    ['a cancel', () => cancel('enough'), { state: 'cancelled' }],
    ['a burial', () => bury('broken'), { state: 'dead' }],
  ])('has its outcome saved: %s', async (_name, end, expected) => {
    const scene = openScene()
    const seen: string[] = []
    const job = await scene.skep.enqueue(mail, 1)
    const worker = scene.skep.worker([cleansUp(scene, 3_000, end, seen)], { drain: 0 })
    await scene.until(() => seen.length === 1)

    await scene.through(worker.stop(), 6_000)

    expect(await scene.job(job.id)).toMatchObject(expected)
  })

  it('keeps its lease while it ends', async () => {
    const scene = openScene()
    const seen: string[] = []
    const handler = cleansUp(scene, 20_000, () => 7, seen)
    const job = await scene.skep.enqueue(mail, 1)
    const worker = scene.skep.worker([handler], { lease: '3s', drain: 0, grace: '30s' })
    await scene.until(() => seen.length === 1)
    await scene.client(scene.truth).worker([handler], { lease: '3s' }).ready

    await scene.through(worker.stop(), 25_000)

    expect(seen).toEqual(['start 1', 'end 1'])
    expect(await scene.job(job.id)).toMatchObject({ state: 'done', result: '7' })
  })

  it('is not waited for longer than the grace, and its job is handed back', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 1)
    const worker = scene.skep.worker([mail.handle(() => new Promise<number>(() => {}))], {
      drain: '1s',
      grace: '2s',
    })
    await scene.until(async () => (await scene.state(job.id)) === 'running')
    const before = scene.runtime.mono()

    const stopped = worker.stop()
    await scene.advance(2_900)
    expect(await scene.state(job.id)).toBe('running')
    await scene.through(stopped)

    expect(scene.runtime.mono() - before).toBeLessThan(4_000)
    expect(await scene.job(job.id)).toMatchObject({ state: 'ready', errors: 0, timeouts: 0, lost: 0 })
    expect(worker.health().zombies).toBe(1)
    expect(scene.logged('warn', new RegExp(`${job.id}.*mail.*signal`))).toBe(true)
  })

  it('gets the grace of the stop itself, and a second stop can end it', async () => {
    const scene = openScene()
    const [first, second] = await scene.skep.enqueueMany(mail, [1, 2])
    const deaf = mail.handle(() => new Promise<number>(() => {}))
    const one = scene.skep.worker([deaf], { concurrency: 1 })
    await scene.until(async () => (await scene.state(first!.id)) === 'running')
    const before = scene.runtime.mono()

    await scene.through(one.stop({ drain: 0, grace: '1s' }))
    expect(scene.runtime.mono() - before).toBeLessThan(2_000)

    const other = scene.skep.worker([deaf], { concurrency: 2, grace: '1h' })
    await scene.until(async () => (await scene.state(second!.id)) === 'running')
    const stopped = other.stop({ drain: 0 })
    await scene.advance(60_000)
    expect(await scene.counts('mail')).toEqual({ running: 2 })
    await scene.through(other.stop({ drain: 0, grace: 0 }), 1_000)
    await stopped
    expect(await scene.counts('mail')).toEqual({ ready: 2 })
  })

  it('refuses options that it does not know', async () => {
    const scene = openScene()
    const worker = scene.skep.worker([mail.handle(() => 1)])

    expect(() => worker.stop({ timeout: '1s' } as object)).toThrow(/timeout/)
  })

  it('lets nobody else start a strict lane beside it', async () => {
    const scene = openScene()
    const line = queue<number, number>('line', { order: 'strict' })
    let live = 0
    let most = 0
    const handler = line.handle(async ({ payload, signal, attempt }) => {
      most = Math.max(most, ++live)
      if (payload === 0 && attempt === 1) {
        await aborted(signal)
        await new Promise<void>((resolve) => void scene.runtime.timer(3_000, resolve))
      }
      live--
      signal.throwIfAborted()
      return payload
    })
    await scene.skep.enqueueMany(line, [0, 1, 2])
    const worker = scene.skep.worker([handler], { drain: 0 })
    await scene.until(() => live === 1)
    await scene.client(scene.truth).worker([handler]).ready

    await scene.through(worker.stop())
    await scene.until(async () => (await scene.counts('line')).done === 3)

    expect(most).toBe(1)
  })
})

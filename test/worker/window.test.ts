import { describe, expect, it } from 'vitest'
import { queue } from '../../src/index.ts'
import { type Gate, gate, openScene, type Scene } from './support/scene.ts'

const mail = queue<string>('mail')

/** A worker with one slot that has seen many quick jobs, so it claims ahead, and now hangs in a slow one. */
async function stuckWorker(scene: Scene): Promise<{ slow: Gate<void>; waiting: string[]; ran: string[] }> {
  const slow = gate()
  const ran: string[] = []
  const quick = Array.from({ length: 30 }, (_, n) => `quick ${n}`)
  await scene.skep.enqueueMany(mail, [...quick, 'slow'])
  const handler = mail.handle(async ({ payload }) => {
    await new Promise<void>((resolve) => void scene.runtime.timer(2, resolve))
    if (payload === 'slow') await slow.promise
    else ran.push(payload)
  })
  const worker = scene.skep.worker([handler], { concurrency: 1 })
  await scene.until(() => ran.length === 5)
  const jobs = await scene.skep.enqueueMany(mail, ['a', 'b', 'c'])
  await scene.until(() => worker.health().buffered === 3 && ran.length === 30)
  return { slow, waiting: jobs.map(({ id }) => id), ran }
}

describe('the window', () => {
  it('claims ahead when handlers are quick', async () => {
    const scene = openScene()

    await stuckWorker(scene)

    expect(await scene.counts('mail')).toEqual({ done: 30, running: 4 })
  })

  it('takes a bounded number in one claim, however many slots are free', async () => {
    const scene = openScene()
    await scene.skep.enqueueMany(mail, Array.from({ length: 2_500 }, String))
    let running = 0
    const handler = mail.handle(() => {
      running++
      return new Promise<void>(() => {})
    })

    scene.skep.worker([handler], { concurrency: 5_000, drain: 0 })
    await scene.until(() => running === 2_500)

    expect(Math.max(...scene.faults.arguments('claim').map(({ limit }) => limit))).toBe(500)
  })

  it('claims nothing ahead when handlers are slow, so that other workers find the jobs', async () => {
    const scene = openScene()
    await scene.skep.enqueueMany(mail, Array.from({ length: 20 }, String))
    const handler = mail.handle(
      () => new Promise<void>((resolve) => void scene.runtime.timer(3_000, resolve)),
    )
    const worker = scene.skep.worker([handler], { concurrency: 2 })
    let most = 0

    await scene.until(async () => {
      most = Math.max(most, worker.health().buffered)
      return ((await scene.counts('mail')).done ?? 0) >= 6
    })

    expect(most).toBe(0)
    expect((await scene.counts('mail')).running).toBe(2)
  })

  it('hands back what waited too long for a slot: unrun, in its place, without counting a start', async () => {
    const scene = openScene()
    const { waiting } = await stuckWorker(scene)
    const before = await Promise.all(waiting.map((id) => scene.job(id)))

    await scene.until(async () => (await scene.counts('mail')).ready === 3)

    const after = await Promise.all(waiting.map((id) => scene.job(id)))
    expect(after.map(({ dueAt }) => dueAt)).toEqual(before.map(({ dueAt }) => dueAt))
    expect(after.map(({ starts }) => starts)).toEqual([0, 0, 0])
    expect(waiting.map((id) => scene.toldOf(id))).toEqual([[], [], []])
  })

  it('lets a second worker run what the first one handed back, at once', async () => {
    const scene = openScene()
    const { waiting } = await stuckWorker(scene)
    const seen: string[] = []

    scene.client().worker([mail.handle(({ id }) => void seen.push(id))])
    await scene.until(() => seen.length === 3, 3_000)

    expect(seen).toEqual(waiting)
  })

  it('does not take back what it handed back before it has a slot for it', async () => {
    const scene = openScene()
    const { waiting, slow, ran } = await stuckWorker(scene)
    await scene.until(async () => (await scene.counts('mail')).ready === 3)
    const starts = scene.faults.count('claim')

    await scene.advance(20_000)

    expect(scene.faults.count('claim')).toBe(starts)
    expect(await scene.counts('mail')).toEqual({ done: 30, ready: 3, running: 1 })
    slow.open()
    await scene.until(async () => (await scene.counts('mail')).done === 34)
    expect(ran.slice(-3)).toEqual(['a', 'b', 'c'])
    expect((await scene.job(waiting[0]!)).starts).toBe(1)
  })

  it('never starts a job that was cancelled while it waited for a slot', async () => {
    const scene = openScene()
    const { waiting, slow, ran } = await stuckWorker(scene)
    const [first, second] = waiting as [string, string]

    const summary = await scene.skep.jobs.cancel(second, { reason: 'not needed' })
    await scene.runtime.settle()

    expect(summary.requested).toBe(1)
    expect(await scene.job(second)).toMatchObject({ state: 'cancelled', starts: 0 })
    expect(scene.toldOf(second)).toEqual(['cancelled'])
    slow.open()
    await scene.until(async () => (await scene.state(first)) === 'done')
    expect(ran).not.toContain('b')
  })

  it('tells whoever waits for the result of such a job at once', async () => {
    const scene = openScene()
    const { waiting } = await stuckWorker(scene)
    const id = waiting[1] as string
    const result = scene.skep.jobs.handle(id).result()
    result.catch(() => {})
    await scene.runtime.settle()
    const before = scene.runtime.mono()

    await scene.skep.jobs.cancel(id)

    await expect(scene.through(result)).rejects.toMatchObject({ code: 'JOB_CANCELLED' })
    expect(scene.runtime.mono()).toBe(before)
  })

  it('does not start a job whose claim was answered after its lease had run out', async () => {
    const scene = openScene()
    const job = await scene.skep.enqueue(mail, 'late')
    let ran = 0
    scene.faults.next('claim', { slowMs: 40_000 })
    scene.skep.worker([mail.handle(() => void ran++)], { lease: '30s' })

    await scene.advance(40_001)
    await scene.until(async () => (await scene.state(job.id)) === 'done')

    const [first] = scene.faults.arguments('claim')
    expect(ran).toBe(1)
    expect(await scene.job(job.id)).toMatchObject({ starts: 1, lost: 0 })
    expect((await scene.job(job.id)).token).not.toBe(first?.token)
  })

  it('does not start a job that it lost while the job waited for a slot', async () => {
    const scene = openScene()
    const { waiting, slow, ran } = await stuckWorker(scene)
    const id = waiting[0] as string
    const { token } = await scene.job(id)
    // Somebody who knew of the lease ended it, as a rescuer does that holds our process for dead.
    await scene.truth.settle({
      settlements: [
        {
          space: 'default',
          id,
          token: token as string,
          verdict: {
            to: 'cancelled',
            keepMs: 1_000_000,
            delayMs: 0,
            count: null,
            refund: false,
            keepPlace: false,
            keepCancelledMs: 0,
            result: null,
            failure: null,
          },
        },
      ],
    })

    scene.notifier.tell({ kind: 'cancel', space: 'default', ids: [id] })
    await scene.runtime.settle()
    slow.open()
    await scene.until(() => ran.includes('c'))

    expect(ran).not.toContain('a')
  })
})

import { describe, expect, it } from 'vitest'
import { fixed, queue, retry, snooze } from '../../src/index.ts'
import { NOTICE_DELIVERIES } from '../../src/notifier/notices.ts'
import type { ClaimCall } from '../../src/store/store.ts'
import { seededRandom } from '../../src/testing.ts'
import { claimAndDie } from './support/dead-worker.ts'
import { gate, openScene, type Scene } from './support/scene.ts'

const mail = queue<number, unknown>('mail')
const other = queue<number>('other')

const many = (count: number): number[] => Array.from({ length: count }, (_, n) => n)

/** The claims that anybody sent, alone or with outcomes. */
function claims(scene: Scene): Omit<ClaimCall, 'now'>[] {
  return scene.faults.calls.flatMap(({ operation, argument }) => {
    if (operation === 'claim') return [argument as ClaimCall]
    const { claim } = operation === 'settle' ? (argument as { claim?: ClaimCall }) : {}
    return claim === undefined ? [] : [claim]
  })
}

/** How often the store was searched for work. */
function searches(scene: Scene): number {
  return claims(scene).filter(({ ids }) => ids === undefined).length
}

/** A scene with notices and a worker that has looked at the store once and knows its clock. */
async function idle(
  handler: (payload: number, id: string) => unknown = () => {},
  options: Parameters<Scene['skep']['worker']>[1] = {},
): Promise<{ scene: Scene; ran: string[] }> {
  const scene = openScene({ notices: true })
  const ran: string[] = []
  const worker = scene.skep.worker(
    [
      mail.handle(({ id, payload }) => {
        ran.push(id)
        return handler(payload, id)
      }),
    ],
    options,
  )
  await worker.ready
  await scene.advance(10)
  return { scene, ran }
}

/** Tells of jobs as somebody would whose notice comes once more than it should. */
function tell(scene: Scene, ids: readonly string[], dueAt = 0): void {
  scene.notices.publish([{ kind: 'work', space: 'default', queue: 'mail', dueAt, rank: 0, ids }])
}

describe('notices', () => {
  it('D2, D4, D21, D27: jobs run although nobody searches the store for them', async () => {
    const { scene, ran } = await idle()
    const before = searches(scene)

    for (let n = 0; n < 50; n++) {
      await scene.skep.enqueue(mail, n)
      await scene.advance(200)
    }

    expect(ran).toHaveLength(50)
    expect(searches(scene)).toBe(before)
    expect(scene.notices.size).toBe(0)
  })

  it('D22, D23: carry the ids of what was enqueued, fifty at most in each', async () => {
    const { scene, ran } = await idle(() => {}, { concurrency: 200 })
    const before = searches(scene)

    const jobs = await scene.skep.enqueueMany(mail, many(120))
    await scene.until(() => ran.length === 120)

    expect(ran.toSorted()).toEqual(jobs.map(({ id }) => id).toSorted())
    expect(scene.notices.published.flatMap(({ ids }) => ids)).toEqual(jobs.map(({ id }) => id))
    expect(searches(scene)).toBe(before)
  })

  it('D26: are sent after the job was saved, and not for one that was not', async () => {
    const { scene } = await idle()
    scene.faults.next('insert', 'reject')

    await expect(scene.skep.enqueue(mail, 1)).rejects.toThrow()

    expect(scene.notices.published).toEqual([])
  })

  it('leave jobs with a priority, and those in lanes, to the order of the store', async () => {
    const { scene, ran } = await idle()
    const before = searches(scene)

    await scene.skep.enqueue(mail, 1, { priority: 5 })
    await scene.until(() => ran.length === 1, 1_000)

    expect(scene.notices.published).toEqual([])
    expect(searches(scene)).toBeGreaterThan(before)
  })

  it('D24, D65, D67: are dropped when the job is gone or finished', async () => {
    const { scene } = await idle()
    const job = await scene.skep.enqueue(mail, 1)
    await scene.until(async () => (await scene.state(job.id)) === 'done')

    tell(scene, [job.id, '01890000-0000-7000-8000-000000000001'])
    await scene.advance(100)

    expect(scene.notices.size).toBe(0)
    expect((await scene.job(job.id)).starts).toBe(1)
  })

  it('D25, D49, D66, D71: several for one job are harmless: one worker runs it, the others find it leased and then done', async () => {
    const work = gate()
    const { scene, ran } = await idle(() => work.promise)
    scene.client().worker([mail.handle(({ id }) => void ran.push(id))])
    await scene.advance(10)

    const job = await scene.skep.enqueue(mail, 1)
    for (let n = 0; n < 5; n++) tell(scene, [job.id])
    await scene.advance(5_000)
    expect(scene.notices.size).toBeGreaterThan(0)
    work.open()
    await scene.until(() => scene.notices.size === 0)

    expect(ran).toEqual([job.id])
    expect(await scene.job(job.id)).toMatchObject({ state: 'done', starts: 1, lost: 0 })
  })

  it('D29, D60, D62: of jobs that are not due are put back until then, without asking the store', async () => {
    const { scene, ran } = await idle()
    const before = claims(scene).length

    await scene.skep.enqueue(mail, 1, { delay: '20s' })
    await scene.advance(19_000)
    expect(claims(scene).length).toBe(before)
    expect(scene.notices.size).toBe(1)
    await scene.advance(1_100)

    expect(ran).toHaveLength(1)
    expect(scene.notices.size).toBe(0)
  })

  it('of jobs that are due after the next sweep are dropped, and the sweep finds them in time', async () => {
    const { scene, ran } = await idle()
    let startedAt = 0
    const enqueuedAt = scene.runtime.mono()
    scene.skep.on('received', () => {
      startedAt = scene.runtime.mono()
    })

    await scene.skep.enqueue(mail, 1, { delay: '5m' })
    await scene.advance(1_000)
    expect(scene.notices.size).toBe(0)
    await scene.until(() => ran.length === 1, 400_000)

    expect(startedAt - enqueuedAt).toBeGreaterThanOrEqual(300_000)
    expect(startedAt - enqueuedAt).toBeLessThan(300_100)
  })

  it('whose jobs are due at different times come again for each', async () => {
    const { scene, ran } = await idle()
    const jobs = []
    for (const delay of [0, 3_000, 9_000]) jobs.push(await scene.skep.enqueue(mail, 1, { delay }))
    scene.notices.published.length = 0
    tell(
      scene,
      jobs.map(({ id }) => id),
    )

    await scene.advance(3_100)
    expect(ran).toHaveLength(2)
    await scene.advance(6_000)

    expect(ran).toHaveLength(3)
    await scene.until(() => scene.notices.size === 0)
  })

  it('D28, D47, D63, D69: of held jobs are dropped, and the job stays in the store', async () => {
    const { scene, ran } = await idle()
    await scene.skep.queues.pause(mail)

    const job = await scene.skep.enqueue(mail, 1)
    await scene.advance(2_000)

    expect(scene.notices.size).toBe(0)
    expect(await scene.state(job.id)).toBe('ready')
    expect(ran).toEqual([])
  })

  it.each([
    ['its queue', 'mail'],
    ['queues by a pattern', 'ma*'],
    ['the space', {}],
    ['everything', { everywhere: true }],
  ] as const)(
    'D48: are sent again for every waiting job when a hold on %s ends, not for the first 1,000',
    async (_, target) => {
      const { scene, ran } = await idle(() => {}, { concurrency: 100 })
      await scene.skep.queues.pause(target)
      const jobs = await scene.skep.enqueueMany(mail, many(2_500))
      await scene.skep.enqueueMany(mail, many(3), { delay: '5s' })
      await scene.until(() => scene.notices.size === 0)
      scene.notices.published.length = 0

      await scene.skep.queues.resume(target)

      const told = new Set(scene.notices.published.flatMap(({ ids }) => ids))
      expect(jobs.filter(({ id }) => !told.has(id))).toEqual([])
      expect(told.size).toBe(2_503)
      await scene.until(() => ran.length === 2_503)
      expect(new Set(ran).size).toBe(2_503)
    },
  )

  it('D48: are not sent again while another hold stands', async () => {
    const { scene, ran } = await idle()
    await scene.skep.queues.pause(mail)
    await scene.skep.queues.block(mail)
    await scene.skep.enqueueMany(mail, many(5))
    await scene.until(() => scene.notices.size === 0)
    scene.notices.published.length = 0

    await scene.skep.queues.resume(mail)
    expect(scene.notices.published).toEqual([])
    await scene.skep.queues.unblock(mail)
    await scene.until(() => ran.length === 5, 5_000)
  })

  it('need not be there when a hold ends by itself', async () => {
    const { scene, ran } = await idle()
    await scene.skep.queues.pause(mail, { for: '10s' })
    await scene.skep.enqueueMany(mail, many(5))
    await scene.until(() => scene.notices.size === 0, 2_000)

    await scene.until(() => ran.length === 5, 10_500)
  })

  it('D51, D72: an execution error tells again, after the delay of the policy', async () => {
    const scene = openScene({ notices: true })
    const failing = queue<number>('failing', { onError: retry(3, fixed('5s')) })
    let runs = 0
    scene.skep.worker([
      failing.handle(() => {
        if (++runs < 3) throw new Error('not yet')
      }),
    ])
    await scene.advance(10)
    const before = searches(scene)

    const job = await scene.skep.enqueue(failing, 1)
    await scene.until(async () => (await scene.state(job.id)) === 'done', 15_000)

    expect(await scene.job(job.id)).toMatchObject({ starts: 3, errors: 2 })
    expect(searches(scene)).toBe(before)
  })

  it('D50: a handler that asks to be called later is told of by id, and so is what it enqueued', async () => {
    const scene = openScene({ notices: true })
    const seen: string[] = []
    const parent = queue<number>('parent')
    scene.skep.worker([
      parent.handle(async ({ attempt, enqueue }) => {
        if (attempt === 1) return snooze('2s')
        await enqueue(mail, 1)
        return undefined
      }),
      mail.handle(({ id }) => void seen.push(id)),
    ])
    await scene.advance(10)
    const before = searches(scene)

    await scene.skep.enqueue(parent, 1)
    await scene.until(() => seen.length === 1, 5_000)

    expect(searches(scene)).toBe(before)
  })

  it('D52: are kept while the store is away, and the job runs when it is back', async () => {
    const { scene, ran } = await idle()
    await scene.skep.enqueue(mail, 0)
    await scene.advance(100)
    const job = await scene.skep.enqueue(mail, 1, { delay: '1s' })

    scene.faults.break('before', ['claim', 'settle', 'get'])
    await scene.advance(12_000)
    expect(scene.notices.size).toBe(1)
    scene.faults.heal()
    await scene.until(() => ran.includes(job.id), 10_000)

    await scene.until(() => scene.notices.size === 0)
    expect(await scene.job(job.id)).toMatchObject({ state: 'done', starts: 1 })
  })

  it('D52: of which the claim’s answer was lost do not make the job run twice', async () => {
    const { scene, ran } = await idle()

    scene.faults.next('claim', 'after')
    const job = await scene.skep.enqueue(mail, 1)
    await scene.until(async () => (await scene.state(job.id)) === 'done')
    await scene.until(() => scene.notices.size === 0)

    expect(ran).toEqual([job.id])
  })

  it('D53, D70: that come too often are buried with a reason, and the sweep finds the job', async () => {
    const { scene, ran } = await idle()
    scene.faults.break('before', ['claim', 'get'])
    await scene.skep.enqueue(mail, 1)
    const { notices } = scene
    const dead = (): ReturnType<ReturnType<typeof notices.view>['dead']> =>
      notices.view(scene.runtime).dead({ limit: 10 })

    await scene.until(async () => (await dead()).notices.length === 1, 3_600_000)
    expect((await dead()).notices[0]).toMatchObject({ queue: 'mail', deliveries: NOTICE_DELIVERIES })
    scene.faults.heal()

    await scene.until(() => ran.length === 1)
  })

  it('of jobs that wait for long are not buried for it', async () => {
    const work = gate()
    const { scene } = await idle(() => work.promise)
    const job = await scene.skep.enqueue(mail, 1)
    await scene.advance(100)
    tell(scene, [job.id])

    await scene.advance(1_200_000)

    expect((await scene.notices.view(scene.runtime).dead({ limit: 10 })).notices).toEqual([])
    work.open()
    await scene.until(() => scene.notices.size === 0)
  })

  it('D64: are acked as soon as the job is claimed: from then on the lease counts', async () => {
    const work = gate()
    const { scene } = await idle(() => work.promise)

    const job = await scene.skep.enqueue(mail, 1)
    await scene.advance(100)

    expect(await scene.state(job.id)).toBe('running')
    expect(scene.notices.size).toBe(0)
    work.open()
  })

  it('D52, D61: of a worker that dies between claim and ack come again, and the job runs once more after its rescue', async () => {
    const scene = openScene({ notices: true })
    const job = await scene.skep.enqueue(mail, 1)
    // It had the notice, and took the job.
    const tap = scene.notices.view(scene.runtime).open({ space: 'default', queue: 'mail' }, () => {})
    tap.want(1)
    await scene.runtime.settle()
    tap.close()
    await claimAndDie(scene, { leaseMs: 30_000 })
    const ran: string[] = []
    scene.skep.worker([mail.handle(({ id }) => void ran.push(id))])

    await scene.until(() => ran.length > 0)
    await scene.until(() => scene.notices.size === 0)

    expect(ran).toEqual([job.id])
    expect(await scene.job(job.id)).toMatchObject({ state: 'done', starts: 2, lost: 1 })
  })

  it('that were lost are made up for by the sweep', async () => {
    const { scene, ran } = await idle()
    scene.notices.trouble = { random: seededRandom(1), lost: 1, doubled: 0, ackLost: 0, lateMs: 0 }

    await scene.skep.enqueueMany(mail, many(1_200))
    await scene.advance(40_000)
    expect(ran).toEqual([])
    await scene.until(() => ran.length === 1_200, 25_000)

    expect(new Set(ran).size).toBe(1_200)
  })

  it.each(many(8))('lost, doubled, late and acked in vain: every job runs once (seed %i)', async (seed) => {
    const { scene, ran } = await idle(() => {}, { concurrency: 3 })
    scene.client().worker([mail.handle(({ id }) => void ran.push(id))])
    scene.notices.trouble = {
      random: seededRandom(seed),
      lost: 0.1,
      doubled: 0.3,
      ackLost: 0.2,
      lateMs: 40_000,
    }

    await scene.skep.enqueueMany(mail, many(200))
    await scene.until(() => ran.length >= 200, 300_000)
    scene.notices.trouble = null
    await scene.until(() => scene.notices.size === 0, 600_000)

    expect(new Set(ran).size).toBe(200)
    expect(ran).toHaveLength(200)
    expect((await scene.notices.view(scene.runtime).dead({ limit: 1 })).notices).toEqual([])
  })

  it('larger than the room of a worker are shared out, so that others get their part', async () => {
    const work = gate()
    const { scene, ran } = await idle(() => work.promise, { concurrency: 2 })
    const slow = ({ id }: { readonly id: string }): Promise<void> => {
      ran.push(id)
      return work.promise
    }
    const others = many(9).map(() => scene.client().worker([mail.handle(slow)], { concurrency: 5 }))
    await scene.advance(10)
    const before = searches(scene)

    await scene.skep.enqueueMany(mail, many(47))
    await scene.until(() => ran.length === 47, 3_000)

    expect(others).toHaveLength(9)
    expect(searches(scene)).toBe(before)
    work.open()
    await scene.until(() => scene.notices.size === 0)
  })

  it('wait with the notifier while all slots are taken', async () => {
    const work = gate()
    const { scene, ran } = await idle(() => work.promise, { concurrency: 2 })

    await scene.skep.enqueueMany(mail, many(10))
    await scene.advance(20_000)
    expect(ran).toHaveLength(2)
    const claimed = claims(scene).length
    scene.client().worker([mail.handle(({ id }) => void ran.push(id))])
    await scene.until(() => ran.length === 10, 2_000)

    expect(claimed).toBeLessThan(10)
    work.open()
  })

  it('that a worker still has go back at once when it stops, and not when its handlers have ended', async () => {
    const work = gate()
    const scene = openScene({ notices: true })
    const worker = scene.skep.worker([mail.handle(() => work.promise)], { concurrency: 2, drain: '20s' })
    await scene.skep.enqueue(mail, 1)
    await scene.until(() => worker.health().running === 1)
    scene.faults.break('before', ['claim'])
    const job = await scene.skep.enqueue(mail, 2)
    await scene.advance(200)
    const came: string[] = []

    const stopped = worker.stop()
    scene.notices
      .view(scene.runtime)
      .open({ space: 'default', queue: 'mail' }, (notice) => {
        came.push(...notice.ids)
        notice.ack()
      })
      .want(1)
    await scene.advance(500)

    expect(came).toEqual([job.id])
    work.open()
    scene.faults.heal()
    await scene.through(stopped)
  })

  it('of a queue with limits are hints: the store is searched', async () => {
    const scene = openScene({ notices: true })
    const narrow = queue<number>('narrow', { concurrency: 2 })
    let running = 0
    let most = 0
    let done = 0
    scene.skep.worker([
      narrow.handle(async () => {
        most = Math.max(most, ++running)
        await new Promise<void>((resolve) => void scene.runtime.timer(50, resolve))
        running--
        done++
      }),
    ])
    await scene.advance(10)

    await scene.skep.enqueueMany(narrow, many(20))
    await scene.until(() => done === 20, 5_000)

    expect(most).toBe(2)
    await scene.until(() => scene.notices.size === 0)
  })

  it('tell of what was retried, promoted or handed back by id', async () => {
    const { scene, ran } = await idle()
    const job = await scene.skep.enqueue(mail, 1, { delay: '1h' })
    const dead = await scene.skep.enqueue(mail, 2, { delay: '1h' })
    await scene.skep.jobs.bury(dead.id)
    await scene.advance(10)
    scene.notices.published.length = 0
    const before = searches(scene)

    await scene.skep.jobs.promote(job.id)
    await scene.skep.jobs.retry(dead.id)
    await scene.until(() => ran.length === 2, 1_000)

    expect(scene.notices.published.flatMap(({ ids }) => ids)).toEqual([job.id, dead.id])
    expect(searches(scene)).toBe(before)
  })

  it('that are down leave the polling as it was', async () => {
    const { scene, ran } = await idle()
    scene.notices.trouble = { random: seededRandom(1), lost: 1, doubled: 0, ackLost: 0, lateMs: 0 }
    scene.notifier.status = 'down'

    await scene.skep.enqueue(mail, 1)

    await scene.until(() => ran.length === 1, 1_500)
  })

  it('serve several queues of one worker, and none starves', async () => {
    const scene = openScene({ notices: true })
    const ran: string[] = []
    scene.skep.worker(
      [mail.handle(() => void ran.push('mail')), other.handle(() => void ran.push('other'))],
      { concurrency: 2 },
    )
    await scene.advance(10)
    const before = searches(scene)

    await scene.skep.enqueueMany(mail, many(300))
    await scene.skep.enqueueMany(other, many(3))
    await scene.until(() => ran.length === 303, 30_000)

    expect(searches(scene)).toBe(before)
  })

  it('are not for those who have none: nothing names a job', async () => {
    const scene = openScene()
    scene.skep.worker([mail.handle(() => {})])

    await scene.skep.enqueueMany(mail, many(10))
    await scene.until(async () => (await scene.counts('mail')).done === 10)

    expect(scene.notifier.published.some((hint) => hint.kind === 'work' && hint.ids !== undefined)).toBe(
      false,
    )
    expect(claims(scene).every(({ ids }) => ids === undefined)).toBe(true)
  })
})

import assert from 'node:assert/strict'
import { NOTICE_DELIVERIES, NOTICE_IDS, type Notice } from '../../notifier/notices.ts'
import { Basket, jobIds, MAIL, named } from './basket.ts'
import { buried, type NoticeScene } from './scene.ts'

/** What becomes of a notice, by what a worker answers. */
export function noticeAnswers({ test, heldMs, runtime }: NoticeScene): void {
  test('brings one that nobody answers again, after a while', async (notifier) => {
    const basket = new Basket(notifier.notices).want(1)
    notifier.publish([named(jobIds(1))])
    const [notice] = (await basket.count(1)) as [Notice]
    const cameAt = runtime.mono()
    const other = new Basket(notifier.notices).want(1)

    await other.again(notice, 1)

    assert.ok(runtime.mono() - cameAt > heldMs * 0.8, 'it came again too early')
    const { deliveries } = other.notices[0] as Notice
    assert.ok(deliveries === 1 || deliveries === 2, `it said that it came ${deliveries} times`)
  })

  test('does not bring one again that was acked', async (notifier) => {
    const basket = new Basket(notifier.notices).want(10)
    notifier.publish([named(jobIds(2 * NOTICE_IDS))])
    const [acked, unanswered] = (await basket.count(2)) as [Notice, Notice]

    acked.ack()

    await basket.again(unanswered)
    assert.equal(basket.timesOf(acked), 1)
  })

  test('brings one again later, but not before the delay is over', async (notifier) => {
    const basket = new Basket(notifier.notices).want(10)
    notifier.publish([named(jobIds(2 * NOTICE_IDS))])
    const [soon, late] = (await basket.count(2)) as [Notice, Notice]
    const askedAt = runtime.mono()

    late.later(heldMs * 1.5)
    soon.later(heldMs / 4)

    await basket.again(soon)
    assert.ok(runtime.mono() - askedAt > heldMs / 4 - 20, 'one came again too early')
    assert.equal(basket.timesOf(late), 1)
    await basket.again(late)
    assert.ok(runtime.mono() - askedAt > heldMs * 1.5 - 20, 'the other came again too early')
  })

  test('brings one again at once, to anybody, if it may', async (notifier) => {
    const basket = new Basket(notifier.notices).want(1)
    notifier.publish([named(jobIds(1))])
    const [notice] = (await basket.count(1)) as [Notice]
    const askedAt = runtime.mono()
    const other = new Basket(notifier.notices).want(1)

    notice.later(0)

    await other.again(notice, 1)
    assert.ok(runtime.mono() - askedAt < heldMs * 0.8, 'it came as late as one that nobody answers')
  })

  test('does not bring one again while somebody works on it', async (notifier) => {
    const basket = new Basket(notifier.notices).want(10)
    notifier.publish([named(jobIds(2 * NOTICE_IDS))])
    const [worked, unanswered] = (await basket.count(2)) as [Notice, Notice]
    let isWorking = true
    const stop = runtime.timer(heldMs / 2, function say() {
      worked.working()
      if (isWorking) runtime.timer(heldMs / 4, say)
    })
    try {
      await basket.again(unanswered)
      await basket.again(unanswered, 3)

      assert.equal(basket.timesOf(worked), 1)
    } finally {
      isWorking = false
      stop()
    }
    await basket.again(worked)
  })

  test('buries one for a person to read, and brings it no more', async (notifier) => {
    const basket = new Basket(notifier.notices).want(10)
    notifier.publish([named(jobIds(2 * NOTICE_IDS))])
    const [buried, unanswered] = (await basket.count(2)) as [Notice, Notice]

    buried.bury('no such queue here')

    await basket.again(unanswered)
    assert.equal(basket.timesOf(buried), 1)
    const { notices, cursor } = await notifier.notices.dead({ limit: 10 })
    assert.equal(cursor, null)
    assert.equal(notices.length, 1)
    const { buriedAt, deliveries, ...dead } = notices[0] as (typeof notices)[0]
    const { ids, dueAt } = buried
    assert.deepEqual(dead, { ...MAIL, ids, dueAt, reason: 'no such queue here' })
    assert.equal(deliveries, 1)
    assert.ok(buriedAt > 0)
  })

  test('gives dead ones page by page, oldest first', async (notifier) => {
    const basket = new Basket(notifier.notices).want(10)
    notifier.publish([named(jobIds(5 * NOTICE_IDS))])
    const all = await basket.count(5)
    for (const [n, notice] of all.entries()) {
      notice.bury(`number ${n}`)
      await buried(notifier, n + 1)
    }

    const reasons: string[][] = []
    let cursor: string | null = null
    do {
      const page = await notifier.notices.dead({ limit: 2, cursor })
      reasons.push(page.notices.map(({ reason }) => reason))
      cursor = page.cursor
    } while (cursor !== null)

    assert.deepEqual(reasons, [['number 0', 'number 1'], ['number 2', 'number 3'], ['number 4']])
  })

  test('has no dead ones before one was buried', async (notifier) => {
    assert.deepEqual(await notifier.notices.dead({ limit: 10 }), { notices: [], cursor: null })
  })

  test(`buries one that comes more than ${NOTICE_DELIVERIES} times`, async (notifier) => {
    const ids = jobIds(1)
    const basket = new Basket(notifier.notices, MAIL, (notice) => notice.later(0)).want(100)

    notifier.publish([named(ids)])

    const [dead] = await buried(notifier, 1)
    assert.deepEqual(dead?.ids, ids)
    assert.ok((dead?.reason.length ?? 0) > 0)
    assert.equal(basket.notices.length, NOTICE_DELIVERIES)
    // The count may be too low, never too high.
    assert.ok(basket.notices.every(({ deliveries }, n) => deliveries >= 1 && deliveries <= n + 1))
  })

  test('takes the first answer, and ignores what follows', async (notifier) => {
    const basket = new Basket(notifier.notices).want(10)
    notifier.publish([named(jobIds(2 * NOTICE_IDS))])
    const [acked, unanswered] = (await basket.count(2)) as [Notice, Notice]

    acked.ack()
    acked.later(0)
    acked.working()
    acked.bury('too late')

    await basket.again(unanswered)
    assert.equal(basket.timesOf(acked), 1)
    assert.deepEqual((await notifier.notices.dead({ limit: 10 })).notices, [])
  })
}

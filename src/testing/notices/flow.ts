import assert from 'node:assert/strict'
import { NOTICE_IDS, type Notice } from '../../notifier/notices.ts'
import { sleep } from '../../runtime/runtime.ts'
import { Ear, work } from '../notifier/ear.ts'
import { Basket, jobIds, MAIL, named } from './basket.ts'
import { type NoticeScene, ticking, withNotices } from './scene.ts'

/** Names that mean something to one carrier or another, see the fault catalogue (F87). No two are the same to us. */
const NAMES = [
  'a',
  'A',
  'a.b',
  'a_b',
  'a-b',
  'a/b',
  'a:b',
  'a..b',
  'x'.repeat(128),
  `${'x'.repeat(127)}y`,
  '',
  ' ',
  'a b',
  'a\n',
  'a\0',
  'a*',
  '*',
  '>',
  '$JS',
  '=',
  '=2a',
  '%2A',
  '../a',
  '{a}',
  'ä',
  'a\u0308',
  '🐝',
  '界'.repeat(300),
]

/** What comes out of a tap, and what does not. */
export function noticesFlow({ test, reopen, runtime }: NoticeScene): void {
  test('brings what was told: the jobs, and when the first is due', async (notifier) => {
    const [ids, dueAt] = [jobIds(3), 1_700_000_012_345]
    const basket = new Basket(notifier.notices).want(1)

    notifier.publish([named(ids, { dueAt })])

    const [notice] = await basket.count(1)
    assert.deepEqual(
      { space: notice?.space, queue: notice?.queue, ids: notice?.ids, dueAt: notice?.dueAt },
      { ...MAIL, ids, dueAt },
    )
    assert.equal(notice?.deliveries, 1)
  })

  test('keeps what was told while nobody listened', async (notifier) => {
    const ids = jobIds(2)
    notifier.publish([named(ids)])
    const other = reopen ? withNotices(await reopen(notifier)) : notifier
    try {
      if (reopen) await notifier.close()

      const basket = new Basket(other.notices).want(1)

      await basket.count(1)
      assert.deepEqual(basket.ids.toSorted(), ids)
    } finally {
      await other.close()
    }
  })

  test(`makes several notices of a hint with more than ${NOTICE_IDS} ids`, async (notifier) => {
    const ids = jobIds(2 * NOTICE_IDS + 20)
    const basket = new Basket(notifier.notices).want(10)

    notifier.publish([named(ids)])

    await basket.until(() => basket.ids.length >= ids.length, 'all ids')
    assert.equal(basket.notices.length, 3)
    assert.ok(basket.notices.every((notice) => notice.ids.length > 0 && notice.ids.length <= NOTICE_IDS))
    assert.deepEqual(basket.ids.toSorted(), ids)
  })

  test('does not tell as a hint what it carries as a notice', async (notifier) => {
    const ear = new Ear(notifier)
    await ear.ready()
    const basket = new Basket(notifier.notices).want(1)

    notifier.publish([named(jobIds(1)), work('report')])

    await Promise.all([basket.count(1), ear.hears('report')])
    assert.deepEqual(ear.about(MAIL.queue), [])
  })

  test('brings each notice to one tap only', async (notifier) => {
    const other = reopen ? withNotices(await reopen(notifier)) : notifier
    try {
      const ids = jobIds(20 * NOTICE_IDS)
      const ack = (notice: Notice): void => notice.ack()
      const baskets = [notifier, notifier, other].map(({ notices }) => new Basket(notices, MAIL, ack))
      for (const basket of baskets) basket.want(100)

      notifier.publish([named(ids)])

      const all = (): string[] => baskets.flatMap((basket) => basket.ids)
      await Promise.race(
        baskets.map((basket) => basket.until(() => all().length >= ids.length, 'the ids of all taps')),
      )
      assert.deepEqual(all().toSorted(), ids)
    } finally {
      if (other !== notifier) await other.close()
    }
  })

  test('brings no more than is wanted, so two taps share', async (notifier) => {
    const [first, second] = [new Basket(notifier.notices), new Basket(notifier.notices)]
    first.want(2)

    notifier.publish([named(jobIds(5 * NOTICE_IDS))])
    await first.count(2)
    second.want(3)

    await second.count(3)
    assert.equal(first.notices.length, 2)
    assert.equal(second.notices.length, 3)
  })

  test('brings more when more is wanted, and none before something is', async (notifier) => {
    const [idle, basket] = [new Basket(notifier.notices), new Basket(notifier.notices)]
    basket.want(0).want(1)
    notifier.publish([named(jobIds(4 * NOTICE_IDS))])
    await basket.count(1)

    basket.want(1)
    await basket.count(2)
    basket.want(2)

    await basket.count(4)
    assert.equal(idle.notices.length, 0)
  })

  test('never calls inside a call', async (notifier) => {
    notifier.publish([named(jobIds(2 * NOTICE_IDS))])
    let isInside = true
    let calledInside = 0
    const basket: Basket = new Basket(notifier.notices, MAIL, (notice) => {
      if (isInside) calledInside += 1
      isInside = true
      notice.ack()
      basket.want(1)
      isInside = false
    })
    basket.want(1)
    isInside = false

    await basket.count(2)
    assert.equal(calledInside, 0)
  })

  test('brings nothing to a tap that was closed, and takes the answers it owes', async (notifier) => {
    const closed = new Basket(notifier.notices).want(1)
    notifier.publish([named(jobIds(1))])
    const [held] = (await closed.count(1)) as [Notice]
    closed.want(10)
    const other = new Basket(notifier.notices)

    closed.close()
    closed.close()
    closed.want(10)
    held.ack()
    notifier.publish([named(jobIds(3 * NOTICE_IDS))])
    other.want(10)

    await other.count(3)
    assert.equal(closed.notices.length, 1)
    await other.again(other.notices[0] as Notice)
    assert.equal(other.timesOf(held), 0)
  })

  test('keeps names apart, whatever they are made of', async (notifier) => {
    const pairs = NAMES.map((word, n) => ({ space: word, queue: NAMES.at(-n) as string }))
    // Two names must not run into each other either.
    pairs.push({ space: 'a.b', queue: 'c' }, { space: 'a', queue: 'b.c' }, { space: 'c', queue: 'a.b' })
    const sources = pairs.map((pair) => ({ ...pair, ids: jobIds(1) }))
    notifier.publish(sources.map(({ ids, ...pair }) => named(ids, pair)))

    const baskets = pairs.map((pair) => new Basket(notifier.notices, pair).want(2))
    await Promise.all(baskets.map((basket) => basket.count(1)))

    assert.deepEqual(
      baskets.map((basket) => basket.notices.map(({ space, queue, ids }) => ({ space, queue, ids }))),
      sources.map((one) => [one]),
    )
  })

  test('is not harmed by a listener that throws', async (notifier) => {
    const basket = new Basket(notifier.notices, MAIL, () => {
      throw new Error('a listener that throws')
    }).want(10)
    notifier.publish([named(jobIds(1))])
    await sleep(runtime, 0)

    notifier.publish([named(jobIds(NOTICE_IDS), { dueAt: 1_600_000_000_000 })])

    await ticking(() => basket.ids.length > NOTICE_IDS)
  })

  test('takes everything calmly after its close', async (notifier) => {
    const basket = new Basket(notifier.notices).want(1)
    notifier.publish([named(jobIds(1))])
    const [notice] = (await basket.count(1)) as [Notice]

    await notifier.close()
    notice.working()
    notice.ack()
    basket.want(5)
    basket.close()
    notifier.publish([named(jobIds(1))])
    const late = new Basket(notifier.notices).want(1)

    assert.equal(basket.notices.length, 1)
    assert.equal(late.notices.length, 0)
  })
}

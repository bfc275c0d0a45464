import assert from 'node:assert/strict'
import { NOTICE_DELIVERIES, NOTICE_IDS, type Notice, type Notices } from '../notices.ts'
import type { Notifier } from '../notifier.ts'
import { sleep, systemRuntime } from '../runtime.ts'
import { Basket, jobIds, MAIL, named } from './notices/basket.ts'
import { Ear, work } from './notifier/ear.ts'
import type { OpenNotifier } from './notifier-suite.ts'
import type { Runner } from './runner.ts'

export interface DescribeNoticesOptions {
  /** How long the opened notifier lets a worker hold a notice without a word. A second or less keeps the suite short. */
  readonly heldMs: number
  /**
   * Opens a second notifier on the same channel, as another process would. The cases that need one are left
   * out otherwise.
   */
  readonly reopen?: (notifier: Notifier) => Promise<Notifier>
}

type Channel = Notifier & { readonly notices: Notices }

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

/** The promises of `Notices`, as a suite. See `describeStore` for how to call it. */
export function describeNotices(
  name: string,
  open: OpenNotifier,
  { describe, it }: Runner,
  { heldMs, reopen }: DescribeNoticesOptions,
): void {
  const runtime = systemRuntime()
  const test = (sentence: string, body: (notifier: Channel) => Promise<void>): unknown =>
    it(sentence, async () => {
      const notifier = withNotices(await open())
      try {
        await body(notifier)
      } finally {
        await notifier.close()
      }
    })

  describe(`${name} notices`, () => {
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
      assert.deepEqual(
        basket.notices.map(({ deliveries }) => deliveries),
        Array.from({ length: NOTICE_DELIVERIES }, (_, n) => n + 1),
      )
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
      const named1 = pairs.map((pair) => ({ ...pair, ids: jobIds(1) }))
      notifier.publish(named1.map(({ ids, ...pair }) => named(ids, pair)))

      const baskets = pairs.map((pair) => new Basket(notifier.notices, pair).want(2))
      await Promise.all(baskets.map((basket) => basket.count(1)))

      assert.deepEqual(
        baskets.map((basket) => basket.notices.map(({ space, queue, ids }) => ({ space, queue, ids }))),
        named1.map((one) => [one]),
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
  })

  async function buried(
    notifier: Channel,
    count: number,
  ): Promise<readonly { ids: readonly string[]; reason: string }[]> {
    const dead = async (): Promise<readonly { ids: readonly string[]; reason: string }[]> =>
      (await notifier.notices.dead({ limit: 100 })).notices
    await ticking(async () => (await dead()).length >= count)
    return dead()
  }

  /** Asks again and again: for what gives no signal of its own. */
  async function ticking(condition: () => boolean | Promise<boolean>): Promise<void> {
    const deadline = runtime.mono() + 20_000
    while (!(await condition())) {
      if (runtime.mono() > deadline) throw new Error('Waited 20 s in vain.')
      await sleep(runtime, 10)
    }
  }
}

function withNotices(notifier: Notifier): Channel {
  const { notices } = notifier
  if (!notices) throw new Error('This notifier has no notices.')
  return notifier as Channel
}

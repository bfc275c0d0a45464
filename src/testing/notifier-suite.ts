import assert from 'node:assert/strict'
import type { Hint, Notifier } from '../notifier/notifier.ts'
import { Ear, work } from './notifier/ear.ts'
import type { Runner } from './runner.ts'

export interface DescribeNotifierOptions {
  /**
   * Opens a second notifier on the same channel, as another process would. The cases that need one are left
   * out otherwise.
   */
  readonly reopen?: (notifier: Notifier) => Promise<Notifier>
}

/** Gives a fresh notifier that nobody else talks through. The suite closes it. */
export type OpenNotifier = () => Promise<Notifier> | Notifier

/** The promises of `Notifier`, as a suite. See `describeStore` for how to call it. */
export function describeNotifier(
  name: string,
  open: OpenNotifier,
  { describe, it }: Runner,
  { reopen }: DescribeNotifierOptions = {},
): void {
  const test = (sentence: string, body: (notifier: Notifier) => Promise<void>): unknown =>
    it(sentence, async () => {
      const notifier = await open()
      try {
        await body(notifier)
      } finally {
        await notifier.close()
      }
    })

  describe(`${name} notifier`, () => {
    test('tells every new subscriber to look at everything once', async (notifier) => {
      const first = new Ear(notifier)
      await first.ready()

      const second = new Ear(notifier)
      await second.ready()

      assert.deepEqual(second.heard[0], { kind: 'sync' })
    })

    test('brings a hint to every subscriber, the publishing process included', async (notifier) => {
      const ears = [new Ear(notifier), new Ear(notifier), new Ear(notifier)]
      await Promise.all(ears.map((ear) => ear.ready()))

      notifier.publish([work('mail')])

      await Promise.all(ears.map((ear) => ear.hears('mail')))
    })

    test('brings every kind of hint as it was sent', async (notifier) => {
      const hints: Hint[] = [
        work('a.b:c/d_e-F9', { space: 'other-space', dueAt: 4_956_000_000_000, rank: -60_000_000 }),
        work('q'.repeat(128), { space: 's'.repeat(128), dueAt: 0, rank: 1_799_940_000_000 }),
        { kind: 'settled', space: 'acme', queue: 'mail' },
        { kind: 'watch', space: 'acme', queue: 'mail' },
        { kind: 'noted', space: 'acme', queue: 'mail' },
        { kind: 'schedules', space: 'acme' },
        { kind: 'commands', space: 'acme' },
        { kind: 'recall', space: 'acme', queue: 'mail.*', lane: null },
        { kind: 'recall', space: null, queue: null, lane: null },
        { kind: 'recall', space: 'acme', queue: 'mail', lane: '' },
        { kind: 'cancel', space: 'acme', ids: ['01a31c50-0000-7000-8000-000000000001'] },
      ]
      const ear = new Ear(notifier)
      await ear.ready()

      notifier.publish(hints)

      await ear.until((heard) => heard.length > hints.length, 'all hints')
      const order = (list: readonly Hint[]): string[] =>
        list.map((hint) => JSON.stringify(hint, keyOrder)).toSorted()
      const heard = ear.heard.filter(({ kind }) => kind !== 'sync')
      assert.deepEqual(order(heard), order(hints))
    })

    test('keeps spaces and queues apart when it merges', async (notifier) => {
      const ear = new Ear(notifier)
      await ear.ready()

      notifier.publish([work('mail'), work('mail', { space: 'globex' }), work('report')])

      await ear.until((heard) => heard.filter(({ kind }) => kind === 'work').length >= 3, 'three hints')
      const named = ear.heard.flatMap((hint) => (hint.kind === 'work' ? [`${hint.space}/${hint.queue}`] : []))
      assert.deepEqual(named.toSorted(), ['acme/mail', 'acme/report', 'globex/mail'])
    })

    test('keeps the earliest due time and the lowest rank when it merges', async (notifier) => {
      const ear = new Ear(notifier)
      await ear.ready()

      notifier.publish([work('mail', { dueAt: 50, rank: 7 })])
      notifier.publish([work('mail', { dueAt: 90, rank: 3 }), work('mail', { dueAt: 20, rank: 9 })])

      const lowest = (read: (hint: Hint & { kind: 'work' }) => number): number =>
        Math.min(...ear.heard.map((hint) => (hint.kind === 'work' ? read(hint) : Infinity)))
      await ear.until(
        () => lowest(({ rank }) => rank) === 3 && lowest(({ dueAt }) => dueAt) === 20,
        'both lows',
      )
    })

    test('merges a storm of hints, and brings the last', async (notifier) => {
      const ear = new Ear(notifier)
      await ear.ready()

      for (let n = 10_000; n > 0; n--) notifier.publish([work('storm', { rank: n })])
      notifier.publish([{ kind: 'settled', space: 'acme', queue: 'last' }])

      await ear.hears('last')
      await ear.until(
        (heard) => heard.some((hint) => hint.kind === 'work' && hint.rank === 1),
        'the lowest rank of the storm',
      )
      assert.ok(ear.calls.length < 1_000, `the listener was called ${ear.calls.length} times`)
    })

    test('brings the ids of all jobs that shall stop, however many', async (notifier) => {
      const ids = Array.from(
        { length: 500 },
        (_, n) => `01a31c50-0000-7000-8000-${String(n).padStart(12, '0')}`,
      )
      const ear = new Ear(notifier)
      await ear.ready()

      notifier.publish([{ kind: 'cancel', space: 'acme', ids: ids.slice(0, 400) }])
      notifier.publish([{ kind: 'cancel', space: 'acme', ids: ids.slice(300) }])

      const heardIds = (): Set<string> =>
        new Set(ear.heard.flatMap((hint) => (hint.kind === 'cancel' ? hint.ids : [])))
      await ear.until(() => heardIds().size === ids.length, 'all ids')
      assert.deepEqual([...heardIds()].toSorted(), ids)
    })

    test('calls nobody with nothing', async (notifier) => {
      const ear = new Ear(notifier)
      await ear.ready()

      notifier.publish([])
      notifier.publish([work('mail')])
      await ear.hears('mail')
      notifier.publish([])
      await new Ear(notifier).ready()

      assert.ok(ear.calls.every((hints) => hints.length > 0))
    })

    test('calls a subscriber no more after its end', async (notifier) => {
      const [ended, other] = [new Ear(notifier), new Ear(notifier)]
      await Promise.all([ended.ready(), other.ready()])

      notifier.publish([work('mail')])
      ended.end()
      ended.end()
      notifier.publish([work('report')])

      await Promise.all([other.hears('mail'), other.hears('report')])
      assert.deepEqual(ended.about('mail'), [])
      assert.deepEqual(ended.about('report'), [])
    })

    test('calls a subscriber that ends at once not at all', async (notifier) => {
      const ended = new Ear(notifier)
      ended.end()
      const other = new Ear(notifier)
      await other.ready()

      notifier.publish([work('mail')])

      await other.hears('mail')
      assert.deepEqual(ended.calls, [])
    })

    test('calls no subscriber that another one has just ended', async (notifier) => {
      const ears: Ear[] = []
      const endOthers = (me: number) => (hints: readonly Hint[]) => {
        if (hints.some(({ kind }) => kind === 'work')) {
          for (const [n, ear] of ears.entries()) if (n !== me) ear.end()
        }
      }
      for (const n of [0, 1, 2]) ears.push(new Ear(notifier, endOthers(n)))
      await Promise.all(ears.map((ear) => ear.ready()))

      notifier.publish([work('mail')])

      const all = (): number => ears.reduce((sum, ear) => sum + ear.about('mail').length, 0)
      await Promise.race(ears.map((ear) => ear.hears('mail')))
      const witness = new Ear(notifier)
      await witness.ready()
      assert.equal(all(), 1)
    })

    test('is not harmed by a subscriber that throws', async (notifier) => {
      const thrower = new Ear(notifier, () => {
        throw new Error('a subscriber that throws')
      })
      const ear = new Ear(notifier)
      await Promise.all([thrower.ready(), ear.ready()])

      notifier.publish([work('mail')])
      await Promise.all([thrower.hears('mail'), ear.hears('mail')])
      notifier.publish([work('report')])

      await Promise.all([thrower.hears('report'), ear.hears('report')])
    })

    test('lets a subscriber publish and subscribe while it is called', async (notifier) => {
      const inner: Ear[] = []
      const ear = new Ear(notifier, (hints) => {
        if (!hints.some((hint) => hint.kind === 'work' && hint.queue === 'first')) return
        notifier.publish([work('second')])
        inner.push(new Ear(notifier))
      })
      await ear.ready()

      notifier.publish([work('first')])

      await ear.hears('second')
      await inner[0]?.ready()
      assert.equal(inner.length, 1)
    })

    test('tells how it is, and takes everything calmly after its close', async (notifier) => {
      const ear = new Ear(notifier)
      await ear.ready()
      const before = notifier.health()

      await Promise.all([notifier.close(), notifier.close()])
      const calls = ear.calls.length
      notifier.publish([work('mail')])
      ear.end()
      await notifier.close()

      assert.equal(before.status, 'up')
      assert.ok(before.detail.length > 0)
      assert.ok(['up', 'down', 'off'].includes(notifier.health().status))
      assert.equal(ear.calls.length, calls)
    })

    if (reopen) {
      test('brings hints to and from other processes', async (notifier) => {
        const other = await reopen(notifier)
        try {
          const [here, there] = [new Ear(notifier), new Ear(other)]
          await Promise.all([here.ready(), there.ready()])

          notifier.publish([work('from-here', { rank: 5 })])
          other.publish([work('from-there', { rank: 6 })])

          await Promise.all([here, there].flatMap((ear) => [ear.hears('from-here'), ear.hears('from-there')]))
        } finally {
          await other.close()
        }
      })

      test('sends what is pending before it closes', async (notifier) => {
        const other = await reopen(notifier)
        const ear = new Ear(notifier)
        await ear.ready()

        other.publish([work('farewell')])
        await other.close()

        await ear.hears('farewell')
      })
    }
  })
}

/** For JSON.stringify: the same text for the same hint, in whatever order its fields are. */
function keyOrder(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

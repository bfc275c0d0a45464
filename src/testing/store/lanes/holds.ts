import assert from 'node:assert/strict'
import type { HoldTarget } from '../../../core/lanes/holds.ts'
import {
  idOf,
  idsOf,
  MINUTE,
  OTHER_QUEUE,
  OTHER_SPACE,
  QUEUE,
  SPACE,
  START,
  sample,
  samples,
  verdict,
} from '../samples.ts'
import { type StoreCase, source } from '../scene.ts'
import { laned } from './lanes.ts'

const everywhere = [
  source(),
  source({ queue: OTHER_QUEUE }),
  source({ space: OTHER_SPACE }),
  source({ space: OTHER_SPACE, queue: OTHER_QUEUE }),
]

/** A held queue starts nothing (I-13). */
export function holdsCases(test: StoreCase): void {
  test('starts nothing of a queue that is held, and all of it once it is released', async (scene) => {
    await scene.insert(...samples(3))
    await scene.hold('pause')
    await scene.insert(sample(4))

    assert.deepEqual(await scene.take(), [])
    assert.deepEqual(await scene.take({ ids: [idOf(1)] }), [])
    assert.equal(await scene.release('pause'), true)
    assert.equal((await scene.take()).length, 4)
  })

  test('lets running jobs finish, and try again only after the release', async (scene) => {
    const one = await scene.running(sample(1))
    const two = await scene.running(sample(2))
    await scene.hold('pause')

    assert.deepEqual(await scene.settle(one, verdict('done')), { status: 'ok', state: 'done' })
    assert.deepEqual(await scene.settle(two, verdict('ready')), { status: 'ok', state: 'ready' })
    const [extended] = await scene.extend([two])
    assert.equal(extended?.status, 'refused')
    assert.deepEqual(await scene.take(), [])

    await scene.release('pause')
    assert.deepEqual(idsOf(await scene.take()), [idOf(2)])
  })

  test('does not claim along with a settlement what is held', async (scene) => {
    const held = await scene.running(sample(1))
    await scene.insert(sample(2))
    await scene.hold('block')

    const settlements = [{ space: held.space, id: held.id, token: held.token, verdict: verdict('done') }]
    const { claimed } = await scene.store.settle({ settlements, claim: scene.call(), now: scene.now })

    assert.deepEqual(claimed?.jobs, [])
  })

  for (const [first, second] of [
    ['pause', 'block'],
    ['block', 'pause'],
  ] as const) {
    for (const released of [first, second]) {
      test(`${first} and ${second}: after the release of ${released} the other still holds`, async (scene) => {
        await scene.insert(sample(1))
        await scene.hold(first)
        await scene.hold(second)

        assert.equal(await scene.release(released), true)
        assert.deepEqual(await scene.take(), [])

        await scene.release(released === first ? second : first)
        assert.equal((await scene.take()).length, 1)
      })
    }
  }

  test('can be put and released again and again: the job runs once', async (scene) => {
    await scene.insert(sample(1))
    for (let n = 0; n < 9; n++) {
      await scene.hold('pause')
      await scene.hold('pause')
      await scene.release('pause')
      assert.equal(await scene.release('pause'), false)
    }

    assert.equal((await scene.take()).length, 1)
    assert.equal((await scene.take()).length, 0)
  })

  const targets: readonly [string, Partial<HoldTarget>, readonly number[]][] = [
    ['a queue', {}, [2, 3, 4]],
    ['the same queue in every space', { space: null }, [2, 4]],
    ['a pattern', { queue: 'rep*' }, [1, 3, 4]],
    ['a pattern around the name', { queue: '*ai*' }, [2, 3, 4]],
    ['a pattern with an end', { queue: 'm*l' }, [2, 3, 4]],
    ['a pattern that fits nothing', { queue: '*mail-*' }, [1, 2, 3, 4]],
    ['a pattern with letters SQL knows', { queue: 'm%' }, [1, 2, 3, 4]],
    ['another letter than the one SQL knows', { queue: 'm_il' }, [1, 2, 3, 4]],
    ['all queues of a space', { queue: null }, [3, 4]],
    ['everything', { space: null, queue: null }, []],
    ['one lane', { lane: 'x' }, [1, 2, 3, 4]],
  ]
  for (const [what, target, left] of targets) {
    test(`holds ${what}, and nothing else`, async (scene) => {
      await scene.insert(
        sample(1),
        sample(2, { queue: OTHER_QUEUE }),
        sample(3, { space: OTHER_SPACE }),
        sample(4, { space: OTHER_SPACE, queue: OTHER_QUEUE }),
      )
      await scene.hold('pause', target)

      assert.deepEqual(idsOf(await scene.take({ sources: everywhere })), left.map(idOf))

      await scene.release('pause', target)
      assert.equal((await scene.take({ sources: everywhere })).length, 4 - left.length)
    })
  }

  test('holds one lane and lets the others go on', async (scene) => {
    await scene.insert(...laned('a', 3), ...laned('b', 2, 101), sample(200))
    await scene.hold('pause', { lane: 'a' })

    assert.deepEqual(idsOf(await scene.take()).sort(), [idOf(101), idOf(102), idOf(200)])
    assert.deepEqual(await scene.take({ ids: [idOf(1)] }), [])

    await scene.release('pause', { lane: 'a' })
    assert.deepEqual(idsOf(await scene.take()), [idOf(1), idOf(2), idOf(3)])
  })

  test('holds a lane before it has any job, and the default lane', async (scene) => {
    await scene.hold('block', { lane: 'a' })
    await scene.hold('pause', { lane: '' })
    await scene.insert(...laned('a', 1), sample(2))
    assert.deepEqual(await scene.take(), [])

    await scene.release('block', { lane: 'a' })
    assert.deepEqual(idsOf(await scene.take()), [idOf(1)])
    await scene.release('pause', { lane: '' })
    assert.deepEqual(idsOf(await scene.take()), [idOf(2)])
  })

  test('ends by itself, and tells when', async (scene) => {
    await scene.insert(sample(1))
    await scene.hold('pause', { forMs: MINUTE })

    const reply = await scene.claim()
    assert.deepEqual([reply.jobs, reply.nextDueAt], [[], START + MINUTE])
    scene.pass(MINUTE - 1)
    assert.deepEqual(await scene.take(), [])
    scene.pass(1)
    assert.equal((await scene.take()).length, 1)
  })

  test('lasts as long as the longest of several', async (scene) => {
    await scene.insert(sample(1))
    await scene.hold('pause', { forMs: MINUTE })
    await scene.hold('block', { forMs: 2 * MINUTE })

    assert.equal((await scene.claim()).nextDueAt, START + 2 * MINUTE)
    await scene.hold('pause', { space: null, queue: null })
    assert.equal((await scene.claim()).nextDueAt, null)
  })

  test('ends on a lane by itself, and tells when', async (scene) => {
    await scene.insert(...laned('a', 1))
    await scene.hold('pause', { lane: 'a', forMs: MINUTE })

    const reply = await scene.claim()
    assert.deepEqual([reply.jobs, reply.nextDueAt], [[], START + MINUTE])
    scene.pass(MINUTE)
    assert.equal((await scene.take()).length, 1)
  })

  test('says who put it, why, since when and until when; putting it again keeps the since', async (scene) => {
    await scene.hold('pause', { reason: 'deploy', by: 'ann', forMs: MINUTE })
    scene.pass(1_000)

    const again = await scene.hold('pause', { reason: 'longer', by: 'bob' })
    await scene.hold('block', { space: null, queue: 'rep*' })
    await scene.hold('pause', { space: OTHER_SPACE })

    const expected = { kind: 'pause', space: SPACE, queue: QUEUE, lane: null, reason: 'longer', by: 'bob' }
    assert.deepEqual(again, { ...expected, since: START, until: null })
    const { holds } = await scene.store.holds({ space: SPACE, now: scene.now })
    assert.deepEqual(new Set(holds.map(({ kind }) => kind)), new Set(['pause', 'block']))
    assert.equal((await scene.store.holds({ now: scene.now })).holds.length, 3)
  })

  test('forgets holds that ended, and begins anew after one', async (scene) => {
    await scene.hold('pause', { forMs: MINUTE })
    scene.pass(MINUTE)
    assert.deepEqual((await scene.store.holds({ now: scene.now })).holds, [])
    await scene.prune()
    assert.equal(await scene.release('pause'), false)

    assert.equal((await scene.hold('pause')).since, scene.now)
  })

  test('keeps delayed jobs back, and tells nothing of them while it stands', async (scene) => {
    await scene.insert(sample(1, { delayMs: 1_000 }))
    await scene.hold('pause')
    scene.pass(MINUTE)

    const reply = await scene.claim()
    assert.deepEqual([reply.jobs, reply.nextDueAt], [[], null])
    assert.equal(await scene.state(idOf(1)), 'delayed')

    await scene.release('pause')
    assert.equal((await scene.take()).length, 1)
  })

  test('keeps back a queue of a claim and serves the others', async (scene) => {
    await scene.insert(sample(1), sample(2, { queue: OTHER_QUEUE }))
    await scene.hold('pause')

    const sources = [source(), source({ queue: OTHER_QUEUE })]
    assert.deepEqual(idsOf(await scene.take({ sources })), [idOf(2)])
  })

  test('drops and re-creates nothing, however much it keeps back', async (scene) => {
    await scene.insert(...samples(1_500))
    await scene.hold('pause')
    await scene.release('pause')

    assert.equal((await scene.take({ limit: 2_000, sources: [source({ limit: 2_000 })] })).length, 1_500)
  })
}

import assert from 'node:assert/strict'
import { LIMITS } from '../../core/limits.ts'
import { line, lines, note, progress, read, send, sendAll, texts } from './job-log-samples.ts'
import { idOf, MINUTE, OTHER_SPACE, SPACE, START, sample, samples, verdict } from './samples.ts'
import type { Scene, StoreCase } from './scene.ts'

const OK = { status: 'ok' } as const
const LOST = { status: 'refused', reason: 'lost' } as const
const NONE = { progress: null, lines: [], last: 0, dropped: 0 }

export function notesCases(test: StoreCase): void {
  test('gives lines and progress back as they were written', async (scene) => {
    const held = await scene.running(sample(1))
    const odd = 'é 漢 😀 \t\n"\\ {} NULL \u001e'
    const written = [
      line(1, { level: 'debug' }),
      line(2, { level: 'warn', text: odd, fields: JSON.stringify({ odd, deep: [null, 1.5] }) }),
      line(3, { level: 'error', text: '' }),
    ]

    const said = await send(scene, held, note(written, progress(1, -0.1234567890123, odd)))

    assert.deepEqual(said, OK)
    assert.deepEqual(await read(scene, held.id), {
      progress: { value: -0.1234567890123, note: odd, at: START + 1 },
      lines: written.map(({ n, ...rest }) => ({ place: n, ...rest })),
      last: 3,
      dropped: 0,
    })
  })

  test('changes nothing about the job', async (scene) => {
    const held = await scene.running(sample(1))
    const before = await scene.job(held.id)

    await send(scene, held, note([line(1)], progress(1, 50)))

    assert.deepEqual(await scene.job(held.id), before)
  })

  test('has nothing of a job without notes, of another space, or of no job', async (scene) => {
    const held = await scene.running(sample(1))
    await scene.insert(sample(2))
    await send(scene, held, note([line(1)], progress(1, 1)))

    assert.deepEqual(await read(scene, idOf(2)), NONE)
    assert.deepEqual(await read(scene, held.id, OTHER_SPACE), NONE)
    assert.deepEqual(await read(scene, idOf(3)), NONE)
  })

  test('takes the notes of many jobs in one call, each by its own right', async (scene) => {
    await scene.insert(...samples(50))
    const held = await scene.take()

    const said = await sendAll(
      scene,
      held.toReversed().map(({ space, id, token }, i) => ({
        ...note([line(1, { text: `of ${id}` })], progress(1, i)),
        space,
        id,
        token: i % 10 === 0 ? scene.token() : token,
      })),
    )

    assert.deepEqual(
      said,
      held.map((_, i) => (i % 10 === 0 ? LOST : OK)),
    )
    for (const [i, { id }] of held.toReversed().entries()) {
      assert.deepEqual(await texts(scene, id), i % 10 === 0 ? [] : [`of ${id}`])
    }
    assert.deepEqual(await sendAll(scene, []), [])
  })

  test('is refused to whoever lost the lease to another, and writes nothing', async (scene) => {
    const zombie = await scene.running(sample(1), { leaseMs: 1_000 })
    await send(scene, zombie, note([line(1, { text: 'alive' })], progress(1, 10)))
    scene.pass(MINUTE)
    await scene.settle(zombie, verdict('ready', { count: 'lost' }), { rescue: true, onlyIfExpired: true })
    const between = await send(scene, zombie, note([line(2, { text: 'rescued' })]))
    const holder = await scene.running(sample(1))

    const said = await send(scene, zombie, note([line(3, { text: 'undead' })], progress(2, 99)))
    await send(scene, holder, note([line(1, { text: 'holder' })]))
    const after = await send(scene, zombie, note([line(4, { text: 'still' })], progress(3, 100)))

    assert.deepEqual([between, said, after], [LOST, LOST, LOST])
    assert.deepEqual(await texts(scene, zombie.id), ['alive', 'holder'])
    assert.equal((await read(scene, zombie.id)).progress?.value, 10)
  })

  test('is accepted after the settlement from the one who settled, until another begins', async (scene) => {
    const first = await scene.running(sample(1))
    await scene.settle(first, verdict('ready', { count: 'errors' }))
    const late = await send(scene, first, note([line(1, { text: 'late' })]))
    const second = await scene.running(sample(1))
    const tooLate = await send(scene, first, note([line(2, { text: 'too late' })]))
    await scene.settle(second, verdict('done'))

    const atTheEnd = await send(scene, second, note([line(1, { text: 'at the end' })], progress(1, 100)))

    assert.deepEqual([late, tooLate, atTheEnd], [OK, LOST, OK])
    assert.deepEqual(await texts(scene, first.id), ['late', 'at the end'])
    assert.equal((await read(scene, first.id)).progress?.value, 100)
  })

  test('is refused for a job that nobody ran, and for one that is not there', async (scene) => {
    await scene.insert(sample(1))

    const said = await sendAll(
      scene,
      [1, 2].map((n) => ({ space: SPACE, id: idOf(n), token: scene.token(), ...note([line(1)]) })),
    )

    assert.deepEqual(said, [LOST, { status: 'refused', reason: 'gone' }])
    assert.deepEqual(await read(scene, idOf(1)), NONE)
  })

  test('repeated, doubles nothing: whole, in part, and late', async (scene) => {
    const held = await scene.running(sample(1))
    const first = note(lines(1, 3), progress(1, 10))

    await send(scene, held, first)
    await send(scene, held, first)
    await send(scene, held, note(lines(2, 5), progress(2, 20)))
    await send(scene, held, first)
    await sendAll(scene, [
      { space: held.space, id: held.id, token: held.token, ...note([line(6)]) },
      { space: held.space, id: held.id, token: held.token, ...note([line(6), line(7)]) },
    ])

    assert.deepEqual(
      await texts(scene, held.id),
      [1, 2, 3, 4, 5, 6, 7].map((n) => `line ${n}`),
    )
    assert.deepEqual((await read(scene, held.id)).progress, { value: 20, note: null, at: START + 2 })
  })

  test('of one progress leaves the lines, and lines leave the progress', async (scene) => {
    const held = await scene.running(sample(1))
    await send(scene, held, note(lines(1, 2), progress(1, 10, 'ten')))

    await send(scene, held, note([], progress(2, 20)))
    await send(scene, held, note([line(3)]))

    const { progress: kept, last } = await read(scene, held.id)
    assert.deepEqual([kept?.value, kept?.note, last], [20, null, 3])
  })

  test('numbers each run anew, and lets a new run go back', async (scene) => {
    const first = await scene.running(sample(1))
    await send(scene, first, note(lines(1, 3, { text: 'first' }), progress(5, 90)))
    await scene.settle(first, verdict('ready'))
    const second = await scene.running(sample(1))

    await send(scene, second, note(lines(1, 2, { text: 'second' }), progress(1, 5)))

    assert.deepEqual(await texts(scene, first.id), ['first', 'first', 'first', 'second', 'second'])
    assert.equal((await read(scene, first.id)).progress?.value, 5)
  })

  test('counts the lines whose numbers never came', async (scene) => {
    const held = await scene.running(sample(1))

    await send(scene, held, note([line(3), line(4), line(8)]))
    await send(scene, held, note([line(10)]))

    const { dropped, last } = await read(scene, held.id)
    assert.deepEqual([dropped, last], [6, 4])
  })

  test('reads page by page, and goes on where a page ended', async (scene) => {
    const held = await scene.running(sample(1))
    await send(scene, held, note(lines(1, 5)))
    const page = async (after: number, limit: number): Promise<number[]> =>
      (await scene.store.notes({ space: SPACE, id: held.id, after, limit })).lines.map(({ place }) => place)

    assert.deepEqual(await page(0, 2), [1, 2])
    assert.deepEqual(await page(2, 2), [3, 4])
    assert.deepEqual(await page(4, 2), [5])
    assert.deepEqual(await page(5, 2), [])
    assert.deepEqual(await page(0, 0), [])
    await send(scene, held, note([line(6)]))
    assert.deepEqual(await page(5, 2), [6])
  })

  test('keeps the newest lines, and counts the others', async (scene) => {
    const held = await scene.running(sample(1))
    const most = LIMITS.noteLines

    for (let from = 1; from <= most + 300; from += 100) await send(scene, held, note(lines(from, from + 99)))
    const { lines: kept, dropped, last } = await read(scene, held.id)

    assert.deepEqual([kept.length, kept[0]?.place, last, dropped], [most, 301, most + 300, 300])
    assert.equal(kept.at(-1)?.text, `line ${most + 300}`)
  })

  test('keeps no more bytes than it may, in letters of any size', async (scene) => {
    const held = await scene.running(sample(1))
    // 4,096 bytes each with their fields: 64 of them are exactly as much as is kept.
    const wide = { text: '漢'.repeat(1_000), fields: `{"a":"${'b'.repeat(1_088)}"}` }

    await send(scene, held, note(lines(1, 64, wide)))
    const full = await read(scene, held.id)
    await send(scene, held, note([line(65, { text: 'x' })]))
    const over = await read(scene, held.id)

    assert.deepEqual([full.lines.length, full.dropped], [64, 0])
    assert.deepEqual([over.lines.length, over.lines[0]?.place, over.dropped], [64, 2, 1])
  })

  test('bounds each job for itself', async (scene) => {
    const [one, other] = await runningTwo(scene)
    await send(scene, one, note(lines(1, LIMITS.noteLines)))
    await send(scene, other, note(lines(1, 10)))
    await send(scene, one, note([line(LIMITS.noteLines + 1)]))

    assert.equal((await read(scene, one.id)).lines.length, LIMITS.noteLines)
    assert.equal((await read(scene, other.id)).lines.length, 10)
  })
}

async function runningTwo(
  scene: Scene,
): Promise<[Awaited<ReturnType<Scene['running']>>, Awaited<ReturnType<Scene['running']>>]> {
  return [await scene.running(sample(1)), await scene.running(sample(2))]
}

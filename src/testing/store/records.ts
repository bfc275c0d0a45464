import assert from 'node:assert/strict'
import { EVERY_SPACE, type ListRecordsCall, type NewRecord, type RecordPlace } from '../../store/records.ts'
import { MINUTE, OTHER_SPACE, SPACE, START } from './samples.ts'
import type { Scene, StoreCase } from './scene.ts'

const PLACE: RecordPlace = { scope: SPACE, kind: 'token' }

function record(id: string, difference: Partial<NewRecord> = {}): NewRecord {
  return { id, body: `{"id":"${id}"}`, revision: 'r1', expiresAt: null, ...difference }
}

async function put(scene: Scene, records: readonly NewRecord[], place = PLACE): Promise<readonly string[]> {
  return (await scene.store.putRecords({ ...place, records, now: scene.now })).results
}

/** The ids of a page, and whether there are more. */
async function page(
  scene: Scene,
  call: Partial<ListRecordsCall> = {},
): Promise<{ readonly ids: string; readonly more: boolean }> {
  const { records, more } = await scene.store.listRecords({ ...PLACE, limit: 100, now: scene.now, ...call })
  return { ids: records.map(({ id }) => id).join(' '), more }
}

async function revisions(scene: Scene, ...ids: readonly string[]): Promise<(string | null)[]> {
  const { records } = await scene.store.getRecords({ ...PLACE, ids, now: scene.now })
  return records.map((found) => found?.revision ?? null)
}

export function recordCases(test: StoreCase): void {
  contentCases(test)
  swapCases(test)
  listCases(test)
  endCases(test)
}

function contentCases(test: StoreCase): void {
  test('keeps what was put, to the letter, and when', async (scene) => {
    const ids = '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~'.split('').map((letter) => `a${letter}`)
    const [long, hard] = [
      'x'.repeat(256),
      record('b', { body: '{"a":"\\"é\\\\,{}\\u0000\'\\n"}', revision: 'é=,' }),
    ]
    const records = [...ids.map((id) => record(id)), record(long, { expiresAt: START + 1 }), hard]

    const results = await put(scene, records)

    assert.deepEqual(
      results,
      records.map(() => 'ok'),
    )
    const found = await scene.store.getRecords({
      ...PLACE,
      ids: [...records.map(({ id }) => id), 'none'],
      now: START,
    })
    assert.deepEqual(found.records, [...records.map((one) => ({ ...one, writtenAt: START })), null])
    assert.deepEqual((await scene.store.listRecords({ ...PLACE, limit: 1, from: 'b', now: START })).records, [
      { ...hard, writtenAt: START },
    ])
  })

  test('keeps a large body', async (scene) => {
    const body = JSON.stringify('é'.repeat(500_000))

    await put(scene, [record('a', { body })])

    const { records } = await scene.store.getRecords({ ...PLACE, ids: ['a'], now: scene.now })
    assert.equal(records[0]?.body, body)
  })

  test('keeps the last that was put, and when', async (scene) => {
    await put(scene, [record('a', { expiresAt: START + MINUTE })])
    scene.pass(10)

    await put(scene, [record('a', { body: '[]', revision: 'r2' })])

    scene.pass(MINUTE)
    const { records } = await scene.store.getRecords({ ...PLACE, ids: ['a', 'a'], now: scene.now })
    const last = { id: 'a', body: '[]', revision: 'r2', expiresAt: null, writtenAt: START + 10 }
    assert.deepEqual(records, [last, last])
  })

  test('keeps scopes and kinds apart', async (scene) => {
    const places = [SPACE, OTHER_SPACE, EVERY_SPACE].flatMap((scope) =>
      ['token', 'tokens', 'tok'].map((kind) => ({ scope, kind })),
    )
    for (const [n, place] of places.entries()) await put(scene, [record('a', { revision: `r${n}` })], place)

    const { removed } = await scene.store.removeRecords({ ...PLACE, ids: ['a'], now: scene.now })

    const found = await Promise.all(
      places.map((place) => scene.store.listRecords({ ...place, limit: 9, now: scene.now })),
    )
    assert.deepEqual(removed, ['a'])
    assert.deepEqual(
      found.map(({ records }) => records.map(({ revision }) => revision).join(' ')),
      places.map((_, n) => (n === 0 ? '' : `r${n}`)),
    )
  })

  test('takes and gives nothing when nothing is asked', async (scene) => {
    assert.deepEqual(await put(scene, []), [])
    assert.deepEqual((await scene.store.getRecords({ ...PLACE, ids: [] })).records, [])
    assert.deepEqual((await scene.store.removeRecords({ ...PLACE, ids: [] })).removed, [])
    assert.deepEqual(await page(scene), { ids: '', more: false })
  })
}

function swapCases(test: StoreCase): void {
  test('writes only what finds the revision that it expects', async (scene) => {
    const made = await put(scene, [record('a', { expect: null })])
    const twice = await put(scene, [record('a', { expect: null, revision: 'other' })])
    const wrong = await put(scene, [record('a', { expect: 'other', revision: 'r2' })])
    const none = await put(scene, [record('b', { expect: 'r1', revision: 'r2' })])
    const swapped = await put(scene, [record('a', { expect: 'r1', revision: 'r2' })])

    assert.deepEqual([made, twice, wrong, none, swapped].flat(), [
      'ok',
      'refused',
      'refused',
      'refused',
      'ok',
    ])
    assert.deepEqual(await revisions(scene, 'a', 'b'), ['r2', null])
  })

  test('writes all of a call or nothing', async (scene) => {
    await put(scene, [record('b'), record('d')])

    const results = await put(scene, [
      record('d', { expect: 'r1', revision: 'r2' }),
      record('a', { expect: null, revision: 'r2' }),
      record('b', { expect: 'gone', revision: 'r2' }),
      record('c', { revision: 'r2' }),
    ])

    assert.deepEqual(results, ['ok', 'ok', 'refused', 'ok'])
    assert.deepEqual(await revisions(scene, 'a', 'b', 'c', 'd'), [null, 'r1', null, 'r1'])
    assert.deepEqual(await page(scene), { ids: 'b d', more: false })
    assert.deepEqual(await put(scene, [record('a', { expect: null })]), ['ok'])
  })

  test('is ok with a call that is repeated', async (scene) => {
    await put(scene, [record('a')])
    const call = [
      record('a', { expect: 'r1', revision: 'r2' }),
      record('b', { expect: null, revision: 'r2' }),
      record('c', { revision: 'r2' }),
    ]

    const results = [await put(scene, call), await put(scene, call)]

    assert.deepEqual(results, [
      ['ok', 'ok', 'ok'],
      ['ok', 'ok', 'ok'],
    ])
    assert.deepEqual(await revisions(scene, 'a', 'b', 'c'), ['r2', 'r2', 'r2'])
  })

  test('lets one of many win who write the same at once', async (scene) => {
    const writers = Array.from({ length: 8 }, (_, n) => `w${n}`)
    const ids = ['c', 'a', 'd', 'b']
    const race = async (expect: string | null): Promise<string> => {
      const all = await Promise.all(
        writers.map((revision, n) => {
          const order = n % 2 === 0 ? ids : ids.toReversed()
          return put(
            scene,
            order.map((id) => record(id, { revision: `${revision} ${expect}`, expect })),
          )
        }),
      )
      const won = all.flatMap((results, n) => (results.every((one) => one === 'ok') ? [writers[n]] : []))
      assert.equal(won.length, 1, `of those who expect ${expect}, these have won: ${won.join(', ')}`)
      const winner = `${won[0]} ${expect}`
      assert.deepEqual(
        await revisions(scene, ...ids),
        ids.map(() => winner),
      )
      return winner
    }

    const first = await race(null)
    await race(first)
  })

  test('takes what many write and remove at once', async (scene) => {
    const ids = Array.from({ length: 12 }, (_, n) => `id ${n}`)
    const calls = Array.from({ length: 12 }, async (_, n) => {
      const order = n % 2 === 0 ? ids : ids.toReversed()
      if (n % 3 === 2) await scene.store.removeRecords({ ...PLACE, ids: order, now: scene.now })
      else {
        const expect = n % 3 === 1 ? { expect: null } : {}
        await put(
          scene,
          order.map((id) => record(id, { revision: `w${n}`, ...expect })),
        )
      }
    })

    await Promise.all(calls)

    const found = await revisions(scene, ...ids)
    assert.equal(new Set(found).size, 1, 'each call happened as a whole')
  })
}

function listCases(test: StoreCase): void {
  test('lists by id, byte by byte, in both directions', async (scene) => {
    await put(
      scene,
      ['b', 'a', 'B', 'a b', 'ab', '0', '~', 'a-'].map((id) => record(id)),
    )

    assert.deepEqual(await page(scene), { ids: '0 B a a b a- ab b ~', more: false })
    assert.deepEqual(await page(scene, { backwards: true }), { ids: '~ b ab a- a b a B 0', more: false })
    assert.deepEqual(await page(scene, { from: 'a', before: 'b' }), { ids: 'a a b a- ab', more: false })
    assert.deepEqual(await page(scene, { from: 'a!' }), { ids: 'a- ab b ~', more: false })
    assert.deepEqual(await page(scene, { before: 'a', backwards: true }), { ids: 'B 0', more: false })
    assert.deepEqual(await page(scene, { from: 'c', before: 'b' }), { ids: '', more: false })
  })

  test('lists by the page, and tells whether there are more', async (scene) => {
    const ids = Array.from({ length: 25 }, (_, n) => `id ${String(n).padStart(2, '0')}`)
    await put(
      scene,
      ids.map((id) => record(id)),
    )
    const forth: string[] = []
    const back: string[] = []

    for (let from = '', more = true; more; ) {
      const reply = await scene.store.listRecords({ ...PLACE, from, limit: 10, now: scene.now })
      forth.push(...reply.records.map(({ id }) => id))
      more = reply.more
      from = `${forth.at(-1)}!`
    }
    for (let before = '~', more = true; more; ) {
      const reply = await scene.store.listRecords({
        ...PLACE,
        before,
        backwards: true,
        limit: 5,
        now: scene.now,
      })
      back.push(...reply.records.map(({ id }) => id))
      more = reply.more
      before = back.at(-1) as string
    }

    assert.deepEqual(forth, ids)
    assert.deepEqual(back, ids.toReversed())
  })
}

function endCases(test: StoreCase): void {
  test('shows nobody what is over', async (scene) => {
    const ends = (id: string, at: number | null) => record(id, { expiresAt: at })
    await put(scene, [
      ends('a', START),
      ends('b', START + 2),
      ends('c', null),
      ends('d', START + 1),
      ends('e', null),
    ])
    const before = await page(scene, { limit: 2 })
    scene.pass(1)

    assert.deepEqual(before, { ids: 'b c', more: true })
    assert.deepEqual(await page(scene), { ids: 'b c e', more: false })
    assert.deepEqual(await page(scene, { limit: 2, backwards: true }), { ids: 'e c', more: true })
    assert.deepEqual(await revisions(scene, 'a', 'b', 'c', 'd'), [null, 'r1', 'r1', null])
    scene.pass(1)
    assert.deepEqual(await page(scene, { limit: 1 }), { ids: 'c', more: true })
  })

  test('takes what is over for what is not there', async (scene) => {
    const over = { expiresAt: START }
    await put(scene, [record('a', over), record('b', over), record('c', over)])

    const { removed } = await scene.store.removeRecords({ ...PLACE, ids: ['c'], now: scene.now })
    const refused = await put(scene, [record('a', { expect: 'r1', revision: 'r2' })])
    const made = await put(scene, [record('b', { expect: null, revision: 'r2' })])

    assert.deepEqual([removed, refused, made], [[], ['refused'], ['ok']])
    assert.deepEqual(await page(scene), { ids: 'b', more: false })
  })

  test('removes, and tells what was there', async (scene) => {
    await put(scene, [record('a'), record('b', { expiresAt: START + MINUTE }), record('c')])

    const first = await scene.store.removeRecords({ ...PLACE, ids: ['c', 'none', 'b'], now: scene.now })
    const again = await scene.store.removeRecords({ ...PLACE, ids: ['c', 'none', 'b'], now: scene.now })

    assert.deepEqual([first.removed, again.removed], [['c', 'b'], []])
    assert.deepEqual(await page(scene), { ids: 'a', more: false })
  })

  test('prunes what is over, and nothing else', async (scene) => {
    const records = Array.from({ length: 20 }, (_, n) => record(`id ${n}`, { expiresAt: START + n }))
    await put(scene, [...records, record('stays')])
    // Put anew, it ends later.
    await put(scene, [record('id 3', { expiresAt: START + MINUTE }), record('id 4')])
    scene.pass(9)

    // As often as it takes: a call need not do all of it.
    for (let n = 0; n < 5; n++) await scene.prune()

    // At an earlier time it would be seen if it was still there.
    const { records: left } = await scene.store.listRecords({ ...PLACE, limit: 100, now: START - 1 })
    const expected = [...records.slice(10), ...records.slice(3, 5)].map(({ id }) => id).concat('stays')
    assert.deepEqual(
      left.map(({ id }) => id),
      expected.sort(),
    )
  })
}

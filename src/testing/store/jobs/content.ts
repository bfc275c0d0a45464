import assert from 'node:assert/strict'
import { failure, idOf, sample, verdict } from '../samples.ts'
import type { StoreCase } from '../scene.ts'

/** JSON texts that a store which parses, reorders or re-encodes them would not give back as they were. */
const TEXTS: Readonly<Record<string, string>> = {
  'every kind of value': '[null,true,false,0,-1,1.5,"",[],{}]',
  'keys out of order': '{"b":1,"a":2,"10":3,"9":4}',
  'a key twice': '{"a":1,"a":2}',
  blanks: ' { "a" :\t1 ,\n"b": [ ] } ',
  'numbers beyond 2^53': '[9007199254740993,-9007199254740993,123456789012345678901234567890]',
  'numbers with useless digits': '[1.0,1.50,1e2,1E+2,-0,-0.0,0.1,1e-7,1e308,5e-324]',
  'escapes that need not be': '"\\u0041\\u00e9\\ud83d\\udc1d\\/"',
  'escapes that must be': '"\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u001f\\u007f"',
  'letters of many languages': '"Grüße, Ελλάδα, Привет, שלום, مرحبا, हिन्दी, 日本語, 한국어"',
  'composed and decomposed letters': '["\u00e9","e\u0301","\ufb01","\u212b"]',
  'signs beyond the basic plane': '"🐝👩‍👩‍👧‍👦𝒳\u{10ffff}"',
  'invisible signs': '"\u200b\u200d\u202e\u2028\u2029\ufeff\u00a0\u00ad"',
  'signs with a meaning in SQL': "\"'; DROP TABLE jobs; -- $1 ? :a @b %s \\\\x00 E'\\\\n'\"",
  'a text of 200 KB': JSON.stringify('ab🐝é'.repeat(25_000)),
  'an object of 1,000 keys': JSON.stringify(
    Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`k${n}`, n])),
  ),
  '64 levels': `${'['.repeat(64)}${']'.repeat(64)}`,
  'a string alone': '"text"',
  'a number alone': '0',
  'null alone': 'null',
}

export function contentCases(test: StoreCase): void {
  for (const [what, text] of Object.entries(TEXTS)) {
    test(`gives a payload and a result back letter by letter: ${what}`, async (scene) => {
      await scene.insert(sample(1, { payload: text }))

      const [held] = await scene.take()
      assert.ok(held)
      await scene.settle(held, verdict('done', { result: text }))

      const job = await scene.job(idOf(1))
      assert.equal(held.payload, text)
      assert.equal(job.payload, text)
      assert.equal(job.result, text)
    })
  }

  test('gives headers, overrides and failures back letter by letter', async (scene) => {
    const texts = Object.values(TEXTS).filter((text) => text.length < 8_000)
    await scene.insert(...texts.map((text, n) => sample(n + 1, { headers: text, overrides: text })))

    const held = await scene.take()
    await scene.settleAll(
      held.map(({ space, id, token }, n) => ({
        space,
        id,
        token,
        verdict: verdict('dead', { failure: texts[n] ?? null }),
      })),
    )

    const { jobs } = await scene.store.get({ space: 'acme', ids: held.map(({ id }) => id) })
    assert.deepEqual(
      held.map(({ headers, overrides }) => [headers, overrides]),
      texts.map((text) => [text, text]),
    )
    assert.deepEqual(
      jobs.map((job) => [job?.headers, job?.overrides, job?.failure]),
      texts.map((text) => [text, text, text]),
    )
  })

  test('keeps apart what is null and what is the text "null" or nothing', async (scene) => {
    await scene.insert(
      sample(1, { headers: null, overrides: null, lane: null, strict: false, cost: 1 }),
      sample(2, { headers: 'null', overrides: '{}' }),
    )
    const held = await scene.take()
    await scene.settleAll(
      held.map(({ space, id, token }, n) => ({
        space,
        id,
        token,
        verdict: verdict('done', { result: n ? 'null' : null }),
      })),
    )

    const [one, two] = [await scene.job(idOf(1)), await scene.job(idOf(2))]
    assert.deepEqual([one.headers, one.overrides, one.result], [null, null, null])
    assert.deepEqual([two.headers, two.overrides, two.result], ['null', '{}', 'null'])
  })

  test('keeps the reason for a cancellation letter by letter', async (scene) => {
    const reason = `it's "over" — 🐝\n\\u0041 \u202e%_'`
    const held = await scene.running(sample(1))
    await scene.insert(sample(2))
    const text = JSON.stringify({ kind: 'cancel', message: reason })

    await scene.change('cancel', { ids: [idOf(1), idOf(2)] }, { failure: text })

    assert.deepEqual(await scene.extend([held]), [{ status: 'ok', cancelReason: reason }])
    assert.equal((await scene.job(idOf(2))).failure, text)
    await scene.settle(held, verdict('ready', { failure: failure('ignored') }))
    assert.deepEqual(JSON.parse((await scene.job(idOf(1))).failure ?? ''), {
      kind: 'cancel',
      message: reason,
    })
  })

  test('names workers letter by letter', async (scene) => {
    const workerId = `host's "box"/42 🐝`

    await scene.running(sample(1), { workerId })

    assert.equal((await scene.job(idOf(1))).worker, workerId)
    scene.pass(60_000)
    const [lease] = await scene.expired()
    assert.equal(lease?.workerId, workerId)
  })
}

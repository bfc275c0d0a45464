import { describe, expect, it } from 'vitest'
import {
  archive,
  buried,
  createSkep,
  discard,
  exponential,
  first,
  fixed,
  flow,
  presets,
  queue,
  retry,
  type SkepError,
  schedule,
} from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'
import { openScene } from '../worker/support/scene.ts'

function refusal(call: () => unknown): SkepError {
  try {
    call()
  } catch (error) {
    return error as SkepError
  }
  throw new Error('It was accepted.')
}

/** What a program without types could pass, option by option. */
const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  timeout: ['0s', 0, -1, 'x', '5 minutes', Number.NaN, null, '400d'],
  priority: [Number.NaN, 1.5, '1', null, 101, -101],
  priorityMode: ['strct', null],
  preset: ['dark', null, {}, presets.dark.queue],
  onSuccess: [buried(), 'discard', discard, null, { end: 'archiv', keepMs: 1 }, { end: 'archive' }, retry(1)],
  onError: [
    5,
    null,
    retry,
    'retry',
    buried(),
    exponential('1s'),
    { retries: 3 },
    { retries: -1, backoff: fixed(0), ending: buried() },
    { retries: '3', backoff: fixed(0), ending: buried() },
    { retries: Infinity, backoff: fixed(0), ending: buried() },
    { retries: 3, backoff: { kind: 'fixed', ms: Number.NaN, jitter: 0 }, ending: buried() },
    { retries: 3, backoff: { kind: 'exponentail', ms: 1, jitter: 0 }, ending: buried() },
    { retries: 3, backoff: fixed(0), ending: { end: 'burry', keepMs: 1 } },
  ],
  onTimeout: [never, { retries: 1 }],
  onLost: ['once', archive()],
  keepCancelled: ['x', -1, null, 1e300],
  unique: ['key', null],
  jsonSchema: [1, 'schema', null],
  concurrencyPerWorker: [0, '5', null],
  concurrency: [0, 'x'],
  lane: ['tenant', null],
  lanes: [null, { weight: 'x' }, { weight: null }, { weight: [1] }, { weight: { acme: 0 } }, { order: 'x' }],
  order: ['fifo', null],
  cost: ['x', null, Number.NaN, 0],
  rate: ['x', { limit: 1, per: 0 }, { limit: '1', per: '1s' }, { limit: 1, per: '1s', burst: null }],
  limit: ['api', null],
}

function never(): void {}

const CASES = Object.entries(VALUES).flatMap(([option, values]) =>
  values.map((value): [string, unknown] => [option, value]),
)

describe('A queue', () => {
  it.each(CASES)('refuses a value that cannot be, where it is declared: %s: %o', (option, value) => {
    const error = refusal(() => queue('mail', { [option]: value } as never))

    expect(error.code).toMatch(/^(?:OPTION|DURATION)_INVALID$/)
    expect(error.message).toContain(option === 'preset' ? 'presets.dark' : option)
  })

  it('says what makes an ending, a failure policy and a backoff', () => {
    const messages = [
      () => queue('mail', { onError: retry as never }),
      () => queue('mail', { onSuccess: buried() as never }),
      () => retry(3, '1s' as never),
    ].map((call) => refusal(call).message)

    expect(messages).toEqual([
      'onError of queue "mail" is the function "retry"; it is made by retry(5, exponential(\'1s\')) or never().',
      expect.stringContaining("it is made by archive('3d') or discard()."),
      "The backoff of retry() is \"1s\"; it is made by fixed('5s') or exponential('1s', { max: '1h' }).",
    ])
  })

  it('in strict order refuses a priority, which each of its jobs would be refused for', () => {
    for (const strict of [{ order: 'strict' }, { lanes: { order: 'strict' } }] as const) {
      expect(refusal(() => queue('mail', { ...strict, priority: 5 })).code).toBe('OPTION_INVALID')
    }
  })

  it('refuses a batch without options', () => {
    expect(refusal(() => queue('mail').handleBatch(undefined as never, () => {})).code).toBe('OPTION_INVALID')
  })

  it('accepts what every builder makes', () => {
    for (const preset of Object.values(presets))
      expect(queue('mail', { preset }).policy).toEqual(preset.queue)
    for (const onError of [
      retry(0),
      retry(Infinity),
      retry(1_000_000, fixed('100d'), { ending: discard() }),
    ]) {
      expect(queue('mail', { onError }).policy.onError).toEqual(onError)
    }
  })
})

describe('A step of a flow', () => {
  const mail = queue<object>('mail')
  const strict = queue<object>('ledger', { order: 'strict' })

  it.each([
    { timeout: '0s' },
    { timeout: 'x' },
    { retention: 'x' },
    { priority: Number.NaN },
    { delay: 'x' },
    { delay: 1e300 },
    { cost: 0 },
    { lane: '' },
    { runAt: new Date(Number.NaN) },
    { headers: 'x' },
  ])('refuses a value that none of its jobs could have: %o', (options) => {
    const declare = () => flow('order', (f) => f.input<object>().step(mail, options as never))

    expect(refusal(declare).code).toMatch(/_INVALID$/)
  })

  it('refuses a priority on a queue in strict order, also on the queue that undoes it', () => {
    const step = () => flow('order', (f) => f.input<object>().step(strict, { priority: 5 }))
    const undo = () =>
      flow('order', (f) => f.input<object>().step(mail, { priority: 5, undo: strict } as never))

    expect([step, undo].map((declare) => refusal(declare).code)).toEqual(['OPTION_INVALID', 'OPTION_INVALID'])
  })
})

describe('What a flow calls or compares only when a run comes to it', () => {
  const mail = queue<object>('mail')
  type Start = { step: never; each: never; parallel: never; when: never; repeat: never }
  const steps: readonly (readonly [string, (f: Start) => unknown])[] = [
    ['payload', (f) => call(f.step, mail, { payload: { id: 1 } })],
    ['as', (f) => call(f.step, mail, { as: 1 })],
    ['as', (f) => call(f.step, mail, { as: '' })],
    ['undo', (f) => call(f.step, mail, { undo: 'refund' })],
    ['undo', (f) => call(f.step, mail, { undo: null })],
    ['items', (f) => call(f.each, 'boxes', mail, 'items')],
    ['join', (f) => call(f.each, 'boxes', mail, [], 'settled')],
    ['join', (f) => call(f.each, 'boxes', mail, [], { join: 'settled' })],
    ['join', (f) => call(f.each, 'boxes', mail, [], { join: first })],
    ['join', (f) => call(f.parallel, { a: mail }, 'all')],
    ['queue', (f) => call(f.parallel, { a: 'mail' })],
    ['test', (f) => call(f.when, true, (g: unknown) => g)],
    ['while', (f) => call(f.repeat, { most: 2, while: true }, (g: unknown) => g)],
  ]

  it.each(steps)('is refused where it is declared: %s of %s', (name, step) => {
    const error = refusal(() => flow('order', (f) => step(bound(f.input<object>())) as never))

    expect(error.code).toMatch(/^(?:OPTION|CONFIG)_INVALID$/)
    expect(error.message).toContain(name)
  })

  function call(step: never, ...given: unknown[]): unknown {
    return (step as (...given: unknown[]) => unknown)(...given)
  }

  /** The methods of a builder as functions, without their types. */
  function bound(steps: unknown): Start {
    const methods = steps as Record<string, (...given: unknown[]) => unknown>
    const names = ['step', 'each', 'parallel', 'when', 'repeat']
    return Object.fromEntries(
      names.map((name) => [name, (...given: unknown[]) => methods[name]?.(...given)]),
    ) as Start
  }
})

describe('A schedule', () => {
  const mail = queue<number>('mail')
  const strict = queue<number>('ledger', { order: 'strict' })
  const order = flow('order', (f) => f.input<object>().step(mail as never))

  it.each([
    { unique: { dealy: 1 } },
    { unique: {} },
    { unique: null },
    { unique: '' },
    { unique: { key: 'a', scope: 'queud' } },
    { unique: { key: 'a', onConflict: 'drop' } },
    { priority: 1.5 },
    { headers: 5 },
    { headers: { a: 1 } },
    { timeout: '5 minutes' },
    { retention: 'x' },
    { queue: { name: 'mail' } },
    { queue: strict, priority: 5 },
    { from: 'last' },
  ])('refuses a value that none of its jobs could have, before it is declared: %o', (options) => {
    const given = { queue: mail, every: '1h', ...options } as never
    const refused = [{ payload: 1 }, { payload: () => 1 }].map((payload) =>
      refusal(() => schedule('nightly', { ...(given as object), ...payload } as never)),
    )

    for (const { code } of refused) expect(code).toMatch(/_INVALID$/)
  })

  it.each([{ priority: 1.5 }, { attributes: 5 }, { attributes: { a: {} } }, { flow: mail }])(
    'of runs does so too: %o',
    (options) => {
      const given = { flow: order, every: '1h', ...options } as never

      expect(refusal(() => schedule('nightly', given)).code).toMatch(/_INVALID$/)
    },
  )

  it('that schedule() did not make is refused by declare() and put()', async () => {
    const skep = createSkep({ store: memoryStore() })
    const plain = { id: 'nightly', queue: mail, every: '1h' } as never

    for (const given of [[plain], plain, [null], 'nightly', undefined] as never[]) {
      const error = refusal(() => skep.schedules.declare(given))
      expect(error).toMatchObject({ code: 'OPTION_INVALID', message: expect.stringContaining('schedule(') })
    }
    await expect(skep.schedules.put(plain)).rejects.toMatchObject({ code: 'OPTION_INVALID' })
  })
})

describe('A group', () => {
  it('refuses a join that is none, before anything is written', async () => {
    const { skep, faults } = openScene()
    const mail = queue<number>('mail')

    for (const join of ['all', {}, first, null, { kind: 'all' }] as never[]) {
      await expect(skep.groups.group([mail.job(1)], { join })).rejects.toMatchObject({
        code: 'OPTION_INVALID',
      })
      await expect(skep.groups.open('some', { join })).rejects.toMatchObject({ code: 'OPTION_INVALID' })
    }
    expect(faults.arguments('insert')).toEqual([])
  })
})

describe('A worker', () => {
  it.each(['lease', 'drain', 'grace', 'poll', 'rescueGrace', 'prune'])(
    'refuses %s beyond 100 years',
    (name) => {
      const skep = createSkep({ store: memoryStore() })

      const error = refusal(() => skep.worker([queue('mail').handle(() => 1)], { [name]: 1e300 }))

      expect(error).toMatchObject({ code: 'OPTION_INVALID', message: expect.stringContaining(name) })
    },
  )
})

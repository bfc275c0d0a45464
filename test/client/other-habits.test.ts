/** What users of other libraries write by habit, and what would silently do nothing. */
import { describe, expect, it } from 'vitest'
import {
  consoleLogger,
  createSkep,
  localNotifier,
  queue,
  type SkepError,
  silentLogger,
} from '../../src/index.ts'
import { memoryStore } from '../../src/memory.ts'
import { postgresStore } from '../../src/postgres.ts'
import { redisStore } from '../../src/redis.ts'
import { createServer } from '../../src/server.ts'
import { virtualRuntime } from '../../src/testing.ts'
import { EVENT_NAMES } from '../../src/worker/event-names.ts'

const mail = queue<unknown, unknown>('mail')

function refusal(call: () => unknown): SkepError {
  try {
    call()
  } catch (error) {
    return error as SkepError
  }
  throw new Error('It was accepted.')
}

describe('Options after a handler', () => {
  it.each([
    ['handle', { concurrency: 5 }, '{ concurrency }'],
    ['handle', { timeout: '5m', lease: '1m' }, '{ timeout, lease }'],
    ['handle', 5, 'got 5.'],
    ['handleBatch', { concurrency: 5 }, '{ concurrency }'],
  ])('of %s are refused with the calls that take them: %o', (method, options, shown) => {
    const { handle, handleBatch } = mail as unknown as Record<string, (...given: unknown[]) => unknown>
    const call = () =>
      method === 'handle' ? handle?.(() => 1, options) : handleBatch?.({ size: 2 }, () => {}, options)

    const error = refusal(call)

    expect(error.code).toBe('OPTION_INVALID')
    expect(error.message).toContain(shown)
    expect(error.message).toMatch(/queue\("mail", options\).*skep\.worker\(handlers, options\)/)
  })

  it('may be undefined', () => {
    expect((mail.handle as (...given: unknown[]) => unknown)(() => 1, undefined)).toMatchObject({ batch: 1 })
  })
})

describe('An event that does not exist', () => {
  const skep = createSkep({ store: memoryStore(), logger: silentLogger })

  it.each([
    ['completed', 'finished'],
    ['succeeded', 'finished'],
    ['failed', 'error'],
    ['retries exhausted', 'dead'],
    ['active', 'received'],
    ['stalled', 'lost'],
    ['canceled', 'cancelled'],
    ['expired', 'timeout'],
    ['finishd', 'finished'],
    ['compleeted', 'finished'],
    ['Finished', 'finished'],
    ['recieved', 'received'],
    ['constructor', null],
    ['', null],
    [undefined, null],
    [Symbol('finished'), null],
  ])('is refused with the one that was probably meant: %s', (name, suggestion) => {
    const error = refusal(() => skep.on(name as never, () => {}))

    expect(error).toMatchObject({ code: 'OPTION_INVALID', facts: { suggestion } })
    expect(error.message).toMatch(/There is no event .* The events are received, finished, error,/)
    if (suggestion !== null) expect(error.message).toContain(`'${suggestion}'`)
  })

  it.each(['progress', 'waiting', 'drained'])('and has no equivalent is explained: %s', (name) => {
    expect(refusal(() => skep.on(name as never, () => {})).message).toMatch(/Use watch\(\)|promise|drain it/)
  })

  it.each(EVENT_NAMES)('is not %s, whose listener has to be a function', (name) => {
    skep.on(name, () => {})()
    expect(refusal(() => skep.on(name, undefined as never)).message).toContain('pass a function')
  })
})

describe('A part of createSkep() that is something else', () => {
  it.each([
    ['logger', {}],
    ['logger', null],
    ['logger', { ...silentLogger, debug: undefined }],
    ['logger', true],
    ['history', {}],
    ['history', 'false'],
    ['notifier', {}],
    ['notifier', null],
    ['notifier', 'nats://localhost'],
    ['telemetry', {}],
    ['telemetry', true],
    ['runtime', { now: () => 1 }],
    ['version', 1],
    ['enqueueTimeout', {}],
    ['storeTimeout', 'soon'],
    ['payloadBytes', '1mb'],
    ['space', 5],
  ])('is refused with what is expected: %s: %o', (name, value) => {
    const error = refusal(() => createSkep({ store: memoryStore(), [name]: value } as never))

    expect(error.code).toMatch(/^(?:OPTION|DURATION|NAME)_INVALID$/)
    expect(error.message.toLowerCase()).toContain(name.toLowerCase())
    expect(error.message).toMatch(/\b[uU]se\b/)
  })

  it.each([undefined, {}, { insert: () => {} }, memoryStore, 'postgres://localhost'])(
    'is refused if it is the store: %o',
    (store) => {
      expect(refusal(() => createSkep({ store } as never))).toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('needs a store: memoryStore()'),
      })
    },
  )

  it('is not taken for one: console, undefined, and parts of another make', async () => {
    const runtime = virtualRuntime({ seed: 1 })
    const parts = [
      { logger: console },
      { logger: consoleLogger },
      { logger: undefined, history: undefined, notifier: undefined, version: undefined } as object,
      { notifier: localNotifier({ runtime }), runtime },
      { runtime: { ...runtime, mono: () => runtime.mono() } },
      { history: false, version: '' },
    ]
    for (const part of parts) await createSkep({ store: memoryStore(), ...part }).close()
  })

  it.each(['true', 'false', {}, 1, null])('is refused where it is true or false: %o', (value) => {
    const skep = createSkep({ store: memoryStore(), logger: silentLogger })
    const flags: readonly (readonly [string, (given: never) => unknown])[] = [
      ...['bulk', 'open', 'insecure', 'plainHttp', 'readOnly', 'grpc'].map(
        (name) => [name, (given: never) => createServer(skep, { [name]: given })] as const,
      ),
      ['migrate', (migrate) => postgresStore({ url: 'postgres://localhost/none', migrate })],
      ['listen', (listen) => postgresStore({ url: 'postgres://localhost/none', listen })],
      ['noFsync', (noFsync) => postgresStore({ url: 'postgres://localhost/none', unsafe: { noFsync } })],
      ['liveness', (liveness) => redisStore({ url: 'redis://localhost', liveness })],
      ['noAof', (noAof) => redisStore({ url: 'redis://localhost', unsafe: { noAof } })],
    ]

    for (const [name, call] of flags) {
      expect(refusal(() => call(value as never)).message).toMatch(
        new RegExp(`^${name} of \\w+\\(\\) is .*; use true or false\\.$`),
      )
    }
  })

  it('is refused by a server if it is the quota of a space', () => {
    const skep = createSkep({ store: memoryStore(), logger: silentLogger })

    expect(refusal(() => createServer(skep, { quotas: { acme: 5 as never } })).code).toBe('OPTION_INVALID')
  })

  it('is refused by a server too: its logger', () => {
    const skep = createSkep({ store: memoryStore(), logger: silentLogger })

    expect(refusal(() => createServer(skep, { logger: {} as never, open: true })).message).toContain('logger')
  })
})

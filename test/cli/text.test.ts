import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { frame } from '../../src/cli/dev/layout.ts'
import { masker, maskUrl } from '../../src/cli/format/mask.ts'
import { count, rate, span } from '../../src/cli/format/numbers.ts'
import { table } from '../../src/cli/format/table.ts'
import { clean, cleanLines, cut, pad, safeJson, widthOf } from '../../src/cli/format/text.ts'
import { suggest } from '../../src/cli/suggest.ts'

const plain = (_: unknown, text: string): string => text
const DANGEROUS = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/u

describe('text from elsewhere', () => {
  it.each([
    ['\u001b[31mred\u001b[0m', 'red'],
    ['\u001b]0;title\u0007after', 'after'],
    ['\u001b]8;;http://evil\u001b\\link\u001b]8;;\u001b\\', 'link'],
    ['\u001bPdevice\u001b\\x', 'x'],
    ['\u009b2Jx', 'x'],
    ['a\r\nb\tc', 'a b c'],
    ['\u202egnp.exe', 'gnp.exe'],
    ['unfinished \u001b[', 'unfinished'],
    ['wörter 日本 🎉', 'wörter 日本 🎉'],
  ])('%j is shown as %j', (text, shown) => {
    expect(clean(text)).toBe(shown)
  })

  it('is harmless, whatever it is, and JSON of it reads back equal', () => {
    const hostile = fc.string({
      unit: fc.oneof(
        fc.constantFrom('\u001b', '[', ']', '\u0007', '\u009b', '\u202e', '\n', ';', 'm'),
        fc.string(),
      ),
    })
    fc.assert(
      fc.property(hostile, (text) => {
        expect(clean(text)).not.toMatch(DANGEROUS)
        expect(cleanLines(text).replaceAll('\n', '')).not.toMatch(DANGEROUS)
        const json = safeJson({ text }, 2)
        expect(json.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u)
        expect(JSON.parse(json)).toEqual({ text })
      }),
    )
  })

  it('takes exactly the columns it is given', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }).map(clean), fc.nat(40), (text, width) => {
        expect(widthOf(cut(text, width))).toBeLessThanOrEqual(width)
        expect(widthOf(pad(text, width))).toBe(width)
      }),
    )
  })
})

describe('a password', () => {
  it.each([
    ['postgres://ada:s3cret@host/db', 'postgres://ada:***@host/db'],
    ['postgres://ada:s3c@ret@host/db', 'postgres://ada:***@host/db'],
    ['postgres://ada:s3/c?r#et@host/db', 'postgres://ada:***@host/db'],
    ['postgres://ada@host/db?password=s3cret&x=1', 'postgres://ada@host/db?password=***&x=1'],
    ['postgres://ada@host/db', 'postgres://ada@host/db'],
    ['postgres://host:5432/db', 'postgres://host:5432/db'],
    ['redis://:s3cret@host:6379/2', 'redis://:***@host:6379/2'],
    ['rediss://ada:s3c@ret@host', 'rediss://ada:***@host'],
    ['redis://host:6379', 'redis://host:6379'],
  ])('is hidden in %s', (url, shown) => {
    expect(maskUrl(url)).toBe(shown)
  })

  it('is hidden in what a driver says, encoded or not', () => {
    const mask = masker('postgres://ada:p%40ss%2Fword@host/db')

    expect(mask('no route to postgres://ada:p%40ss%2Fword@host/db')).toBe(
      'no route to postgres://ada:***@host/db',
    )
    expect(mask('password "p@ss/word" refused')).toBe('password "***" refused')
    expect(mask('see postgres://other:thing@elsewhere/x')).toBe('see postgres://other:***@elsewhere/x')
  })

  it('that is also the name of the user does not hide that name', () => {
    const mask = masker('postgres://postgres:postgres@host/db')

    expect(mask('postgres://postgres:postgres@host/db')).toBe('postgres://postgres:***@host/db')
  })
})

describe('did you mean', () => {
  it.each([
    ['queus', 'queues'],
    ['jbos', 'jobs'],
    ['enq', 'enqueue'],
    ['DOCTOR', 'doctor'],
    ['zzzz', undefined],
  ])('%s → %s', (typed, meant) => {
    expect(suggest(typed, ['queues', 'jobs', 'enqueue', 'doctor'])).toBe(meant)
  })
})

describe('numbers', () => {
  it('are short', () => {
    expect([0, 999, 1_204, 999_999, 1_234_567].map(count)).toEqual(['0', '999', '1,204', '999,999', '1.23M'])
    expect([0, 950, 1_500, 9_990, 59_940, 95_000, 90_000_000].map(span)).toEqual([
      '0ms',
      '950ms',
      '1.5s',
      '10s',
      '1m',
      '1m 35s',
      '1d 1h',
    ])
    expect([0, 0.25, 12.34, 1_234].map(rate)).toEqual(['0', '0.3', '12.3', '1,234'])
  })
})

describe('a table', () => {
  it('fits the terminal by cutting the columns that may be cut', () => {
    const lines = table(
      [{ title: 'A' }, { title: 'N', align: 'right' }, { title: 'TEXT', flexible: true }],
      [
        ['x', '1', 'a long text that goes on and on and on'],
        ['yy', '22', 'short'],
      ],
      { width: 30, paint: plain },
    )

    expect(lines).toEqual(['A    N  TEXT', 'x    1  a long text that goes…', 'yy  22  short'])
    expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(30)
  })
})

describe('the board', () => {
  const state = fc.nat(2_000_000)
  const row = fc.record({
    name: fc.stringMatching(/^[a-z0-9.]{1,60}$/),
    states: fc.record({
      delayed: state,
      ready: state,
      running: state,
      done: state,
      failed: state,
      dead: state,
      cancelled: state,
    }),
    rate: fc.double({ min: 0, max: 1e6, noNaN: true }),
    oldestMs: fc.option(fc.nat()),
    hold: fc.constantFrom(null, 'pause' as const, 'block' as const),
    workers: fc.nat(9),
  })
  const presence = fc.record({
    id: fc.string(),
    host: fc.string(),
    pid: fc.nat(),
    queues: fc.array(fc.string()),
    concurrency: fc.nat(),
    running: fc.nat(),
    startedAt: fc.constant('2026-11-16T09:30:00.000Z'),
    version: fc.option(fc.string()),
    node: fc.option(fc.string()),
    memoryBytes: fc.option(fc.nat()),
    lagMs: fc.option(fc.nat()),
    command: fc.constantFrom(null, 'pause' as const, 'stop' as const),
    paused: fc.boolean(),
    seenAt: fc.constant('2026-11-16T09:30:00.000Z'),
    life: fc.constantFrom('here' as const, 'gone' as const, 'unsure' as const),
  })
  const event = fc.record({
    at: fc.nat(),
    kind: fc.constantFrom('done' as const, 'error' as const, 'dead' as const, 'other' as const),
    queue: fc.string().map(clean),
    what: fc.string().map(clean),
    why: fc.string({ maxLength: 300 }).map(clean),
    id: fc.constant(''),
  })
  const snapshot = fc.record({
    at: fc.nat(),
    upMs: fc.nat(),
    status: fc.constantFrom('connecting' as const, 'running' as const, 'away' as const, 'stopping' as const),
    trouble: fc.option(fc.string({ maxLength: 300 }).map(clean)),
    rows: fc.array(row, { maxLength: 60 }),
    own: fc.array(fc.string().map(clean), { maxLength: 9 }),
    rate: fc.double({ min: 0, max: 1e6, noNaN: true }),
    history: fc.array(fc.nat(), { minLength: 30, maxLength: 30 }),
    workers: fc.nat(99),
    running: fc.nat(999),
    slots: fc.nat(999),
    finished: fc.nat(),
    retried: fc.nat(),
    dead: fc.nat(),
    flows: fc.record({
      running: fc.nat(),
      failed: fc.nat(),
      names: fc.array(fc.record({ name: fc.string().map(clean), running: fc.nat() }), { maxLength: 9 }),
      isAll: fc.boolean(),
    }),
    presences: fc.array(presence, { maxLength: 9 }),
    events: fc.array(event, { maxLength: 40 }),
  })

  it('never leaves the terminal, whatever its size', () => {
    const captions = new Map<string, string>()
    fc.assert(
      fc.property(
        snapshot,
        fc.integer({ min: 20, max: 200 }),
        fc.integer({ min: 5, max: 60 }),
        fc.constantFrom('recent' as const, 'workers' as const),
        (now, columns, rows, list) => {
          const lines = frame(now, {
            columns,
            rows,
            paint: plain,
            title: 'dev',
            place: 'a.db',
            tip: 'try',
            keys: 'q quit',
            captions,
            selected: now.rows[0]?.name,
            list,
          })

          expect(lines).toHaveLength(rows)
          for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns)
        },
      ),
      { numRuns: 200 },
    )
  })
})

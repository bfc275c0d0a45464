import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { SkepError } from '../../src/core/errors.ts'
import { fingerprintOf } from '../../src/core/jobs/fingerprint.ts'
import { JOB_STATES, type Job, PLAIN_JOB } from '../../src/core/jobs/job.ts'
import { create } from '../../src/core/jobs/transitions.ts'
import { OPERATORS, QUERY_FIELDS, type QueryField } from '../../src/core/query/fields.ts'
import { matches } from '../../src/core/query/match.ts'
import { queryParts } from '../../src/core/query/parts.ts'
import { planQuery, type QueryPlan } from '../../src/core/query/plan.ts'
import {
  parseQuery,
  printQuery,
  QUERY_LIMITS,
  type Query,
  type Term,
  type Value,
} from '../../src/core/query/query.ts'

const NOW = Date.parse('2026-11-16T12:00:00Z')
const HOUR = 3_600_000
const ID = '019a8f3c-2f1e-7b7a-8c33-5d1f0a9b7e21'

function job(changes: Partial<Job> = {}): Job {
  const fresh = { ...PLAIN_JOB, id: ID, space: 'default', queue: 'mail.send', payload: 'null' }
  return { ...create(fresh, NOW - 2 * HOUR), ...changes }
}

function fits(query: string, changes: Partial<Job> = {}): boolean {
  const hostOf = (id: string): string | undefined => (id === 'w1' ? 'web-1' : undefined)
  return matches(parseQuery(query), job(changes), { now: NOW, hostOf })
}

function refusal(text: string): SkepError {
  try {
    parseQuery(text)
  } catch (error) {
    if (error instanceof SkepError) return error
    throw error
  }
  throw new Error(`${text} was taken.`)
}

const plainText = fc
  .string({ minLength: 1, maxLength: 12, unit: 'grapheme' })
  .filter((text) => text.isWellFormed())

function anyValue({ kind }: QueryField): fc.Arbitrary<Value> {
  const operator = fc.constantFrom(...OPERATORS[kind])
  const plain = (text: fc.Arbitrary<string>): fc.Arbitrary<Value> =>
    fc.record({ operator, text, isPattern: fc.constant(false) })
  switch (kind) {
    case 'state':
      return plain(fc.constantFrom(...JOB_STATES))
    case 'id':
      return plain(fc.uuid())
    case 'number':
      return plain(fc.integer().map(String))
    case 'bound':
    case 'moment':
      return plain(
        fc.constantFrom('1h', '+2d', 'now', '2026-11-01', '2026-11-01T09:30Z', '2026-11-01T09:30:01.5+02:00'),
      )
    default: {
      const pattern = fc
        .constantFrom('*', 'a*', '*.b', 'mail.*.x')
        .map((text): Value => ({ operator: '=', text, isPattern: true }))
      return fc.oneof(plain(plainText), pattern)
    }
  }
}

const anyTerm: fc.Arbitrary<Term> = fc.oneof(
  fc.record({
    isNegated: fc.boolean(),
    field: fc.constant('text'),
    path: fc.constant([]),
    values: plainText.map((text): Value[] => [{ operator: '~', text, isPattern: false }]),
  }),
  fc.constantFrom(...QUERY_FIELDS).chain((field) =>
    fc.record({
      isNegated: fc.boolean(),
      field: fc.constant(field.name),
      path:
        field.kind === 'json' || field.kind === 'header'
          ? fc.array(plainText, { minLength: 1, maxLength: 3 })
          : field.kind === 'error'
            ? fc.constantFrom([], ['group'], ['kind'], ['name'], ['code'], ['message'])
            : fc.constant([]),
      values: fc.array(anyValue(field), { minLength: 1, maxLength: field.kind === 'bound' ? 1 : 3 }),
    }),
  ),
)
const anyQuery: fc.Arbitrary<Query> = fc
  .record({ terms: fc.array(anyTerm, { maxLength: 6 }) })
  .filter((query) => printQuery(query).length <= QUERY_LIMITS.characters)

describe('a query', () => {
  it('that was printed and read again is the same', () => {
    fc.assert(
      fc.property(anyQuery, (query) => {
        expect(parseQuery(printQuery(query))).toEqual(query)
      }),
      { numRuns: 2_000 },
    )
  })

  it('with a pattern that begins with an equals sign is printed as a pattern', () => {
    const query = parseQuery('payload.note:=*')
    expect(query.terms[0]?.values).toEqual([{ operator: '=', text: '=*', isPattern: true }])
    expect(parseQuery(printQuery(query))).toEqual(query)
  })

  it('of any text is read or refused with a place inside of the text, and its parts never throw', () => {
    const signs = fc.constantFrom(
      'state',
      ':',
      'dead',
      ',',
      '"',
      '-',
      ' ',
      '\\',
      '.',
      'payload',
      '*',
      '~',
      '>',
      '=',
      '1h',
      'é',
    )
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(signs, { maxLength: 12 }).map((all) => all.join('')),
        ),
        (text) => {
          queryParts(text)
          try {
            const query = parseQuery(text)
            expect(parseQuery(printQuery(query))).toEqual(query)
          } catch (error) {
            expect(error).toBeInstanceOf(SkepError)
            const { code, facts } = error as SkepError
            expect(code).toBe('QUERY_INVALID')
            expect(facts['position']).toBeGreaterThanOrEqual(0)
            expect(facts['position']).toBeLessThanOrEqual(text.length)
          }
        },
      ),
      { numRuns: 3_000 },
    )
  })

  it('has an example for every field that is read as that field', () => {
    for (const { name, example } of QUERY_FIELDS) {
      expect(parseQuery(example).terms.map(({ field }) => field)).toEqual([name])
    }
  })

  it.each([
    ['state:deed', 6, '"deed" is not a state'],
    ['queue:mail stat:dead', 11, '"stat" is not a field'],
    ['error:"never closed', 6, 'not closed'],
    ['priority:high', 9, '"high" is not a number'],
    ['since:yesterday', 6, 'is not a timestamp'],
    ['since:1h,2h', 0, 'takes one timestamp'],
    ['enqueued:1h', 9, 'needs a comparison'],
    ['state:>dead', 6, 'cannot be compared with'],
    ['id:7', 3, 'ids are UUIDs'],
    ['lane:', 5, 'A value is missing'],
    ['state:dead,', 11, 'A value is missing'],
    ['- state:dead', 1, 'must directly precede'],
    ['header:x', 0, 'Name a header'],
    ['error.stack:x', 0, 'error.group'],
    ['payload..x:1', 8, 'must follow the dot'],
    ['lane:"a"b', 8, 'separated by a blank'],
    ['a"b"', 1, 'quotation mark'],
    ['""', 0, 'nothing between'],
    ['state.x:dead', 0, 'has no parts'],
  ])('such as %s is refused at its character %i', (text, position, problem) => {
    const { code, message, facts } = refusal(text)

    expect(code).toBe('QUERY_INVALID')
    expect(message).toContain(problem)
    expect(facts['position']).toBe(position)
  })

  it('that is too long, or has too many terms, is refused', () => {
    expect(refusal('a'.repeat(1_001)).message).toContain('at most 1000 characters')
    expect(refusal('a '.repeat(31)).message).toContain('at most 30 terms')
    expect(parseQuery('a '.repeat(30)).terms).toHaveLength(30)
  })
})

describe('a job', () => {
  it('fits an empty query', () => {
    expect(fits('')).toBe(true)
  })

  it('fits only if all terms hold, and a minus turns one round', () => {
    expect(fits('state:ready queue:mail.send')).toBe(true)
    expect(fits('state:ready queue:other')).toBe(false)
    expect(fits('-state:dead,failed -queue:other')).toBe(true)
    expect(fits('-state:ready')).toBe(false)
  })

  it('is found by its queue with stars', () => {
    expect(fits('queue:mail.*')).toBe(true)
    expect(fits('queue:*.send')).toBe(true)
    expect(fits('queue:"mail.*"')).toBe(false)
    expect(fits('queue:~SEND')).toBe(true)
  })

  it('is found by values inside of its payload', () => {
    const payload = JSON.stringify({
      user: { id: 42, 'a.b c': 'x' },
      tags: ['new', 'vip'],
      items: [{ sku: 'A' }, { sku: 'B' }],
      at: '2026-11-02',
      no: null,
      yes: true,
    })
    for (const query of [
      'payload.user.id:42',
      'payload.user.id:42.0',
      'payload.user.id:>41',
      'payload.user.id:<=42',
      'payload.user."a.b c":x',
      'payload.tags:vip',
      'payload.items.sku:B',
      'payload.items.1.sku:B',
      'payload.at:>2026-11-01',
      'payload.no:null',
      'payload.yes:true',
      'payload.user:*',
      'payload.user.id:4*',
      'payload.user.id:41,42',
      'payload:~"\\"SKU\\":"',
      'payload.items:~sku',
      '-payload.user.name:*',
    ]) {
      expect(fits(query, { payload }), query).toBe(true)
    }
    for (const query of [
      'payload.user.id:4',
      'payload.user.id:>42',
      'payload.items.0.sku:B',
      'payload.constructor:*',
      'payload.tags:"v*"',
    ]) {
      expect(fits(query, { payload }), query).toBe(false)
    }
  })

  it('whose payload is no JSON is compared as text', () => {
    expect(fits('payload:~broken', { payload: '{broken' })).toBe(true)
    expect(fits('payload.x:1', { payload: '{broken' })).toBe(false)
  })

  it('is found by its error, its name, its code, its message and its group', () => {
    const error = {
      kind: 'error' as const,
      name: 'HttpError',
      code: 'ECONNREFUSED',
      message: 'Connection refused by 10.0.0.7',
    }
    const failure = JSON.stringify(error)
    for (const query of [
      'error:~"connection REFUSED"',
      'error:"Connection refused by 10.0.0.7"',
      'error:ECONNREFUSED',
      'error:error',
      'error.name:Http*',
      'error.message:~10.0.0.7',
      `error.group:${fingerprintOf('mail.send', error)}`,
    ]) {
      expect(fits(query, { failure }), query).toBe(true)
    }
    expect(fits('error:refused', { failure })).toBe(false)
    expect(fits('error.group:other', { failure })).toBe(false)
    expect(fits('error:*')).toBe(false)
  })

  it('is found by times: how long ago, how long from now, and dates', () => {
    expect(fits('enqueued:>3h')).toBe(true)
    expect(fits('enqueued:>1h')).toBe(false)
    expect(fits('enqueued:<2026-11-16T10:00:01Z')).toBe(true)
    expect(fits('enqueued:<2026-11-16')).toBe(false)
    expect(fits('due:<+1d')).toBe(true)
    expect(fits('started:<now')).toBe(false)
    expect(fits('since:3h before:1h')).toBe(true)
    expect(fits('since:1h')).toBe(false)
    expect(fits('-since:1h')).toBe(true)
    expect(fits('since:1h', { state: 'done', finishedAt: NOW - 1 })).toBe(true)
  })

  it('is found by numbers, headers, lane, worker, schedule, unique key and the job it is a copy of', () => {
    const changes: Partial<Job> = {
      starts: 3,
      priority: 7,
      lane: 'acme',
      worker: 'w1',
      uniqueKey: 'invoice-9',
      failure: JSON.stringify({ kind: 'error', message: 'no', version: '2.3.1' }),
      headers: JSON.stringify({ tenant: 'x', 'a.b': 'y', 'skep-schedule': 'nightly', 'skep-copy-of': ID }),
    }
    for (const query of [
      'attempt:>=3 attempt:<4 attempt:3',
      'priority:>5',
      'priority:-1,7',
      'lane:acme',
      'worker:w1',
      'worker:web-*',
      'unique:invoice-*',
      'version:2.3.1',
      'version:1.0,2.* -version:~beta',
      'header.tenant:x header.a.b:y',
      'schedule:nightly',
      `copy:${ID}`,
      `id:${ID.toUpperCase()}`,
    ]) {
      expect(fits(query, changes), query).toBe(true)
    }
    expect(fits('lane:""')).toBe(true)
    expect(fits('lane:""', changes)).toBe(false)
    expect(fits('worker:w1')).toBe(false)
    expect(fits('group:*')).toBe(false)
    expect(fits('version:*')).toBe(false)
    expect(fits('group:*', { member: { group: ID, n: 1 } })).toBe(true)
  })

  it('of a strict priority is found by the priority that was asked for', () => {
    expect(fits('priority:>5', { priority: 9_000_000 })).toBe(true)
    expect(fits('priority:>9', { priority: 9_000_000 })).toBe(false)
  })

  it('is found by free text in its payload, its error, its headers, its result, and by its id', () => {
    expect(fits('hello', { payload: '"Hello world"' })).toBe(true)
    expect(fits('"hello world"', { failure: '{"message":"HELLO WORLD"}' })).toBe(true)
    expect(fits('hello', { headers: '{"x":"hello"}' })).toBe(true)
    expect(fits('hello', { result: '"hello"' })).toBe(true)
    expect(fits('"say \\"hi\\""', { payload: JSON.stringify('say "hi"') })).toBe(true)
    expect(fits(ID)).toBe(true)
    expect(fits('hello')).toBe(false)
    expect(fits('-hello')).toBe(true)
  })
})

describe('the plan of a query', () => {
  const plan = (query: string): QueryPlan => planQuery(parseQuery(query), { now: NOW })

  it('leaves to the store what it can find by key', () => {
    const { states, queues, where, rest, isCounted } = plan(
      'state:dead,failed queue:mail,report lane:acme since:1h before:1m',
    )

    expect(states).toEqual(['dead', 'failed'])
    expect(queues).toEqual(['mail', 'report'])
    expect(where).toEqual({ lane: 'acme', after: NOW - HOUR, before: NOW - 60_000 })
    expect(rest).toBeNull()
    expect(isCounted).toBe(false)
  })

  it('of states and queues alone can be counted', () => {
    expect(plan('state:dead -queue:mail.*').isCounted).toBe(true)
    expect(plan('').isCounted).toBe(true)
    expect(plan('state:dead hello').isCounted).toBe(false)
  })

  it('takes states and queues together and away', () => {
    expect(plan('-state:done,dead').states).not.toContain('dead')
    expect(plan('state:dead,ready -state:dead').states).toEqual(['ready'])
    expect(plan('state:dead state:ready').states).toEqual([])
    expect(plan('queue:a,b -queue:a').queues).toEqual(['b'])
    expect(plan('queue:a*').queues).toBeNull()
    expect(plan('queue:a*').fitsQueue('abc')).toBe(true)
  })

  it('takes ids to look up only if they are those that are wanted', () => {
    const id = '01890a5d-ac96-774b-bcce-b302099a8057'

    expect(plan(`id:${id}`).ids).toEqual([id])
    expect(plan(`-id:${id}`).ids).toBeNull()
  })

  it('never loses a job: what the plan lets pass and the rest accepts is what fits', () => {
    const changes = fc.record({
      state: fc.constantFrom('ready' as const, 'delayed' as const),
      queue: fc.constantFrom('mail', 'a'),
      dueAt: fc.constantFrom(NOW - 2 * HOUR, NOW - HOUR, NOW, NOW + 1),
      lane: fc.constantFrom(null, 'acme', 'b'),
    })
    const terms = fc.constantFrom(
      'state:ready',
      '-state:ready',
      'queue:mail',
      '-queue:a*',
      'since:1h',
      '-since:1h',
      'before:now',
      '-before:now',
      'lane:acme',
      'lane:""',
      '-lane:acme',
      'lane:acme,b',
    )
    fc.assert(
      fc.property(fc.array(terms, { maxLength: 4 }), changes, (all, change) => {
        const one = job(change)
        const { states, fitsQueue, where, rest, fits: whole } = plan(all.join(' '))
        const passes =
          states.includes(one.state) &&
          fitsQueue(one.queue) &&
          one.dueAt >= (where.after ?? -Infinity) &&
          one.dueAt < (where.before ?? Infinity) &&
          (where.lane === undefined || (one.lane ?? '') === where.lane) &&
          (rest === null || rest(one))
        expect(passes).toBe(whole(one))
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('the parts of a query', () => {
  it('say what a field could be, and a state', () => {
    expect(queryParts('st')[0]?.completions.map(({ text }) => text)).toEqual(['state:', 'started:'])
    expect(queryParts('queue:a -state:dead,f')[1]).toMatchObject({
      from: 8,
      to: 21,
      isNegated: true,
      field: 'state',
      completions: [{ text: '-state:dead,failed' }],
    })
    expect(queryParts('header')[0]?.completions.map(({ text }) => text)).toEqual(['header.'])
    expect(queryParts('error.g')[0]?.completions.map(({ text }) => text)).toEqual(['error.group:'])
  })

  it('say what is wrong with each, and keep quoted blanks together', () => {
    const parts = queryParts('error:"a b" nope:1')

    expect(parts.map(({ field }) => field)).toEqual(['error', null])
    expect(parts[0]?.problem).toBeNull()
    expect(parts[1]?.problem).toContain('"nope" is not a field')
  })
})

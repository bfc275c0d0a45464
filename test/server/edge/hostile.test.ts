/** Texts that somebody stores to stop the server: every pattern that runs over them takes time in proportion to their length. */
import { execFile } from 'node:child_process'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { masker } from '../../../src/cli/format/mask.ts'
import { fingerprintOf } from '../../../src/core/jobs/fingerprint.ts'
import { PLAIN_JOB } from '../../../src/core/jobs/job.ts'
import { create } from '../../../src/core/jobs/transitions.ts'
import { matches } from '../../../src/core/lanes/holds.ts'
import { matches as fits } from '../../../src/core/query/match.ts'
import { LIMITS, parseQuery, printQuery, queue } from '../../../src/index.ts'
import { BUDGET_MS, SharedBudget } from '../../../src/operations/redaction/budget.ts'
import { HIDDEN, redactor } from '../../../src/operations/redaction/redact.ts'
import { Turns } from '../../../src/operations/turns.ts'
import { startServer } from '../support.ts'

const usual = redactor()

/** Beginnings of everything that some pattern looks for, over and over and never finished. */
const UNITS = [
  ...Array.from({ length: 94 }, (_, n) => String.fromCharCode(33 + n)),
  ' ',
  '\n',
  '\t',
  '\\',
  '\\"',
  '\u0000',
  'é',
  '🐝',
  '\u2028',
  '-----BEGIN PRIVATE KEY-----',
  '-----BEGIN ',
  '-----BEGIN A B C D PRIVATE KEY',
  '-----END ',
  '-----',
  'a://',
  'a://b:',
  'a://b:c',
  'a://b@',
  'abcdefghij+.-',
  '://',
  'password=',
  'password:',
  'password="',
  "password='\\",
  'password: ',
  'password => ',
  'password "',

  'pw:',
  'pw:!',
  'pw=.',
  'pass=1 ',
  'token=$',
  'token%3D',
  '%3Aab%3A',
  '%3Dtoken',
  'tokens:[',
  'secret:{',

  'authorization: ',
  'authorization:xxxxxxxxxxxxxxxx',
  'cookie: a',
  'cookie:""',
  'authorization: bearer ',

  'bearer ',
  'bearer aaaaaaa ',
  'basic\t',
  'digest aaaaaaaa',
  'eyJ',
  'eyJ-',
  'eyJaaaaaaaaaaaa.',
  'eyJaaaaaaaaaaaa.bb.',

  'sk_live_',
  'sk-',
  'xoxb-',
  'xoxb-a',
  'ghp_',
  'AKIA',
  'SG.',
  'SG.aaaaaaaaaaaaaaaaaaaa.',
  'ya29.',
  'key-',

  'hooks.slack.com/services/',
  '12345678:AA',
  '1111 1111 1111 ',
  '4242-',
  'skep_0',
  'skep_0123456789abcdef_',

  'Key (',
  'Key (a)',
  'Key ((a)',
  'Key (token)=(',
  'Key (token)=(a) ',
  ')=(',
  '<a>',
  '<a ',
  '<password>',
  '<password>a</',
  '</password>',
  '<password><![CDATA[',
  'curl -u ',
  'curl -u a:',
  ' -u a:b',
  "'token', '",
  "'token','a',",
  "'--password', ",
  '"token","',
  '"name":"token","value":"',
  "\\'token\\', \\'a",
  'session=',
  'password:\n  ',
  'password:\n  a',
  'password: |\n',
  'password=$',
  '$2b$10$',
  '$2b$10$aaaaaaaaaa',
  '$argon2id$v=1',
  '$6$a$',
  'stripe-signature: t=1,',

  "password '",
  'identified by "',
  'user[',
  '"]"]"]:',
  'ab:ac:',
  'xtoken:ytokez:',
  'a-',
  'a_',
  '--a',
  '--token ',

  'a@',
  'a@b.',
  'a.b@',
  '/a',
  '/a/',
  'C:\\a',
  '0x',
  '0xf',
  'abcdef0',
  '1,',
  '1.2:',
  '"a',
  "'a\n",
  '<text>',
  `${'a'.repeat(63)}:`,
  `${'\\'.repeat(31)}"`,
]

function textOf(unit: string, length: number): string {
  return unit.repeat(Math.ceil(length / unit.length)).slice(0, length)
}

/** What this process has computed meanwhile, whatever else keeps the machine busy. */
function cpuMs(since?: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since)
  return (user + system) / 1_000
}

function cpuOf(run: () => void): number {
  const from = process.cpuUsage()
  run()
  return cpuMs(from)
}

function fastest(run: () => void): number {
  return Math.min(...Array.from({ length: 3 }, () => cpuOf(run)))
}

/** Four times the text may take four times as long, and twice that with what else happens meanwhile. What is quadratic takes sixteen times. */
function tooSlow(run: (text: string) => void, unit: string, length: number): string | null {
  const [one, four] = [textOf(unit, length), textOf(unit, length * 4)]
  // What is worse than quadratic would not come back from the longer text.
  if (cpuOf(() => run(one)) > 2_000 && cpuOf(() => run(one)) > 2_000) {
    return `${JSON.stringify(unit)}: more than 2 s`
  }
  // Most of them take nothing at all.
  if (cpuOf(() => run(four)) < 150) return null
  const [short, long] = [fastest(() => run(one)), fastest(() => run(four))]
  return long > 150 && long > short * 9 ? `${JSON.stringify(unit)}: ${short} ms, then ${long} ms` : null
}

describe('take time in proportion to their length', () => {
  it('in the redactor', () => {
    const slow = UNITS.map((unit) => tooSlow((text) => void usual.text(text), unit, 100_000))

    expect(slow.filter(Boolean)).toEqual([])
  })

  it('in the redactor, as keys and in many small parts', () => {
    const slow = UNITS.map((unit) =>
      tooSlow(
        (text) => {
          const parts = text.match(/[\s\S]{1,50}/g) ?? []
          usual.value({
            [text]: text,
            parts,
            keys: Object.fromEntries(parts.map((part, n) => [part + n, part])),
          })
        },
        unit,
        25_000,
      ),
    )

    expect(slow.filter(Boolean)).toEqual([])
  })

  it('in the fingerprints of errors', () => {
    const slow = UNITS.map((unit) =>
      tooSlow(
        (text) => void fingerprintOf('mail', { kind: 'error', message: text, name: text, code: text }),
        unit,
        50_000,
      ),
    )

    expect(slow.filter(Boolean)).toEqual([])
  })

  it('in patterns with many stars', () => {
    const slow = ['a', 'ab', 'a*', '*'].map((unit) =>
      tooSlow((text) => void matches(`${'*a'.repeat(60)}*b`, text), unit, 50_000),
    )

    expect(slow.filter(Boolean)).toEqual([])
  })

  it('in the query language', () => {
    const slow = [...UNITS, 'a:', 'a:b ', '-', 'a:"', 'a:(', 'a:>', 'a.b.c:1 ', 'a:1,', 'not '].map((unit) =>
      tooSlow(
        (text) => {
          try {
            printQuery(parseQuery(text))
          } catch {
            // Most of them are no queries.
          }
        },
        unit,
        50_000,
      ),
    )

    expect(slow.filter(Boolean)).toEqual([])
  })
})

/** What a query may ask of a stored string: every operator, of every place that holds one. */
const QUESTIONS: readonly string[] = ['payload.at', 'payload', 'header.at'].flatMap((field) => [
  ...['>', '>=', '<', '<='].flatMap((operator) => [`${field}:${operator}5`, `${field}:${operator}x`]),
  `${field}:5`,
  `${field}:~x5`,
  `${field}:*1*1*1*2`,
  `${field}:~${'1'.repeat(400)}2`,
])
const TEXTS: readonly string[] = [
  ...['error.message', 'error', 'unique', 'lane'].flatMap((field) => [`${field}:~x5`, `${field}:*1*1*1*2`]),
  'error.group:0123456789abcdef',
  '"x5"',
  `"${'1'.repeat(400)}2"`,
]
const DIGITS: readonly string[] = ['1', '1.', '.1', '1e', '+1', '1x']

describe('what is stored is matched in time in proportion to its length', () => {
  it.each([...QUESTIONS, ...TEXTS])('by %s', (question) => {
    const query = parseQuery(question)
    const ask = (at: string): void => {
      const job = create(
        {
          ...PLAIN_JOB,
          id: '019a8f3c-2f1e-7b7a-8c33-5d1f0a9b7e21',
          space: 'default',
          queue: 'mail',
          payload: 'null',
        },
        0,
      )
      const text = JSON.stringify({ at, in: [{ at }] })
      const failure = JSON.stringify({ kind: 'error', name: at, code: at, message: at })
      fits(
        query,
        { ...job, payload: text, result: text, headers: text, failure, uniqueKey: at, lane: at },
        { now: 0 },
      )
    }
    // Whether it is a number shows at its end alone. First as much as shows what is quadratic, then 1 MB.
    const slow = DIGITS.flatMap((unit) =>
      ['', '!'].map(
        (end) =>
          tooSlow((at) => ask(at + end), unit, 25_000) ?? tooSlow((at) => ask(at + end), unit, 250_000),
      ),
    )

    expect(slow.filter(Boolean)).toEqual([])
  })

  it('by a server that is asked for it', async () => {
    const { call, skep } = await startServer({}, { payloadBytes: 4_194_304 })
    const askFor = async (length: number): Promise<number> => {
      await skep.enqueue(queue(`of-${length}`), { at: `${'1'.repeat(length)}!` })
      let best = Infinity
      for (let n = 0; n < 3; n++) {
        const from = performance.now()
        expect((await call('jobs.count', { query: `queue:of-${length} payload.at:>5` })).count).toBe(0)
        best = Math.min(best, performance.now() - from)
      }
      return best
    }

    const [short, long] = [await askFor(20_000), await askFor(160_000)]

    // Eight times as long: what is quadratic takes sixty-four times.
    expect(long < 300 || long < short * 20, `${short} ms, then ${long} ms`).toBe(true)
  })
})

it('the command line hides passwords in messages in time in proportion to their length', () => {
  const mask = masker('postgres://ada:geheim@db/shop')

  const slow = UNITS.map((unit) => tooSlow((text) => void mask(text), unit, 50_000))

  expect(slow.filter(Boolean)).toEqual([])
})

/** Payloads of at most the default size that are full of keys or of short texts. */
const CROWDED: readonly (readonly [name: string, entry: (job: number, n: number) => [string, unknown]])[] = [
  ['long keys', (job, n) => [`${'aA'.repeat(90)}auth${job}x${n}x`, 0]],
  ['short texts', (_job, n) => [`t${n}`, 'ab:cd:ef=gh']],
  ['objects', (job, n) => [`t${n}`, { name: `authx${job}x${n}`, value: 0 }]],
]

function crowded(entry: (job: number, n: number) => [string, unknown], job: number): object {
  const entries: [string, unknown][] = []
  for (let n = 0, bytes = 2; n < 3_300; n++) {
    const [key, value] = entry(job, n)
    bytes += JSON.stringify({ [key]: value }).length
    if (bytes > 250_000) break
    entries.push([key, value])
  }
  return Object.fromEntries(entries)
}

describe('a response', () => {
  it('hides long texts unread when it has looked for secrets for too long', () => {
    let now = 0
    // Each look at the clock is 30 ms later: a text takes that long.
    const limited = usual.limited?.(() => (now += 30)) as typeof usual

    const shown = Array.from({ length: 40 }, () => limited.value({ state: 'dead', note: 'x'.repeat(100) }))

    expect(shown[0]).toEqual({ state: 'dead', note: 'x'.repeat(100) })
    expect(shown.at(-1)).toEqual({ state: 'dead', note: HIDDEN })
    // The next response begins anew.
    expect(usual.limited?.(() => 0).text('x'.repeat(100))).toBe('x'.repeat(100))
  })

  it.each([
    ['keys', Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`k${n}`, n]))],
    ['short texts', Array.from({ length: 1_000 }, (_, n) => `t${n}`)],
    ['objects', Array.from({ length: 1_000 }, (_, n) => ({ n }))],
  ])('hides what is left when it has looked at many %s for too long', (_name, value) => {
    let now = 0
    const limited = usual.limited?.(() => (now += 30)) as typeof usual

    const shown = Array.from({ length: 10 }, () => limited.value(value))

    expect(shown[0]).toEqual(value)
    expect(shown.at(-1)).toBe(HIDDEN)
    // What a page needs to be read is shown even then.
    expect(limited.value({ state: 'dead', password: 'geheim', n: 1 })).toEqual({
      state: 'dead',
      password: HIDDEN,
      n: 1,
    })
  })

  it('judges no more than the ends of a long key', () => {
    const key = (end: string): string => `a${'-x'.repeat(5_000)}${end}`

    expect(usual.value({ [key('-password')]: 'geheim' })).toEqual({ [key('-password')]: HIDDEN })
    expect(usual.value({ [`password-${key('')}`]: 'geheim' })).toEqual({ [`password-${key('')}`]: HIDDEN })
    const value = { [`${key('-password-')}${key('')}`]: 'geheim' }
    expect(usual.value(value)).toBe(value)
  })

  it('hides the rest of a value in the middle of which its time is up', () => {
    let now = 0
    const limited = usual.limited?.(() => (now += 150)) as typeof usual
    const value = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`k${n}`, n]))

    const shown = Object.values(limited.value(value))

    expect([shown[0], shown[600], shown.at(-1)]).toEqual([0, 600, HIDDEN])
  })

  it.each(CROWDED)('looks no longer than it may at 200 payloads of many %s', (_name, entry) => {
    const payloads = Array.from({ length: 200 }, (_, job) => crowded(entry, job))
    const limited = usual.limited?.(() => performance.now()) as typeof usual
    const from = process.cpuUsage()

    for (const payload of payloads) limited.value(payload)

    expect(cpuMs(from)).toBeLessThan(3 * BUDGET_MS)
  })

  it.each(CROWDED)('is given in time when 200 jobs have many %s', async (_name, entry) => {
    const { skep, call } = await startServer()
    const payloads = Array.from({ length: 200 }, (_, job) => crowded(entry, job))
    const mail = queue('mail')
    await skep.enqueueMany(mail, payloads)
    const delay = monitorEventLoopDelay({ resolution: 10 })
    onTestFinished(() => void delay.disable())
    delay.enable()
    const from = process.cpuUsage()

    const first = await call('jobs.list', { limit: 200 })

    delay.disable()
    const bytes = Buffer.byteLength(JSON.stringify(first))
    expect(cpuMs(from)).toBeLessThan(5 * BUDGET_MS)
    expect(delay.max / 1e6).toBeLessThan(10 * BUDGET_MS)
    expect(bytes).toBeLessThan(1.5 * LIMITS.pageBytes)
    expect(first.cursor).not.toBeNull()
  })

  it('is charged to what all responses of a server may spend, which is refilled over time', () => {
    let now = 0
    const shared = new SharedBudget()
    const shownAt = (at: number): unknown[] => {
      now = at
      // Each look at the clock is 30 ms later: a text takes that long.
      const limited = usual.limited?.(() => (now += 30), shared) as typeof usual
      return Array.from({ length: 40 }, () => limited.text('x'.repeat(100)))
    }

    expect(shownAt(0)).toContain('x'.repeat(100))
    expect(new Set(shownAt(now))).toEqual(new Set([HIDDEN]))
    expect(shownAt(now + 4_000)).toContain('x'.repeat(100))
  })

  it('takes its turn in an iteration of the event loop of its own, and rests as long as the turn took', async () => {
    let now = 0
    const deferred: (() => void)[] = []
    const timers: [ms: number, run: () => void][] = []
    const turns = new Turns({
      mono: () => now,
      defer: (run) => void deferred.push(run),
      timer: (ms, run) => {
        timers.push([ms, run])
        return () => {}
      },
    })
    const done: string[] = []
    const work = async (name: string): Promise<void> => {
      await turns.next()
      now += 100
      done.push(name)
    }
    const iterate = async (): Promise<void> => {
      for (const run of deferred.splice(0)) run()
      await Promise.resolve()
      await Promise.resolve()
    }
    void work('a')
    void work('b')

    await iterate()
    expect(done).toEqual(['a'])
    await iterate()
    await iterate()
    expect(done).toEqual(['a'])
    expect(timers.map(([ms]) => ms)).toEqual([100])
    timers[0]?.[1]()
    await iterate()
    expect(done).toEqual(['a', 'b'])
  })

  it('leaves the event loop free between ten lists of many keys at once', async () => {
    const { skep, url } = await startServer()
    const payloads = Array.from({ length: 40 }, (_, job) =>
      Object.fromEntries(
        Array.from({ length: 4_900 }, (_, k) => [`my${k}passwordx${job}`, `password: token=${k}`]),
      ),
    )
    await skep.enqueueMany(queue('mail'), payloads)
    // In a process of its own, so that all requests are there when the first one is answered.
    const script = `await Promise.all(Array.from({ length: Number(process.argv[2]) }, async () => {
      const response = await fetch(process.argv[1])
      if (response.status !== 200) throw new Error(await response.text())
      await response.arrayBuffer()
    }))`
    const blockedMs = async (lists: number): Promise<number> => {
      const delay = monitorEventLoopDelay({ resolution: 10 })
      delay.enable()
      const flags = ['--input-type=module', '-e', script, `${url}/api/v1/jobs?limit=200`, String(lists)]
      await promisify(execFile)(process.execPath, flags)
      delay.disable()
      return delay.max / 1e6
    }

    const one = await blockedMs(1)
    const ten = await blockedMs(10)

    // It was the sum of all ten.
    expect(ten, `one list blocks ${one} ms`).toBeLessThan(3 * Math.max(one, BUDGET_MS / 2))
  })

  it.each([
    ['keys in PEM that never end', '-----BEGIN PRIVATE KEY-----'],
    ['names of secrets', 'xtoken:'],
    ['quotes', 'password="\\'],
    ['beginnings of web tokens', 'eyJ-'],
  ])('is given in time when what is stored is full of %s', async (_name, unit) => {
    const admin = 'an-admin-token-that-is-long-enough-for-tests-0123456789'
    const producer = 'a-producer-token-that-is-long-enough-for-tests-0123456789'
    const { call } = await startServer({
      bodyBytes: 1_048_576,
      tokens: [
        { name: 'producer', token: producer, scopes: ['enqueue'] },
        { name: 'admin', token: admin, scopes: ['admin'], payloads: true },
      ],
    })
    for (let n = 0; n < 8; n++) {
      const payload = { note: textOf(unit, 200_000), n }
      await call('jobs.enqueue', { queue: 'mail', payload }, { authorization: `Bearer ${producer}` })
    }
    const delay = monitorEventLoopDelay({ resolution: 10 })
    onTestFinished(() => void delay.disable())
    delay.enable()

    const { jobs } = await call('jobs.list', {}, { authorization: `Bearer ${admin}` })

    delay.disable()
    expect(jobs).toHaveLength(8)
    // It was 8.7 s. What is left is a budget of 400 ms, one text more, and the JSON of 1.6 MB on a busy machine.
    expect(delay.max / 1e6).toBeLessThan(4_000)
  })
})

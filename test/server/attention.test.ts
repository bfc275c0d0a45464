import { expect, it } from 'vitest'
import { attentionOf, type Sight } from '../../src/operations/system/attention.ts'
import type { QueueSummary } from '../../src/server.ts'

const MINUTE = 60_000
const NOW = 1_000 * MINUTE

const queue = (changes: Partial<QueueSummary> & { ready?: number } = {}): QueueSummary => ({
  queue: 'mail',
  counts: {
    delayed: 0,
    ready: changes.ready ?? 0,
    running: 0,
    done: 0,
    failed: 0,
    dead: 0,
    cancelled: 0,
  },
  oldestMs: null,
  unhandled: changes.workers === 0 ? (changes.ready ?? 0) : 0,
  hold: null,
  holds: [],
  enqueuedRate: 0,
  doneRate: 0,
  failedRate: 0,
  workers: 1,
  slots: 10,
  limited: false,
  spark: [],
  ...changes,
})

const worker = (changes: Partial<Sight['workers'][number]> = {}): Sight['workers'][number] => ({
  id: 'w1',
  host: 'box',
  isLive: true,
  isGone: false,
  running: 0,
  lagMs: 1,
  version: '1',
  startedAt: 0,
  ...changes,
})

const sight = (changes: Partial<Sight> = {}): Sight => ({
  now: NOW,
  queues: [],
  ends: [],
  before: new Map(),
  explained: new Map(),
  died: new Map(),
  workers: [],
  schedules: [],
  receivers: [],
  notifier: { status: 'up', detail: '' },
  ...changes,
})

const kinds = (changes: Partial<Sight>): string[] => attentionOf(sight(changes)).map(({ kind }) => kind)

it('has nothing to say when all is well', () => {
  const all = {
    queues: [queue({ ready: 5, oldestMs: 10 })],
    workers: [worker()],
    schedules: [{ id: 's', nextAt: NOW, isPaused: false }],
  }
  expect(attentionOf(sight(all))).toEqual([])
})

it('tells of a queue with ready jobs that nobody takes, in words and as critical', () => {
  const found = attentionOf(sight({ queues: [queue({ ready: 1_200, workers: 0 })] }))
  expect(found).toEqual([
    {
      level: 'critical',
      kind: 'no-worker',
      text: 'No worker takes jobs of mail, and 1,200 jobs wait.',
      link: '/queues/mail',
    },
  ])
})

it('tells of many such queues in one line', () => {
  const queues = Array.from({ length: 40 }, (_, n) => queue({ queue: `q${n}`, ready: 2, workers: 0 }))
  expect(attentionOf(sight({ queues }))).toEqual([
    {
      level: 'critical',
      kind: 'no-worker',
      text: 'No worker takes jobs of 40 queues (q0, q1, q2 and others), and 80 jobs wait.',
      link: '/queues?only=unhandled',
    },
  ])
})

it('does not miss workers where nothing is ready', () => {
  expect(kinds({ queues: [queue({ workers: 0 })] })).toEqual([])
})

it('tells of a held queue with a backlog and who holds it, instead of a missing worker', () => {
  const hold = {
    kind: 'pause',
    space: 'default',
    queue: 'mail',
    lane: null,
    reason: 'deploy',
    by: 'ada',
    since: '',
    until: null,
  } as const
  const found = attentionOf(
    sight({ queues: [queue({ ready: 1, workers: 0, hold: 'pause', holds: [hold] })] }),
  )
  expect(found.map(({ text }) => text)).toEqual(['mail is paused by ada (deploy), and 1 job waits.'])
})

it.each([
  ['waits long and longer than before', 6 * MINUTE, 5 * MINUTE, ['backlog']],
  ['waits long but catches up', 6 * MINUTE, 7 * MINUTE, []],
  ['waits longer than before but not long', 2 * MINUTE, MINUTE, []],
  ['waits long and was never seen before', 6 * MINUTE, undefined, []],
])('tells of a backlog when its oldest job %s', (_name, oldestMs, earlier, expected) => {
  const before = new Map(earlier === undefined ? [] : [['mail', earlier]])
  expect(kinds({ queues: [queue({ ready: 9, oldestMs })], before })).toEqual(expected)
})

it.each([
  ['3 of 10 runs', 7, 3, ['failing']],
  ['2 of 10 runs', 8, 2, []],
  ['all of 9 runs', 0, 9, []],
])('judges failures by their share of enough runs: %s', (_name, done, failed, expected) => {
  expect(kinds({ queues: [queue()], ends: [{ queue: 'mail', done, failed }] })).toEqual(expected)
})

it('calls it critical when most runs fail', () => {
  const [found] = attentionOf(sight({ queues: [queue()], ends: [{ queue: 'mail', done: 4, failed: 16 }] }))
  expect(found).toMatchObject({
    level: 'critical',
    text: '80 % of the 20 runs of mail in the last 10 minutes failed.',
  })
})

it('tells of jobs that died within the hour', () => {
  const [found] = attentionOf(
    sight({ queues: [queue()], died: new Map([['mail', { count: 3, isExact: true }]]) }),
  )
  expect(found?.text).toBe('3 jobs of mail died within the last hour.')
  // The word of the address in which the page of jobs keeps its query.
  expect(new URLSearchParams(found?.link.split('?')[1]).get('q')).toBe('state:dead queue:mail since:1h')
})

it('tells of a worker that is gone with jobs, but not of one that had none', () => {
  const gone = { isLive: false, isGone: true }
  expect(kinds({ workers: [worker({ ...gone, running: 2 })] })).toEqual(['worker-gone'])
  expect(kinds({ workers: [worker({ ...gone, running: 0 })] })).toEqual([])
})

it('tells of a worker whose event loop is late', () => {
  expect(kinds({ workers: [worker({ lagMs: 900 })] })).toEqual(['worker-lagging'])
})

it('tells of two versions side by side only when that lasts longer than a deploy', () => {
  const workers = (age: number): Sight['workers'] => [
    worker(),
    worker({ id: 'w2', version: '2', startedAt: NOW - age }),
  ]
  expect(kinds({ workers: workers(5 * MINUTE) })).toEqual([])
  expect(kinds({ workers: workers(11 * MINUTE) })).toEqual(['version-skew'])
})

it('tells of a schedule that is late, unless it is paused', () => {
  const late = { id: 'nightly', nextAt: NOW - 5 * MINUTE, isPaused: false }
  expect(kinds({ schedules: [late] })).toEqual(['schedule-late'])
  expect(kinds({ schedules: [{ ...late, isPaused: true }] })).toEqual([])
})

it('tells of a receiver that has had all it may have for long, and lets others wait', () => {
  const receiver = (changes: Partial<Sight['receivers'][number]> = {}): Sight['receivers'] => [
    { name: 'mailer', queues: ['ma*'], credits: 8, unacked: 8, oldestAt: NOW - 7 * MINUTE, ...changes },
  ]
  const queues = [queue({ ready: 3 })]
  const [found] = attentionOf(sight({ queues, receivers: receiver() }))
  expect(found).toMatchObject({
    level: 'warning',
    kind: 'receiver',
    text: 'The receiver mailer has not answered for a job of its 8 for 7m, takes no more, and 3 jobs wait.',
    link: '/receivers',
  })
  expect(kinds({ queues: [queue()], receivers: receiver() })).toEqual([])
  expect(kinds({ queues, receivers: receiver({ unacked: 7 }) })).toEqual([])
  expect(kinds({ queues, receivers: receiver({ oldestAt: NOW - MINUTE }) })).toEqual([])
  expect(kinds({ queues, receivers: receiver({ queues: ['other'] }) })).toEqual([])
})

it('tells of a notifier that is down, and puts what is critical first', () => {
  const found = kinds({
    queues: [queue({ ready: 1, workers: 0 })],
    notifier: { status: 'down', detail: 'refused' },
  })
  expect(found).toEqual(['no-worker', 'notifier'])
})

it('tells of a lane that is held with who and why, and of what a queue that is behind waits for', () => {
  const hold = { kind: 'pause', by: 'ada', reason: '3am incident' } as never
  const cause = (changes: object) =>
    ({ isExact: true, lane: null, lanes: 1, hold: null, until: null, text: '', ...changes }) as never
  const explanation = {
    queue: 'mail',
    waiting: 462,
    delayed: 0,
    isWhole: true,
    causes: [
      cause({ cause: 'held', jobs: 440, lane: 'acme', hold }),
      cause({
        cause: 'lane-full',
        jobs: 22,
        lane: 'globex',
        text: '22 jobs wait: lane "globex" is full, 2 of 2 are running.',
      }),
    ],
  }
  const found = attentionOf(
    sight({
      queues: [queue({ ready: 462, oldestMs: 400_000 })],
      before: new Map([['mail', 300_000]]),
      explained: new Map([['mail', explanation]]),
    }),
  )
  expect(found.map(({ text }) => text)).toEqual([
    'Lane acme of mail is paused by ada (3am incident), and 440 jobs wait.',
    expect.stringMatching(
      /^mail falls behind: .* 22 jobs wait: lane "globex" is full, 2 of 2 are running\.$/,
    ),
  ])
})

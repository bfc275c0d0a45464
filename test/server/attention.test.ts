import { expect, it } from 'vitest'
import { attentionOf, type Snapshot } from '../../src/operations/system/attention.ts'
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

const worker = (changes: Partial<Snapshot['workers'][number]> = {}): Snapshot['workers'][number] => ({
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

const snapshot = (changes: Partial<Snapshot> = {}): Snapshot => ({
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

const kinds = (changes: Partial<Snapshot>): string[] => attentionOf(snapshot(changes)).map(({ kind }) => kind)

it('reports nothing without issues', () => {
  const all = {
    queues: [queue({ ready: 5, oldestMs: 10 })],
    workers: [worker()],
    schedules: [{ id: 's', nextAt: NOW, isPaused: false }],
  }
  expect(attentionOf(snapshot(all))).toEqual([])
})

it('reports a queue with waiting jobs and no worker as critical', () => {
  const found = attentionOf(snapshot({ queues: [queue({ ready: 1_200, workers: 0 })] }))
  expect(found).toEqual([
    {
      level: 'critical',
      kind: 'no-worker',
      text: 'No worker for mail: 1,200 waiting jobs.',
      link: '/queues/mail',
    },
  ])
})

it('reports many such queues in one line', () => {
  const queues = Array.from({ length: 40 }, (_, n) => queue({ queue: `q${n}`, ready: 2, workers: 0 }))
  expect(attentionOf(snapshot({ queues }))).toEqual([
    {
      level: 'critical',
      kind: 'no-worker',
      text: 'No worker for 40 queues (q0, q1, q2 and others): 80 waiting jobs.',
      link: '/queues?only=unhandled',
    },
  ])
})

it('does not require workers for queues without waiting jobs', () => {
  expect(kinds({ queues: [queue({ workers: 0 })] })).toEqual([])
})

it('reports who paused a queue with waiting jobs, instead of a missing worker', () => {
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
    snapshot({ queues: [queue({ ready: 1, workers: 0, hold: 'pause', holds: [hold] })] }),
  )
  expect(found.map(({ text }) => text)).toEqual(['mail is paused by ada (deploy): 1 waiting job.'])
})

it.each([
  ['waits long and longer than before', 6 * MINUTE, 5 * MINUTE, ['backlog']],
  ['waits long but catches up', 6 * MINUTE, 7 * MINUTE, []],
  ['waits longer than before but not long', 2 * MINUTE, MINUTE, []],
  ['waits long and was never seen before', 6 * MINUTE, undefined, []],
])('reports a backlog when the oldest job %s', (_name, oldestMs, earlier, expected) => {
  const before = new Map(earlier === undefined ? [] : [['mail', earlier]])
  expect(kinds({ queues: [queue({ ready: 9, oldestMs })], before })).toEqual(expected)
})

it.each([
  ['3 of 10 attempts', 7, 3, ['failing']],
  ['2 of 10 attempts', 8, 2, []],
  ['all of 9 attempts', 0, 9, []],
])(
  'reports failures by their share, from a minimum number of attempts: %s',
  (_name, done, failed, expected) => {
    expect(kinds({ queues: [queue()], ends: [{ queue: 'mail', done, failed }] })).toEqual(expected)
  },
)

it('is critical when most attempts fail', () => {
  const [found] = attentionOf(snapshot({ queues: [queue()], ends: [{ queue: 'mail', done: 4, failed: 16 }] }))
  expect(found).toMatchObject({
    level: 'critical',
    text: 'mail: 80 % of 20 attempts failed in the last 10 minutes.',
  })
})

it('reports jobs that died in the last hour', () => {
  const [found] = attentionOf(
    snapshot({ queues: [queue()], died: new Map([['mail', { count: 3, isExact: true }]]) }),
  )
  expect(found?.text).toBe('mail: 3 jobs died in the last hour.')
  // The word of the address in which the page of jobs keeps its query.
  expect(new URLSearchParams(found?.link.split('?')[1]).get('q')).toBe('state:dead queue:mail since:1h')
})

it('reports a lost worker only if it had running jobs', () => {
  const gone = { isLive: false, isGone: true }
  expect(kinds({ workers: [worker({ ...gone, running: 2 })] })).toEqual(['worker-gone'])
  expect(kinds({ workers: [worker({ ...gone, running: 0 })] })).toEqual([])
})

it('reports event-loop lag', () => {
  expect(kinds({ workers: [worker({ lagMs: 900 })] })).toEqual(['worker-lagging'])
})

it('reports different versions only if they run longer than a deploy takes', () => {
  const workers = (age: number): Snapshot['workers'] => [
    worker(),
    worker({ id: 'w2', version: '2', startedAt: NOW - age }),
  ]
  expect(kinds({ workers: workers(5 * MINUTE) })).toEqual([])
  expect(kinds({ workers: workers(11 * MINUTE) })).toEqual(['version-skew'])
})

it('reports a late schedule, unless it is paused', () => {
  const late = { id: 'nightly', nextAt: NOW - 5 * MINUTE, isPaused: false }
  expect(kinds({ schedules: [late] })).toEqual(['schedule-late'])
  expect(kinds({ schedules: [{ ...late, isPaused: true }] })).toEqual([])
})

it('reports a receiver that holds all its credits for long while jobs wait', () => {
  const receiver = (changes: Partial<Snapshot['receivers'][number]> = {}): Snapshot['receivers'] => [
    { name: 'mailer', queues: ['ma*'], credits: 8, unacked: 8, oldestAt: NOW - 7 * MINUTE, ...changes },
  ]
  const queues = [queue({ ready: 3 })]
  const [found] = attentionOf(snapshot({ queues, receivers: receiver() }))
  expect(found).toMatchObject({
    level: 'warning',
    kind: 'receiver',
    text: 'Receiver mailer is stuck: 8 unacknowledged jobs, the oldest for 7m, while 3 waiting jobs cannot be delivered.',
    link: '/receivers',
  })
  expect(kinds({ queues: [queue()], receivers: receiver() })).toEqual([])
  expect(kinds({ queues, receivers: receiver({ unacked: 7 }) })).toEqual([])
  expect(kinds({ queues, receivers: receiver({ oldestAt: NOW - MINUTE }) })).toEqual([])
  expect(kinds({ queues, receivers: receiver({ queues: ['other'] }) })).toEqual([])
})

it('reports a notifier that is down, after critical issues', () => {
  const found = kinds({
    queues: [queue({ ready: 1, workers: 0 })],
    notifier: { status: 'down', detail: 'refused' },
  })
  expect(found).toEqual(['no-worker', 'notifier'])
})

it('reports who paused a lane and why, and the main cause of a backlog', () => {
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
    snapshot({
      queues: [queue({ ready: 462, oldestMs: 400_000 })],
      before: new Map([['mail', 300_000]]),
      explained: new Map([['mail', explanation]]),
    }),
  )
  expect(found.map(({ text }) => text)).toEqual([
    'Lane acme of mail is paused by ada (3am incident): 440 waiting jobs.',
    expect.stringMatching(
      /^mail has a growing backlog of 462 waiting jobs, the oldest for 6m 40s\. 22 jobs wait: lane "globex" is full, 2 of 2 are running\.$/,
    ),
  ])
})

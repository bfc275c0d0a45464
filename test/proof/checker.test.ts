import { describe, expect, it } from 'vitest'
import { JOB_STATES, type JobState } from '../../src/core/jobs/job.ts'
import { check, describeReport } from './checker/index.ts'
import { LEASE_MS, MAIL, NO_COUNTS, Story } from './checker/story.ts'
import { type AuditRow, type History, type RateFact, SELECTION, type ViolationKind } from './history.ts'

const UNIQUE = { key: 'k', scope: 'active', windowMs: 0 } as const

/** A failed try, after which the job waits for the next. */
function failOnce(story: Story, id: string, token: string): Story {
  return story
    .run(id, token, { how: 'threw', to: 'delayed', count: 'errors', delayMs: 100 })
    .told('error', id, token)
}

/** The holder dies, and its lease is rescued by w2 when it is over. */
function loseOnce(story: Story, id: string, token: string): Story {
  story.as('w1#1').claim([id], token).start(id, token).wait(100).crash('w1#1')
  return story
    .as('w2#1')
    .wait(LEASE_MS)
    .settle(id, token, { to: 'ready', count: 'lost', rescue: true })
    .told('lost', id, token)
}

/** The handler is told "too many requests", and its lane shall wait. */
function throttle(story: Story, id: string, token: string, waitMs: number): Story {
  return story.run(id, token, { how: 'throttled', to: 'ready', refund: true, waitMs })
}

/** An enqueue of the id `a`, chosen by its caller, that makes no job. */
function choose(
  s: Story,
  queue: string,
  payload: string,
  answer: { readonly type: 'ok' | 'fail'; readonly known?: boolean },
): Story {
  const asked = {
    f: 'enqueue',
    id: 'a',
    queue,
    payload,
    notBefore: s.now,
    call: `${queue} ${payload}`,
  } as const
  return s.record({ ...asked, type: 'invoke' }).record({ ...asked, ...answer })
}

/** Two jobs of a strict lane end, and one call retries them: the store writes them in this order. */
function retryTogether(s: Story, ids: readonly string[]): Story {
  const row = { lane: 'l' }
  s.enqueue('a', { row }).wait(50).enqueue('b', { row })
  for (const id of ['a', 'b']) s.command('bury', id, () => s.finish(id, 'dead'))
  const call = { f: 'command', action: 'retry', call: 7 } as const
  s.record({ ...call, type: 'invoke', id: SELECTION })
  for (const id of ids) s.begin(id)
  for (const id of ids) s.record({ ...call, type: 'ok', id, result: 'ok' })
  return s.record({ ...call, type: 'ok', id: SELECTION })
}

/** Ten in a second. */
const TEN: RateFact = { name: 'ten', limit: 10, perMs: 1_000, burst: 1, of: () => true }

/** Somebody looks at the queue `mail`, and is told this. */
function look(
  s: Story,
  said: Partial<Record<JobState, number>>,
  overdue: number,
  oldestDueAt: number | null,
): Story {
  const none = Object.fromEntries(JOB_STATES.map((state) => [state, 0])) as Record<JobState, number>
  const counts = [{ queue: 'mail', states: { ...none, ...said }, overdue, oldestDueAt }]
  s.record({ f: 'counts', type: 'invoke', call: 1 })
  return s.record({ f: 'counts', type: 'ok', call: 1, now: s.now, counts })
}

/** A worker of a queue sends a heartbeat, and after some time somebody is told of the queue `mail`: one job is ready. */
function told(s: Story, queue: string, afterMs: number, unhandled: number): Story {
  const worker = { f: 'attend', workerId: 'w', queues: [queue] } as const
  s.record({ ...worker, type: 'invoke' })
    .record({ ...worker, type: 'ok' })
    .wait(afterMs)
  s.record({ f: 'handled', type: 'invoke', call: 1 })
  return s.record({ f: 'handled', type: 'ok', call: 1, queues: [{ queue: 'mail', ready: 1, unhandled }] })
}

const story = (): Story => new Story()
const slot = (id: string, at: number): Story =>
  story().change(id, { state: 'ready', dueAt: 1_000, slot: { schedule: 's', slot: at } })

describe('the checker accepts', () => {
  const good: Record<string, (story: Story) => Story | History> = {
    'a job that succeeds': (s) =>
      s.enqueue('a').run('a', 't1', { value: '7' }).told('result', 'a', null, '7'),
    'a look at an overdue job and at one that is older and ready': (s) => {
      s.enqueue('a').wait(10).enqueue('b', { delayMs: 40 })
      look(s, { ready: 1, delayed: 1 }, 0, s.now - 10)
      s.wait(40)
      look(s, { ready: 2 }, 1, s.now - 50)
      return s.run('a', 't1').run('b', 't2')
    },
    'ids that callers chose, one found and one refused': (s) => {
      choose(s.enqueue('a', { row: { payload: '{}' } }), 'mail', '2', { type: 'ok', known: true })
      choose(s, 'fast', '{}', { type: 'fail' })
      return s.run('a', 't1')
    },
    'jobs of a strict lane that one retry brings back': (s) => {
      retryTogether(s, ['b', 'a']).run('a', 't1').run('b', 't2')
      return s.history({ order: ['mail/l'] })
    },
    'a delayed job': (s) => s.enqueue('a', { delayMs: 500 }).wait(500).run('a', 't1'),
    'tries, and then success': (s) =>
      failOnce(s.enqueue('a'), 'a', 't1').wait(100).run('a', 't2', { value: '1' }),
    'a job that used up its errors': (s) => {
      failOnce(s.enqueue('a'), 'a', 't1').wait(100)
      failOnce(s, 'a', 't2').wait(100)
      return s.run('a', 't3', { how: 'threw', to: 'dead', count: 'errors' }).told('dead', 'a', 't3')
    },
    'a job its handler buried': (s) => s.enqueue('a').run('a', 't1', { how: 'buried', to: 'dead' }),
    'a job somebody buried': (s) => s.enqueue('a').command('bury', 'a', () => s.finish('a', 'dead')),
    'a snooze': (s) =>
      s
        .enqueue('a')
        .run('a', 't1', { how: 'snoozed', to: 'delayed', count: 'snoozes', delayMs: 50 })
        .told('snoozed', 'a', 't1')
        .wait(50)
        .run('a', 't2'),
    'a rescue': (s) => loseOnce(s.enqueue('a'), 'a', 't1').run('a', 't2'),
    'a rescue before the end of the lease where the store knows of a death': (s) => {
      s.enqueue('a').claim(['a'], 't1').start('a', 't1').wait(100).as('w2#1')
      s.settle('a', 't1', { to: 'ready', count: 'lost', rescue: true }).run('a', 't2')
      return s.history({ liveness: true })
    },
    'a rescuer that comes after the holder': (s) => {
      const rescue = { to: 'ready', rescue: true, proc: 'w2#1' } as const
      s.enqueue('a').claim(['a'], 't1').start('a', 't1').end('a', 't1').wait(LEASE_MS)
      s.sends('a', 't1').sends('a', 't1', rescue).release('a')
      return s.hears('a', 't1', { ...rescue, answer: 'refused' }).hears('a', 't1')
    },
    'a stalled process whose handler runs on': (s) => {
      s.enqueue('a').claim(['a'], 't1').start('a', 't1').wait(LEASE_MS).as('w2#1')
      s.settle('a', 't1', { to: 'ready', count: 'lost', rescue: true }).claim(['a'], 't2').start('a', 't2')
      s.as('w1#1').wait(10).end('a', 't1').settle('a', 't1', { answer: 'refused' })
      return s.as('w2#1').end('a', 't2').settle('a', 't2')
    },
    'a run that takes many leases': (s) => {
      s.enqueue('a').claim(['a'], 't1').start('a', 't1')
      for (let turn = 0; turn < 5; turn++) s.wait(LEASE_MS / 2).extend('a', 't1')
      return s.end('a', 't1').settle('a', 't1')
    },
    'a claim whose answer was lost and that was sent again, in vain the last time': (s) => {
      const again = { f: 'claim', type: 'invoke', token: 't1', workerId: 'w1', leaseMs: LEASE_MS } as const
      s.enqueue('a').claim(['a'], 't1', { isAnswered: false }).wait(200).record(again)
      s.change('a', { leaseUntil: s.now + LEASE_MS })
      s.record({ ...again, type: 'ok', jobs: [{ id: 'a', generation: 0, starts: 1 }] }).start('a', 't1')
      // Nobody can be sure of a lease because of a call that was never answered.
      s.wait(900).record(again).wait(100).as('w2#1')
      return s.settle('a', 't1', { to: 'ready', count: 'lost', rescue: true }).run('a', 't2')
    },
    'a cancel of a waiting job': (s) => s.enqueue('a').cancel('a'),
    'a cancel of a running job that fails': (s) => {
      s.enqueue('a').claim(['a'], 't1').start('a', 't1').cancel('a').end('a', 't1', 'threw')
      return s.settle('a', 't1', { to: 'delayed', count: 'errors' }).told('cancelled', 'a', 't1')
    },
    'a cancel of a running job that succeeds': (s) => {
      s.enqueue('a').claim(['a'], 't1').start('a', 't1').cancel('a').end('a', 't1')
      return s.settle('a', 't1')
    },
    'a retry of a cancelled job': (s) => s.enqueue('a').cancel('a').retry('a').run('a', 't1'),
    'a retry of a finished job': (s) => s.enqueue('a').run('a', 't1').retry('a').wait(5).run('a', 't2'),
    'a retry by somebody who heard nothing': (s) => {
      s.enqueue('a').run('a', 't1').record({ f: 'command', type: 'invoke', action: 'retry', id: 'a' })
      return s.begin('a').run('a', 't2')
    },
    'a job that is discarded': (s) => s.enqueue('a', { queue: 'fast' }).run('a', 't1', { removes: true }),
    'a job that is discarded after its last try': (s) => {
      s.enqueue('a').claim(['a'], 't1').start('a', 't1').end('a', 't1', 'threw')
      s.settle('a', 't1', { to: 'failed', removes: true })
      return s.history({
        queues: { mail: { ...MAIL, retries: { ...MAIL.retries, errors: 0 }, discardsFailures: true } },
      })
    },
    'a job that is handed back unrun': (s) =>
      s.enqueue('a').claim(['a'], 't1').settle('a', 't1', { to: 'ready', refund: true }).run('a', 't2'),
    'a job that is handed back by a stop in mid-run': (s) => {
      s.enqueue('a').claim(['a'], 't1').start('a', 't1').stop('invoke').end('a', 't1', 'aborted')
      s.settle('a', 't1', { to: 'ready' }).stop('ok')
      return s.as('w2#1').run('a', 't2')
    },
    'a hold that recalls what was prefetched, and a release': (s) => {
      s.enqueue('a').enqueue('b').claim(['a', 'b'], 't1').start('b', 't1').hold('hold').confirm('mail', true)
      s.settle('a', 't1', { to: 'ready', refund: true }).end('b', 't1').settle('b', 't1').hold('release')
      return s.run('a', 't2')
    },
    'a hold that did not wait, and another process that has not heard of it': (s) => {
      s.enqueue('a').claim(['a'], 't1').as('w2#1').hold('hold').confirm('mail', false).as('w1#1')
      s.start('a', 't1').end('a', 't1').settle('a', 't1')
      return s.hold('release')
    },
    'a stop that waits for its handler, and saves what it returned': (s) => {
      s.enqueue('a').claim(['a'], 't1').start('a', 't1').stop('invoke').tellStop('a', 't1')
      s.wait(50).end('a', 't1').settle('a', 't1').stop('ok')
      return s.history({ graceMs: 100 })
    },
    'a stop that does not wait longer than the grace': (s) => {
      s.enqueue('a').claim(['a'], 't1').start('a', 't1').stop('invoke').tellStop('a', 't1').wait(100)
      s.settle('a', 't1', { to: 'ready' }).stop('ok').wait(50).end('a', 't1')
      return s.as('w2#1').run('a', 't2').history({ graceMs: 100 })
    },
    'a stop whose last claim was never answered': (s) => {
      s.enqueue('a').claim(['a'], 't1', { isAnswered: false }).stop('invoke').stop('ok').wait(LEASE_MS)
      return s.as('w2#1').settle('a', 't1', { to: 'ready', count: 'lost', rescue: true }).run('a', 't2')
    },
    'a settle whose answer was lost and that was sent again': (s) => {
      s.enqueue('a').claim(['a'], 't1').start('a', 't1').end('a', 't1').settle('a', 't1', { answer: 'none' })
      return s.wait(50).sends('a', 't1').hears('a', 't1').told('finished', 'a', 't1')
    },
    'a handler that saved its own success and asks what became of it': (s) => {
      s.enqueue('a').claim(['a'], 't1').start('a', 't1').settle('a', 't1', { value: '1', answer: 'none' })
      s.end('a', 't1', 'threw')
        .sends('a', 't1', { to: 'delayed' })
        .hears('a', 't1', { to: 'delayed' }, 'done')
      return s.told('finished', 'a', 't1')
    },
    'a handler that saved its own success, while the retried job runs': (s) => {
      s.enqueue('a').claim(['a'], 't1').start('a', 't1').settle('a', 't1', { value: '1' }).retry('a')
      s.as('w2#1').wait(5).run('a', 't2').as('w1#1').end('a', 't1')
      return s
    },
    'a pruned job': (s) => s.enqueue('a').run('a', 't1').prune('a'),
    'a removed job': (s) => s.enqueue('a').command('remove', 'a', () => s.change('a', null)),
    'an enqueue nobody knows the fate of, that happened': (s) =>
      s.enqueue('a', { answer: 'info' }).run('a', 't1'),
    'an enqueue nobody knows the fate of, that did not': (s) => s.asked('a').answered('a', 'info').asked('b'),
    'an enqueue that failed': (s) => s.enqueue('a', { answer: 'fail' }),
    'a duplicate': (s) =>
      s
        .enqueue('a', { unique: UNIQUE })
        .asked('b', { unique: UNIQUE })
        .answered('b', 'ok', {}, 'a')
        .run('a', 't1')
        .enqueue('c', { unique: UNIQUE })
        .run('c', 't2'),
    'a duplicate that replaced a failed payload, and gave it a new budget': (s) => {
      failOnce(s.enqueue('a', { unique: UNIQUE }), 'a', 't1').asked('b', {
        unique: UNIQUE,
        payload: '2',
      })
      s.change('a', { counters: { ...NO_COUNTS, starts: 1 } })
      s.answered('b', 'ok', {}, 'a').wait(100).claim(['a'], 't2').start('a', 't2', { payload: '2' })
      return s.end('a', 't2').settle('a', 't2')
    },
    'a duplicate that replaced a payload and a time': (s) => {
      s.enqueue('a', { unique: UNIQUE, payload: '1', delayMs: 900 })
      s.asked('b', { unique: UNIQUE, payload: '2' }).change('a', { state: 'ready', dueAt: s.now })
      s.answered('b', 'ok', {}, 'a').claim(['a'], 't1').start('a', 't1', { payload: '2' })
      return s.end('a', 't1').settle('a', 't1')
    },
    'a key that is free when its job starts': (s) => {
      const unique = { key: 'k', scope: 'queued', windowMs: 0 } as const
      s.enqueue('a', { unique }).claim(['a'], 't1').start('a', 't1').enqueue('b', { unique })
      return s.end('a', 't1').settle('a', 't1').run('b', 't2')
    },
    'a key that is free after its window': (s) => {
      const unique = { key: 'k', scope: 'window', windowMs: 300 } as const
      return s.enqueue('a', { unique }).run('a', 't1').wait(300).enqueue('b', { unique }).run('b', 't2')
    },
    'a promoted job': (s) => {
      s.enqueue('a', { delayMs: 900 })
      s.command('promote', 'a', () => s.change('a', { state: 'ready', dueAt: s.now }))
      return s.run('a', 't1')
    },
    'a batch under one token, with what one of its handlers enqueued': (s) => {
      s.enqueue('a').enqueue('b').claim(['a', 'b'], 't1').start('a', 't1').start('b', 't1')
      s.within('c', 't1').within('d', 't1').end('a', 't1').end('b', 't1', 'threw')
      s.settle('a', 't1', { enqueue: ['c'] })
      s.settle('b', 't1', { to: 'delayed', count: 'errors', delayMs: 100 }).wait(100)
      return s.run('b', 't2').run('c', 't3')
    },
    'a slot and a join': (s) => {
      s.enqueue('a').run('a', 't1')
      s.change('j', { state: 'ready', dueAt: s.now, join: { run: 'r', node: 'n' } }).run('j', 't2')
      s.change('c', { state: 'ready', dueAt: s.now, slot: { schedule: 's', slot: 1 } }).run('c', 't3')
      return s.history({
        joins: [{ run: 'r', node: 'n', children: ['a'] }],
        slots: [
          { schedule: 's', slot: 1, required: true },
          { schedule: 's', slot: 2, required: false },
        ],
      })
    },
    'a strict lane, also after a retry': (s) => {
      const row = { lane: 'l' }
      s.enqueue('a', { row }).enqueue('b', { row }).enqueue('c', { row }).cancel('b')
      s.run('a', 't1').run('c', 't2').retry('a').run('a', 't3')
      return s.history({ order: ['mail/l'] })
    },
    'a strict lane whose first job is tried again, handed back and left behind': (s) => {
      const row = { lane: 'l' }
      s.enqueue('a', { row }).enqueue('b', { row }).enqueue('c').run('c', 't0')
      failOnce(s, 'a', 't1').wait(100)
      s.claim(['a'], 't2').settle('a', 't2', { to: 'ready', refund: true })
      loseOnce(s, 'a', 't3').cancel('a')
      s.run('b', 't4').retry('a').run('a', 't5')
      return s.history({ order: ['mail/l'] })
    },
    'jobs of a strict lane in another order than the audit saw them, because their enqueues overlapped': (
      s,
    ) => {
      const row = { lane: 'l' }
      s.asked('b')
        .enqueue('a', { row })
        .change('b', { dueAt: s.now, ...row })
        .answered('b')
      return s
        .run('b', 't1')
        .run('a', 't2')
        .historyOfProcesses({ order: ['mail/l'], overlapping: true })
    },
    'a rate with its burst, and one that costs more than the burst': (s) => {
      for (const id of ['a', 'b', 'c']) s.enqueue(id)
      s.enqueue('d', { row: { cost: 5 } }).enqueue('e')
      s.claim(['a', 'b'], 't1').wait(100).claim(['c'], 't2').wait(200).claim(['d'], 't3')
      s.wait(400).claim(['e'], 't4')
      const taken = { a: 't1', b: 't1', c: 't2', d: 't3', e: 't4' }
      for (const [id, token] of Object.entries(taken)) s.start(id, token).end(id, token).settle(id, token)
      return s.history({ rates: [{ ...TEN, burst: 2 }] })
    },
    'a bucket that a clock which went back has forgotten': (s) => {
      s.enqueue('a').run('a', 't1').enqueue('b').record({ f: 'clock', type: 'info', what: '500' })
      return s.run('b', 't2').history({ rates: [{ ...TEN, limit: 1, forgets: true }] })
    },
    'a lane that waits as its handler was told': (s) => {
      throttle(s.enqueue('a', { row: { lane: 'l' } }).enqueue('b'), 'a', 't1', 500)
      return s.run('b', 't2').wait(490).run('a', 't3')
    },
    'a hold that is released, and one that ends': (s) => {
      s.enqueue('a').enqueue('b').hold('hold').wait(50).hold('release').run('a', 't1')
      return s.hold('hold', { forMs: 100 }).wait(100).run('b', 't2')
    },
    'a hold on something else': (s) => {
      s.enqueue('a', { row: { lane: 'l' } }).enqueue('b', { queue: 'fast' })
      s.hold('hold', { lane: 'k' }).hold('hold', { queue: 'ma' }).hold('hold', { queue: 'm*s' })
      return s.run('a', 't1').hold('hold', { queue: '*il' }).run('b', 't2', { removes: true })
    },
    'a claim after the release was asked for, although it was never answered': (s) =>
      s.enqueue('a').hold('hold').hold('release', { answer: 'none' }).run('a', 't1'),
    'a claim after a release that may have arrived late': (s) =>
      s.enqueue('a').hold('release', { answer: 'info' }).hold('hold').run('a', 't1'),
    'a claim before the hold was answered': (s) =>
      s.enqueue('a').hold('hold', { answer: 'none' }).run('a', 't1'),
    'a hold that a late one with an end has replaced': (s) =>
      s.enqueue('a').hold('hold', { forMs: 10, answer: 'none' }).hold('hold').wait(50).run('a', 't1'),
    'a hold that had ended before the clock went back': (s) => {
      s.enqueue('a').hold('hold', { forMs: 100 }).wait(110).record({ f: 'clock', type: 'info', what: '60' })
      s.now -= 60
      return s.run('a', 't1').history()
    },
    'a limit that an expired lease does not use up': (s) => {
      s.enqueue('a').enqueue('b').claim(['a'], 't1').start('a', 't1').crash('w1#1').wait(LEASE_MS).as('w2#1')
      s.run('b', 't2').settle('a', 't1', { to: 'ready', count: 'lost', rescue: true }).run('a', 't3')
      return s.history({ limits: [{ name: 'one', limit: 1, of: () => true }] })
    },
    'jobs that no live worker handles, and jobs that one does': (s) => {
      told(told(s.enqueue('a'), 'fast', 10, 1).wait(20), 'mail', 29_000, 0)
      return s.record({ f: 'depart', type: 'invoke', workerId: 'w' }).run('a', 't1')
    },
    'the right counts': (s) => {
      s.enqueue('a').run('a', 't1')
      const none = { delayed: 0, ready: 0, running: 0, done: 0, failed: 0, dead: 0, cancelled: 0 }
      return s.history({ counts: { mail: { ...none, done: 1 }, other: none }, leaks: { timers: 0 } })
    },
  }

  for (const [name, tell] of Object.entries(good)) {
    it(name, () => {
      const told = tell(story())

      const histories = told instanceof Story ? [told.history(), told.historyOfProcesses()] : [told]

      for (const history of histories) expect(check(history).violations).toEqual([])
    })
  }
})

describe('the checker rejects', () => {
  type Bad = Record<string, (story: Story) => Story | History>

  const bad: Record<ViolationKind, Bad> = {
    lost: {
      'an acknowledged job that never was': (s) => s.asked('a').answered('a'),
      'a waiting job that was removed': (s) => s.enqueue('a').change('a', null),
      'a job that is gone without a trace': (s) => {
        s.enqueue('a').run('a', 't1')
        return s.history({}, new Map())
      },
      'a job that was discarded although its queue keeps jobs': (s) =>
        s.enqueue('a').run('a', 't1', { removes: true }),
      'a discarded failure where only success is discarded': (s) => {
        s.enqueue('a', { queue: 'fast' }).claim(['a'], 't1').start('a', 't1').end('a', 't1', 'threw')
        return s.settle('a', 't1', { to: 'failed', removes: true })
      },
      'a job whose remove was refused': (s) =>
        s
          .enqueue('a')
          .command('remove', 'a', () => undefined, 'refused')
          .change('a', null),
      'an acknowledged job whose id is that of one in another queue': (s) =>
        choose(s.enqueue('a', { row: { payload: '{}' } }), 'fast', '{}', { type: 'ok', known: false }).run(
          'a',
          't1',
        ),
      'an acknowledged job whose id is that of one with another payload': (s) =>
        choose(s.enqueue('a', { row: { payload: '{}' } }), 'mail', '2', { type: 'ok', known: false }).run(
          'a',
          't1',
        ),
      'a job that was found in a queue in which it is not': (s) =>
        choose(s.enqueue('a'), 'fast', '{}', { type: 'ok', known: true }).run('a', 't1'),
      'an acknowledged job whose id is that of one in another space': (s) => {
        s.enqueue('tenant/a', { row: { space: 'tenant' } }).run('tenant/a', 't1')
        return choose(s, 'mail', '{}', { type: 'ok', known: false })
      },
      'a duplicate of nothing': (s) =>
        s.asked('a', { unique: UNIQUE }).asked('b', { unique: UNIQUE }).answered('b', 'ok', {}, 'a'),
      'a job that vanished although nobody was told of it': (s) =>
        s.enqueue('a', { answer: 'info' }).change('a', null),
    },
    unexpected: {
      'a job nobody enqueued': (s) => s.change('a', { state: 'ready', dueAt: 1 }).run('a', 't1'),
      'a job whose enqueue had failed': (s) =>
        s.asked('a').answered('a', 'fail').change('a', { dueAt: s.now }).run('a', 't1'),
      'a job that has the payload of an enqueue that was refused': (s) => {
        choose(s.enqueue('a', { row: { payload: '{}' } }), 'mail', '2', { type: 'fail' })
        return s.change('a', { payload: '2' }).run('a', 't1')
      },
      'a job that went to the queue of an enqueue that was refused': (s) => {
        choose(s.enqueue('a'), 'fast', '{}', { type: 'fail' }).change('a', { queue: 'fast' })
        return s.run('a', 't1', { removes: true })
      },
      'a job that was there before it was enqueued': (s) =>
        s.change('a', { dueAt: s.now }).wait(50).asked('a').answered('a').run('a', 't1'),
      'a job that is there in the end alone': (s) =>
        s.history({}, new Map([['x', { ...done(), state: 'done' }]])),
      'a handler under a token without a lease': (s) =>
        s.enqueue('a').start('a', 't0', { attempt: 0 }).wait(5).end('a', 't0').run('a', 't1'),
      'a slot that the schedule does not have': (s) => {
        s.change('c', { dueAt: s.now, slot: { schedule: 's', slot: 9 } }).run('c', 't1')
        return s.history({ slots: [] })
      },
    },
    'unique-broken': {
      'two jobs that hold one key': (s) =>
        s.enqueue('a', { unique: UNIQUE }).enqueue('b', { unique: UNIQUE }).run('a', 't1').run('b', 't2'),
      'a second job inside of the window, after the first was pruned': (s) => {
        const unique = { key: 'k', scope: 'window', windowMs: 1_000_000 } as const
        s.enqueue('a', { unique }).run('a', 't1').prune('a')
        return s.enqueue('b', { unique }).run('b', 't2')
      },
      'a retry of a job whose key is held': (s) =>
        s
          .enqueue('a', { unique: UNIQUE })
          .run('a', 't1')
          .enqueue('b', { unique: UNIQUE })
          .retry('a')
          .run('a', 't2')
          .run('b', 't3'),
      'a duplicate that is there as well': (s) =>
        s
          .enqueue('a', { unique: { ...UNIQUE, scope: 'queued' } })
          .run('a', 't1')
          .enqueue('b', { unique: UNIQUE, answer: 'none' })
          .answered('b', 'ok', {}, 'a')
          .run('b', 't2'),
      'a duplicate of a job with another key': (s) =>
        s
          .enqueue('a', { unique: { ...UNIQUE, key: 'K' } })
          .asked('b', { unique: UNIQUE })
          .answered('b', 'ok', {}, 'a')
          .run('a', 't1'),
    },
    'lease-overlap': {
      'a lease that is taken away': (s) => {
        s.enqueue('a').claim(['a'], 't1').as('w2#1').claim(['a'], 't2').start('a', 't2').end('a', 't2')
        return s.settle('a', 't2')
      },
      'a claim of a job that another change left running': (s) => {
        s.enqueue('a').claim(['a'], 't1').as('w2#1')
        s.rows.set('a', { ...s.row('a'), state: 'ready', token: null, leaseUntil: null })
        return s.run('a', 't2')
      },
      'two handlers, one sure of its lease by a claim that was sent again': (s) => {
        const again = { f: 'claim', type: 'invoke', token: 't1', workerId: 'w1', leaseMs: LEASE_MS } as const
        s.enqueue('a').claim(['a'], 't1', { isAnswered: false }).wait(500).record(again)
        s.record({ ...again, type: 'ok', jobs: [{ id: 'a', generation: 0, starts: 1 }] }).start('a', 't1')
        s.wait(600).as('w2#1').settle('a', 't1', { to: 'ready', count: 'lost', rescue: true }).run('a', 't2')
        return s.as('w1#1').end('a', 't1')
      },
      'two handlers inside of their sure leases': (s) => {
        s.enqueue('a').claim(['a'], 't1').start('a', 't1').wait(500)
        s.extend('a', 't1').wait(600).as('w2#1')
        // The store forgot the extension.
        s.rows.set('a', { ...s.row('a'), leaseUntil: s.now - 100 })
        s.settle('a', 't1', { to: 'ready', count: 'lost', rescue: true }).run('a', 't2')
        return s.as('w1#1').end('a', 't1')
      },
    },
    'stale-settle-accepted': {
      'a lease that nobody settled': (s) =>
        s.enqueue('a').claim(['a'], 't1').start('a', 't1').end('a', 't1').release('a'),
      'a lease that was settled with an older token': (s) => {
        s.enqueue('a').claim(['a'], 't1').start('a', 't1').wait(LEASE_MS).as('w2#1')
        s.settle('a', 't1', { to: 'ready', count: 'lost', rescue: true }).claim(['a'], 't2').start('a', 't2')
        s.as('w1#1').end('a', 't1').sends('a', 't1').release('a')
        return s.as('w2#1').end('a', 't2')
      },
      'a settle that is sent after the lease has ended': (s) => {
        s.enqueue('a').claim(['a'], 't1').start('a', 't1').end('a', 't1').release('a')
        return s.wait(50).sends('a', 't1')
      },
      'a late holder that hears ok after a rescue': (s) => {
        loseOnce(s.enqueue('a'), 'a', 't1').as('w1#1').sends('a', 't1').hears('a', 't1', {}, 'ready')
        return s.as('w2#1').run('a', 't2')
      },
      'a late rescuer that hears ok after the holder': (s) => {
        const rescue = { to: 'ready', rescue: true, proc: 'w2#1' } as const
        s.enqueue('a').claim(['a'], 't1').start('a', 't1').wait(LEASE_MS).end('a', 't1').settle('a', 't1')
        return s.sends('a', 't1', rescue).hears('a', 't1', rescue, 'done')
      },
      'an ok while the lease goes on': (s) => {
        s.enqueue('a').claim(['a'], 't1').start('a', 't1').end('a', 't1').sends('a', 't1').hears('a', 't1')
        return s.wait(50).release('a')
      },
      'an ok for a token without a lease': (s) =>
        s.enqueue('a').sends('a', 't0').hears('a', 't0').run('a', 't1'),
      'an end that no verdict asked for': (s) => {
        s.enqueue('a').claim(['a'], 't1').start('a', 't1').end('a', 't1').sends('a', 't1')
        return s.release('a', { to: 'cancelled' })
      },
      'a refused settle that took place': (s) => {
        s.enqueue('a').claim(['a'], 't1').start('a', 't1').end('a', 't1').sends('a', 't1').release('a')
        return s.hears('a', 't1', { answer: 'refused' })
      },
      'a rescue before the end of the lease': (s) => {
        s.enqueue('a')
          .claim(['a'], 't1')
          .wait(LEASE_MS - 50)
          .as('w2#1')
        return s.settle('a', 't1', { to: 'ready', count: 'lost', rescue: true }).run('a', 't2')
      },
      'a listener that hears of a success that was not saved': (s) => {
        failOnce(s.enqueue('a'), 'a', 't1').told('finished', 'a', 't1')
        // Whoever hears that it finished must not see it run again, so it ends here.
        return s.cancel('a')
      },
      'a listener that hears of an end before it is saved': (s) => {
        s.enqueue('a').claim(['a'], 't1').start('a', 't1').end('a', 't1').told('finished', 'a', 't1')
        return s.wait(50).settle('a', 't1')
      },
      'a listener that hears of an error of a job that is done': (s) =>
        s.enqueue('a').run('a', 't1').told('error', 'a', 't1'),
    },
    'acked-twice': {
      'a holder and a rescuer that both ended one lease': (s) => {
        s.enqueue('a').claim(['a'], 't1').start('a', 't1').wait(LEASE_MS).end('a', 't1', 'threw')
        s.sends('a', 't1', { to: 'ready' }).as('w2#1')
        s.settle('a', 't1', { to: 'ready', count: 'lost', rescue: true })
        s.as('w1#1').hears('a', 't1', { to: 'ready' }, 'ready')
        return s.as('w2#1').run('a', 't2')
      },
      'two rescuers that both ended one lease': (s) => {
        loseOnce(s.enqueue('a'), 'a', 't1').as('w3#1').sends('a', 't1', { to: 'ready', rescue: true })
        return s.hears('a', 't1', { to: 'ready', rescue: true }, 'ready').as('w2#1').run('a', 't2')
      },
    },
    'redelivered-after-ack': {
      'a done job that is claimed again': (s) => {
        s.enqueue('a').claim(['a'], 't1').start('a', 't1').end('a', 't1').settle('a', 't1')
        s.change('a', { state: 'ready', finishedAt: null, expiresAt: null, result: null })
        return s.cancel('a')
      },
      'a done job that begins anew although nobody retried it': (s) =>
        s.enqueue('a').run('a', 't1').begin('a').cancel('a'),
      'a discarded job that is inserted again': (s) => {
        s.enqueue('a', { queue: 'fast' }).run('a', 't1', { removes: true })
        return s.change('a', { queue: 'fast', dueAt: s.now }).cancel('a')
      },
      'a handler that starts after the job has finished': (s) => {
        s.enqueue('a').claim(['a'], 't1').wait(LEASE_MS).as('w2#1')
        s.settle('a', 't1', { to: 'ready', count: 'lost', rescue: true }).run('a', 't2').wait(50)
        return s.as('w1#1').start('a', 't1', { attempt: 1 }).end('a', 't1', 'aborted')
      },
    },
    'terminal-left': {
      'a dead job that comes back because a worker handles its queue': (s) =>
        s
          .enqueue('a')
          .command('bury', 'a', () => s.finish('a', 'dead'))
          .begin('a')
          .run('a', 't1'),
      'a cancelled job that waits again': (s) =>
        s
          .enqueue('a')
          .cancel('a')
          .change('a', { state: 'ready', finishedAt: null, expiresAt: null })
          .command('bury', 'a', () => s.finish('a', 'dead')),
      'a dead job that is cancelled': (s) =>
        s
          .enqueue('a')
          .command('bury', 'a', () => s.finish('a', 'dead'))
          .command('cancel', 'a', () => s.change('a', { state: 'cancelled' })),
      'a dead job that nobody retried': (s) =>
        s
          .enqueue('a')
          .command('bury', 'a', () => s.finish('a', 'dead'))
          .begin('a')
          .run('a', 't1'),
    },
    'attempts-wrong': {
      'a start that is not counted': (s) => {
        s.enqueue('a').record({ f: 'claim', type: 'invoke', token: 't1', workerId: 'w1', leaseMs: LEASE_MS })
        s.change('a', { state: 'running', token: 't1', worker: 'w1', leaseUntil: s.now + LEASE_MS })
        return s.start('a', 't1').end('a', 't1').settle('a', 't1')
      },
      'an error that is counted twice': (s) => {
        s.enqueue('a')
          .claim(['a'], 't1')
          .start('a', 't1')
          .end('a', 't1', 'threw')
          .sends('a', 't1', { to: 'ready' })
        const counters = { ...NO_COUNTS, starts: 1, errors: 2 }
        s.release('a', { to: 'ready', row: { counters, dueAt: s.now + 100 } }).wait(100)
        return s.run('a', 't2')
      },
      'a success that counts as an error': (s) => s.enqueue('a').run('a', 't1', { count: 'errors' }),
      'a start that is taken off although the handler ran': (s) =>
        s.enqueue('a').run('a', 't1', { how: 'aborted', to: 'ready', refund: true }).run('a', 't2'),
      'a start that counts although the job went back unrun': (s) =>
        s.enqueue('a').claim(['a'], 't1').settle('a', 't1', { to: 'ready' }).run('a', 't2'),
      'a rescue that counts as an error': (s) => {
        s.enqueue('a').claim(['a'], 't1').start('a', 't1').crash('w1#1').wait(LEASE_MS).as('w2#1')
        s.settle('a', 't1', { to: 'delayed', count: 'errors', delayMs: 100, rescue: true }).wait(100)
        return s.run('a', 't2')
      },
      'a try too many': (s) => {
        for (const token of ['t1', 't2', 't3']) {
          if (token === 't1') s.enqueue('a')
          failOnce(s, 'a', token).wait(100)
        }
        return s.run('a', 't4')
      },
      'a job that is dead too soon': (s) =>
        s.enqueue('a').run('a', 't1', { how: 'threw', to: 'dead', count: 'errors' }),
      'a job that is dead without a failure': (s) =>
        s.enqueue('a').run('a', 't1', { how: 'threw', to: 'dead' }),
      'a job that nobody buried': (s) => s.enqueue('a').finish('a', 'dead'),
      'a retry that keeps the counters': (s) => {
        s.enqueue('a').run('a', 't1')
        s.command('retry', 'a', () =>
          s.change('a', { ...s.row('a'), state: 'ready', generation: 1, finishedAt: null, expiresAt: null }),
        )
        return s.run('a', 't2')
      },
      'a job without a key whose failures are forgotten while it waits': (s) => {
        failOnce(s.enqueue('a'), 'a', 't1')
        return s
          .change('a', { counters: { ...NO_COUNTS, starts: 1 } })
          .wait(100)
          .run('a', 't2')
      },
      'a handler that sees another attempt': (s) => {
        s.enqueue('a').claim(['a'], 't1').start('a', 't1', { attempt: 2 }).end('a', 't1')
        return s.settle('a', 't1')
      },
    },
    'early-start': {
      'a claim before the due time': (s) => s.enqueue('a', { row: { dueAt: s.now + 20 } }).run('a', 't1'),
      'a start before the time it was enqueued for': (s) =>
        s.enqueue('a', { delayMs: 500, row: { dueAt: s.now, state: 'ready' } }).run('a', 't1'),
      'a retry without its backoff': (s) =>
        s
          .enqueue('a')
          .run('a', 't1', { how: 'threw', to: 'delayed', count: 'errors', delayMs: 80 })
          .wait(80)
          .run('a', 't2'),
      'a waiting job that is brought forward': (s) => {
        failOnce(s.enqueue('a'), 'a', 't1').wait(20)
        return s.change('a', { state: 'ready', dueAt: s.now }).run('a', 't2')
      },
    },
    'order-break': {
      'a job that overtakes one that waits for its next try': (s) => {
        const row = { lane: 'l' }
        failOnce(s.enqueue('a', { row }).enqueue('b', { row }), 'a', 't1')
        s.run('b', 't2').wait(100).run('a', 't3')
        return s.history({ order: ['mail/l'] })
      },
      'a retried job that comes before those that wait': (s) => {
        const row = { lane: 'l' }
        s.enqueue('a', { row }).enqueue('b', { row }).run('a', 't1').retry('a').run('a', 't2').run('b', 't3')
        return s.history({ order: ['mail/l'] })
      },
      'jobs that one retry brings back in another order than that of their enqueues': (s) => {
        retryTogether(s, ['b', 'a']).run('b', 't1').run('a', 't2')
        return s.history({ order: ['mail/l'] })
      },
      'jobs that one retry brings back in another order, between processes': (s) => {
        retryTogether(s, ['a', 'b']).run('b', 't1').run('a', 't2')
        return s.historyOfProcesses({ order: ['mail/l'] })
      },
      'jobs of a queue without order that one retry brings back by their ids': (s) => {
        s.enqueue('b').wait(50).enqueue('a')
        for (const id of ['a', 'b']) s.command('bury', id, () => s.finish(id, 'dead'))
        const call = { f: 'command', action: 'retry', call: 7 } as const
        s.record({ ...call, type: 'invoke', id: SELECTION })
          .begin('b')
          .begin('a')
        for (const id of ['a', 'b']) s.record({ ...call, type: 'ok', id, result: 'ok' })
        return s
          .record({ ...call, type: 'ok', id: SELECTION })
          .run('a', 't1')
          .run('b', 't2')
      },
      'a job that overtakes in its lane': (s) => {
        const row = { lane: 'l' }
        s.enqueue('a', { row }).enqueue('b', { row }).run('b', 't1').run('a', 't2')
        return s.history({ order: ['mail/l'] })
      },
      'a job that overtakes one whose enqueue was answered before, where transactions overlap': (s) => {
        const row = { lane: 'l' }
        s.enqueue('a', { row }).enqueue('b', { row }).run('b', 't1').run('a', 't2')
        return s.historyOfProcesses({ order: ['mail/l'], overlapping: true })
      },
      'a job that overtakes one that was tried before, where transactions overlap': (s) => {
        const row = { lane: 'l' }
        s.asked('b')
        failOnce(s.enqueue('a', { row }), 'a', 't1')
        s.change('b', { dueAt: s.now, ...row }).answered('b')
        s.run('b', 't2').wait(100).run('a', 't3')
        return s.historyOfProcesses({ order: ['mail/l'], overlapping: true })
      },
      'two jobs of a lane at once': (s) => {
        const row = { lane: 'l' }
        s.enqueue('a', { row }).run('a', 't1').enqueue('b', { row }).claim(['b'], 't2').start('b', 't2')
        s.retry('a').run('a', 't3').end('b', 't2').settle('b', 't2')
        return s.history({ order: ['mail/l'] })
      },
    },
    'limit-break': {
      'one lease too many': (s) => {
        s.enqueue('a').enqueue('b').claim(['a', 'b'], 't1').start('a', 't1').start('b', 't1')
        s.end('a', 't1').settle('a', 't1').end('b', 't1').settle('b', 't1')
        return s.history({ limits: [{ name: 'one', limit: 1, of: ({ queue }) => queue === 'mail' }] })
      },
    },
    'rate-break': {
      'a start of what was prefetched of a lane that was told to wait': (s) => {
        s.enqueue('a').enqueue('b').claim(['a', 'b'], 't1').start('a', 't1').end('a', 't1', 'throttled')
        s.settle('a', 't1', { to: 'ready', refund: true, waitMs: 10 }).wait(50)
        return s.start('b', 't1').end('b', 't1').settle('b', 't1').run('a', 't2').history()
      },
      'a start of what another worker had prefetched long before its lane was told to wait': (s) => {
        s.enqueue('a').enqueue('b').as('w2#1').claim(['b'], 't2').as('w1#1').claim(['a'], 't1').wait(1_600)
        s.start('a', 't1')
          .end('a', 't1', 'throttled')
          .settle('a', 't1', { to: 'ready', refund: true, waitMs: 10 })
        s.wait(50).as('w2#1').start('b', 't2').end('b', 't2').settle('b', 't2')
        return s.run('a', 't3').history({ prefetchMs: 1_500 })
      },
      'a burst too many': (s) => {
        s.enqueue('a').enqueue('b').enqueue('c').claim(['a', 'b', 'c'], 't1')
        for (const id of ['a', 'b', 'c']) s.start(id, 't1').end(id, 't1').settle(id, 't1')
        return s.history({ rates: [{ ...TEN, burst: 2 }] })
      },
      'a cost that was not charged': (s) => {
        s.enqueue('a', { row: { cost: 5 } })
          .enqueue('b')
          .run('a', 't1')
          .wait(390)
          .run('b', 't2')
        return s.history({ rates: [TEN] })
      },
      'a little more than the rate, for long': (s) => {
        for (let n = 0; n < 20; n++) s.enqueue(`job-${n}`).run(`job-${n}`, `t${n}`).wait(80)
        return s.history({ rates: [{ ...TEN, forgets: true }] })
      },
      'a bucket that a clock which went back must not forget': (s) => {
        s.enqueue('a').run('a', 't1').enqueue('b').record({ f: 'clock', type: 'info', what: '500' })
        return s.run('b', 't2').history({ rates: [{ ...TEN, limit: 1 }] })
      },
      'a lane that did not wait although its handler was told to': (s) =>
        throttle(s.enqueue('a', { row: { lane: 'l' } }), 'a', 't1', 500)
          .wait(400)
          .run('a', 't2'),
    },
    'hold-break': {
      'a start of what was prefetched before a hold, in the process that put it': (s) => {
        s.enqueue('a').claim(['a'], 't1').hold('hold').confirm('mail', false).wait(50)
        return s.start('a', 't1').end('a', 't1').settle('a', 't1').history()
      },
      'a start of what another process had prefetched, after every worker confirmed': (s) => {
        s.enqueue('a')
          .claim(['a'], 't1')
          .as('w2#1')
          .hold('hold')
          .confirm('mail', true)
          .hold('release')
          .as('w1#1')
        return s.start('a', 't1').end('a', 't1').settle('a', 't1').history()
      },
      'a claim while the queue is held': (s) => s.enqueue('a').hold('hold').wait(50).run('a', 't1'),
      'a claim while a pattern, the space or everything is held': (s) => {
        s.enqueue('a')
          .hold('hold', { queue: '*ai*' })
          .wait(50)
          .run('a', 't1')
          .hold('release', { queue: '*ai*' })
        s.enqueue('b').hold('hold', { queue: null }).wait(50).run('b', 't2').hold('release', { queue: null })
        s.enqueue('c').hold('hold', { space: null, queue: null }).wait(50)
        return s.run('c', 't3')
      },
      'a claim while the lane is held': (s) =>
        s
          .enqueue('a', { row: { lane: 'l' } })
          .hold('hold', { lane: 'l' })
          .wait(50)
          .run('a', 't1'),
      'a claim while the default lane is held': (s) =>
        s.enqueue('a').hold('hold', { lane: '' }).wait(50).run('a', 't1'),
      'a claim while the other kind is still there': (s) =>
        s.enqueue('a').hold('hold').hold('hold', { kind: 'block' }).hold('release').wait(50).run('a', 't1'),
      'a claim after a release that failed': (s) =>
        s.enqueue('a').hold('hold').hold('release', { answer: 'fail' }).wait(50).run('a', 't1'),
      'a claim before the end of the hold': (s) =>
        s.enqueue('a').hold('hold', { forMs: 200 }).wait(100).run('a', 't1'),
      'a claim in spite of a hold that was put again': (s) =>
        s.enqueue('a').hold('hold').hold('release').wait(50).hold('hold').wait(50).run('a', 't1'),
      'a claim although the hold was made longer': (s) =>
        s.enqueue('a').hold('hold', { forMs: 100 }).hold('hold').wait(200).run('a', 't1'),
    },
    'started-after-cancel': {
      'a running job that was asked to stop and waits again': (s) => {
        s.enqueue('a').claim(['a'], 't1').start('a', 't1').cancel('a').end('a', 't1', 'threw')
        s.sends('a', 't1', { to: 'delayed' })
        s.change('a', { state: 'delayed', token: null, leaseUntil: null, cancelReason: null, ...failed(s) })
        return s.wait(100).command('bury', 'a', () => s.finish('a', 'dead'))
      },
      'a claim after the cancel was answered': (s) => {
        s.enqueue('a').command('cancel', 'a', () => undefined)
        return s.wait(50).run('a', 't1')
      },
    },
    'slot-duplicate': {
      'two jobs for one slot': () => {
        const s = slot('a', 1).run('a', 't1')
        s.change('b', { state: 'ready', dueAt: s.now, slot: { schedule: 's', slot: 1 } }).run('b', 't2')
        return s.history({ slots: [{ schedule: 's', slot: 1, required: true }] })
      },
    },
    'slot-missed': {
      'a slot without a job': () =>
        slot('a', 1)
          .run('a', 't1')
          .history({
            slots: [
              { schedule: 's', slot: 1, required: true },
              { schedule: 's', slot: 2, required: true },
            ],
          }),
    },
    'join-duplicate': {
      'a join that fires twice': (s) => {
        s.enqueue('a').run('a', 't1')
        for (const id of ['j', 'k']) {
          s.change(id, { dueAt: s.now, join: { run: 'r', node: 'n' } }).run(id, `t-${id}`)
        }
        return s.history({ joins: [{ run: 'r', node: 'n', children: ['a'] }] })
      },
    },
    'join-early': {
      'a join that fires before its last child has ended': (s) => {
        s.enqueue('a').enqueue('b').run('a', 't1')
        s.change('j', { dueAt: s.now, join: { run: 'r', node: 'n' } })
          .run('b', 't2')
          .run('j', 't3')
        return s.history({ joins: [{ run: 'r', node: 'n', children: ['a', 'b'] }] })
      },
    },
    'join-stuck': {
      'a join that never fires': (s) =>
        s
          .enqueue('a')
          .run('a', 't1')
          .history({ joins: [{ run: 'r', node: 'n', children: ['a'] }] }),
    },
    'not-atomic': {
      'a job of a handler that failed': (s) => {
        s.enqueue('a').claim(['a'], 't1').start('a', 't1').within('b', 't1').end('a', 't1', 'threw')
        s.settle('a', 't1', { to: 'delayed', count: 'errors', delayMs: 100 })
        s.change('b', { dueAt: s.now }).run('b', 't2').wait(100)
        return s.run('a', 't3')
      },
      'a job of a success that is not there': (s) => {
        s.enqueue('a').claim(['a'], 't1').start('a', 't1').within('b', 't1').end('a', 't1')
        return s.settle('a', 't1')
      },
      'a job of one handler that came with the success of another': (s) => {
        s.enqueue('a').enqueue('b').claim(['a', 'b'], 't1').start('a', 't1').start('b', 't1')
        s.within('c', 't1').end('a', 't1').end('b', 't1', 'threw').settle('a', 't1')
        s.sends('b', 't1', { to: 'done', enqueue: ['c'] })
        s.settle('b', 't1', { to: 'delayed', count: 'errors', delayMs: 100 }).change('c', { dueAt: s.now })
        return s.run('c', 't2').wait(100).run('b', 't3')
      },
      'a job that is there before the success': (s) => {
        s.enqueue('a').claim(['a'], 't1').start('a', 't1').within('b', 't1').change('b', { dueAt: s.now })
        s.wait(50).end('a', 't1').settle('a', 't1')
        return s.run('b', 't2')
      },
    },
    'wrong-result': {
      'a result nobody sent': (s) =>
        s
          .enqueue('a')
          .run('a', 't1', { value: '1', row: { result: '2' } })
          .told('result', 'a', null, '2'),
      'a result the handler did not return': (s) => {
        s.enqueue('a').claim(['a'], 't1').start('a', 't1').end('a', 't1', 'returned', '1')
        return s.settle('a', 't1', { value: '2' })
      },
      'a wrong answer for somebody who waits': (s) =>
        s.enqueue('a').run('a', 't1', { value: '1' }).told('result', 'a', null, '2'),
      'an answer about a job that was never done': (s) =>
        s.enqueue('a').cancel('a').told('result', 'a', null, '2'),
      'a listener that hears of another result': (s) => {
        s.enqueue('a').claim(['a'], 't1').start('a', 't1').end('a', 't1', 'returned', '1')
        return s.settle('a', 't1', { value: '1' }).told('finished', 'a', 't1', '2')
      },
      'a result that changes afterwards': (s) => {
        s.enqueue('a').run('a', 't1', { value: '1' })
        return s.history({}, new Map([['a', { ...s.row('a'), result: '2' }]]))
      },
    },
    'wrong-payload': {
      'another payload': (s) => {
        s.enqueue('a', { payload: '{"a":1}' }).claim(['a'], 't1').start('a', 't1', { payload: '{"a": 1}' })
        return s.end('a', 't1').settle('a', 't1')
      },
    },
    'ran-after-stop': {
      'a start after the stop': (s) => {
        s.enqueue('a').claim(['a'], 't1').stop('ok').wait(50).start('a', 't1').end('a', 't1')
        return s.settle('a', 't1')
      },
      'a handler that runs on': (s) => {
        s.enqueue('a').claim(['a'], 't1').start('a', 't1').stop('ok').wait(50).end('a', 't1')
        return s.settle('a', 't1')
      },
      'a lease that is still held': (s) => {
        s.enqueue('a').claim(['a'], 't1').stop('invoke').stop('ok').wait(LEASE_MS).as('w2#1')
        return s.settle('a', 't1', { to: 'ready', count: 'lost', rescue: true }).run('a', 't2')
      },
    },
    'handed-back-alive': {
      'a stop that hands back before the handler has ended': (s) => {
        s.enqueue('a').claim(['a'], 't1').start('a', 't1').stop('invoke').tellStop('a', 't1')
        s.settle('a', 't1', { to: 'ready' }).stop('ok').wait(50).end('a', 't1', 'threw')
        return s.as('w2#1').run('a', 't2').history({ graceMs: 100 })
      },
    },
    'outcome-dropped': {
      'a value that was returned within the grace of a stop': (s) => {
        s.enqueue('a').claim(['a'], 't1').start('a', 't1').stop('invoke').tellStop('a', 't1')
        s.wait(50).end('a', 't1').settle('a', 't1', { to: 'ready' }).stop('ok')
        return s.as('w2#1').run('a', 't2').history({ graceMs: 100 })
      },
      'a cancel within the grace of a stop': (s) => {
        s.enqueue('a').claim(['a'], 't1').start('a', 't1').stop('invoke').tellStop('a', 't1')
        s.wait(50).end('a', 't1', 'cancelled').settle('a', 't1', { to: 'ready' }).stop('ok')
        return s.as('w2#1').run('a', 't2').history({ graceMs: 100 })
      },
    },
    'unhandled-wrong': {
      'jobs that are unhandled beside a worker': (s) => told(s.enqueue('a'), 'mail', 10, 1).run('a', 't1'),
      'jobs that are handled by a worker that has been silent for long': (s) =>
        told(s.enqueue('a'), 'mail', 31_000, 0).run('a', 't1'),
      'jobs that are handled by a worker that was taken off the list': (s) => {
        told(s.enqueue('a'), 'mail', 10, 0).record({ f: 'depart', type: 'invoke', workerId: 'w' })
        s.record({ f: 'depart', type: 'ok', workerId: 'w' }).record({ f: 'handled', type: 'invoke', call: 2 })
        const queues = [{ queue: 'mail', ready: 1, unhandled: 0 }]
        return s.record({ f: 'handled', type: 'ok', call: 2, queues }).run('a', 't1')
      },
      'jobs that are handled by a worker of another queue': (s) =>
        told(s.enqueue('a'), 'fast', 10, 0).run('a', 't1'),
    },
    'retry-spent': {
      'an error because of a stop that counts': (s) => {
        s.enqueue('a').claim(['a'], 't1').start('a', 't1').stop('invoke').tellStop('a', 't1')
        s.wait(50)
          .end('a', 't1', 'threw')
          .settle('a', 't1', { to: 'delayed', count: 'errors', delayMs: 100 })
          .stop('ok')
          .wait(100)
        return s.as('w2#1').run('a', 't2').history({ graceMs: 100 })
      },
    },
    'pruned-early': {
      'a finished job that is removed too soon': (s) => s.enqueue('a').run('a', 't1').change('a', null),
    },
    'bad-shape': {
      'a running job without a token': (s) => {
        s.enqueue('a').change('a', {
          state: 'running',
          worker: 'w1',
          leaseUntil: 9,
          counters: { ...NO_COUNTS, starts: 1 },
        })
        return s.sends('a', '').release('a').hears('a', '')
      },
      'a waiting job with a lease': (s) =>
        s.enqueue('a', { row: { token: 't0', leaseUntil: 5 } }).run('a', 't1'),
      'a finished job without a time': (s) => s.enqueue('a').run('a', 't1', { row: { finishedAt: null } }),
      'a job that is done without having run': (s) =>
        s.enqueue('a').change('a', { state: 'done', finishedAt: s.now, expiresAt: s.now }),
      'a job that begins as done': (s) =>
        s.enqueue('a', { row: { state: 'done', finishedAt: 1, expiresAt: 2 } }),
      'a cancel nobody asked for': (s) => s.enqueue('a').finish('a', 'cancelled'),
      'a change that nobody saw': (s) => {
        s.enqueue('a', { delayMs: 900 })
        s.rows.set('a', { ...s.row('a'), state: 'ready' })
        return s.wait(900).run('a', 't1')
      },
      'another end than the last change': (s) => {
        s.enqueue('a').cancel('a')
        return s.history({}, new Map([['a', { ...s.row('a'), state: 'dead' }]]))
      },
      'a generation that leaps': (s) => {
        s.enqueue('a').cancel('a')
        s.command('retry', 'a', () => s.begin('a'))
        const last = s.audit.pop()
        s.rows.set('a', last?.before as AuditRow)
        s.change('a', { ...(last?.after as AuditRow), generation: 2 })
        return s.run('a', 't1')
      },
    },
    // Between real processes nobody knows what was so in the moment of a look.
    'not-by-the-clock': {
      'a job that is due and counted as delayed': (s) => {
        look(s.enqueue('a', { delayMs: 100 }).wait(100), { delayed: 1 }, 0, null)
        return s.run('a', 't1').history()
      },
      'an overdue job that is told of as if it had been made ready': (s) => {
        look(s.enqueue('a', { delayMs: 100 }).wait(100), { ready: 1 }, 0, s.now)
        return s.run('a', 't1').history()
      },
      'a job that is counted before it is due': (s) => {
        look(s.enqueue('a', { delayMs: 100 }).wait(99), { ready: 1 }, 1, s.now + 1)
        return s.wait(1).run('a', 't1').history()
      },
      'the age of the job that is next': (s) => {
        look(s.enqueue('a').wait(50).enqueue('b'), { ready: 2 }, 0, s.now)
        return s.run('a', 't1').run('b', 't2').history()
      },
      'a job that had long been done': (s) => {
        s.enqueue('a').run('a', 't1')
        for (let n = 0; n < 30; n++)
          s.enqueue(`b${n}`, { queue: 'fast' }).run(`b${n}`, `t${n + 2}`, { removes: true })
        return look(s, { ready: 1 }, 0, s.now).history()
      },
    },
    miscounted: {
      'a wrong number': (s) => s.enqueue('a').run('a', 't1').history({ counts: {} }),
      'a number of what is not there': (s) => s.history({ counts: { mail: { ready: 1 } as never } }),
    },
    'stuck-lease': {
      'a job that still runs': (s) => s.enqueue('a').claim(['a'], 't1').start('a', 't1').end('a', 't1'),
    },
    'not-drained': {
      'a job that still waits': (s) => s.enqueue('a'),
      'a run that did not drain': (s) => s.history({ drained: false }),
    },
    leak: {
      'a timer': (s) => s.history({ leaks: { timers: 1, sockets: 0 } }),
    },
  }

  for (const [kind, stories] of Object.entries(bad)) {
    for (const [name, tell] of Object.entries(stories)) {
      it(`${kind}: ${name}`, () => {
        const told = tell(story())

        const histories = told instanceof Story ? [told.history(), told.historyOfProcesses()] : [told]

        for (const history of histories) {
          const { violations } = check(history)
          expect([...new Set(violations.map((violation) => violation.kind))], text(violations)).toEqual([
            kind,
          ])
        }
      })
    }
  }

  it('a job that is done twice, whatever else is wrong with it', () => {
    const s = story().enqueue('a', { queue: 'fast' }).run('a', 't1', { removes: true })
    s.change('a', { queue: 'fast', dueAt: s.now }).run('a', 't2', { removes: true })

    const kinds = new Set(check(s.history()).violations.map((violation) => violation.kind))

    expect([...kinds]).toEqual(['acked-twice', 'redelivered-after-ack'])
  })

  it('counts that do not go by the clock', () => {
    const none = Object.fromEntries(JOB_STATES.map((state) => [state, 0])) as Record<JobState, number>
    const s = story().enqueue('a', { delayMs: 100 })
    const judged = (countedAt: number, mail: Partial<Record<JobState, number>>): readonly string[] =>
      check(s.history({ counts: { mail: { ...none, ...mail } }, countedAt })).violations.map(
        ({ kind }) => kind,
      )

    expect(judged(s.now + 99, { delayed: 1 })).not.toContain('miscounted')
    expect(judged(s.now + 99, { ready: 1 })).toContain('miscounted')
    expect(judged(s.now + 100, { ready: 1 })).not.toContain('miscounted')
    expect(judged(s.now + 100, { delayed: 1 })).toContain('miscounted')
  })

  it('every kind by at least one history', () => {
    for (const [kind, stories] of Object.entries(bad)) {
      expect(Object.keys(stories).length, kind).toBeGreaterThan(0)
    }
  })
})

describe('a report', () => {
  it('counts what people ask for', () => {
    const s = story().enqueue('a').enqueue('b', { answer: 'info' }).asked('c').answered('c').asked('d')
    loseOnce(s, 'a', 't1').run('a', 't2').run('b', 't3')

    const { counts } = check(s.history())

    expect(counts).toEqual({
      enqueued: 2,
      lost: 1,
      unexpected: 0,
      duplicated: 1,
      recovered: 1,
      staleSettles: 0,
      starts: 3,
    })
  })

  it('is one line of counts and at most twenty violations', () => {
    const s = story()
    for (let n = 0; n < 30; n++) s.enqueue(`job-${n}`)

    const lines = describeReport(check(s.history())).split('\n')

    expect(lines[0]).toBe(
      'enqueued 30, duplicated 0, recovered 0, starts 0, lost 0, unexpected 0, staleSettles 0, violations 30',
    )
    expect(lines[1]).toBe('L-1 not-drained job-0: It was still ready when everything had healed.')
    expect(lines.length).toBe(22)
    expect(lines.at(-1)).toBe('and 10 more')
  })

  it('grows with the history and not with its square', () => {
    const tell = (jobs: number): History => {
      const s = story()
      for (let n = 0; n < jobs; n++) failOnce(s.enqueue(`job-${n}`), `job-${n}`, `t${n}`).wait(100)
      for (let n = 0; n < jobs; n++) s.run(`job-${n}`, `u${n}`)
      return s.history()
    }
    const [small, large] = [tell(1_000), tell(8_000)]
    check(small)

    const costs = [small, large].map((history) => {
      const begin = process.cpuUsage()
      expect(check(history).violations).toEqual([])
      return process.cpuUsage(begin).user
    })

    expect(large.records.length).toBeGreaterThan(100_000)
    // Eight times as much would be 64 times the work if it were the square.
    expect((costs[1] as number) / (costs[0] as number)).toBeLessThan(48)
  })
})

function failed(s: Story): Partial<AuditRow> {
  return { dueAt: s.now + 100, counters: { ...NO_COUNTS, starts: 1, errors: 1 } }
}

function done(): AuditRow {
  return story().enqueue('x').run('x', 't').row('x')
}

function text(violations: ReturnType<typeof check>['violations']): string {
  return violations.map(({ kind, message }) => `${kind}: ${message}`).join('\n')
}

/** An example of what goes in and comes out of every operation, for the OpenAPI document. Tests send them to a server. */
import type { InputOf, OperationName, OutputOf } from '../schema/wire-types.ts'
import {
  BULK,
  COUNTS,
  DETAIL,
  ERRORS,
  FLOW,
  HOLD,
  IDS,
  JOB,
  LIMIT,
  NOW,
  QUEUE,
  RUN,
  SCHEDULE,
  SERIES,
  SLOTS,
  TOKEN,
  WORKER,
} from './samples.ts'

export interface Example<Name extends OperationName> {
  readonly input: InputOf<Name>
  readonly output: OutputOf<Name>
}

const { job, dead, copy, bulk, run, group, worker, receiver, view, error, token } = IDS
const queue = 'mail.send'
const VIEW = { id: view, name: 'Timeouts', query: 'state:dead error:~timeout', by: 'ada' } as const
const PAUSED = { at: NOW, reason: 'the books are closed', by: 'ada' } as const

export const EXAMPLES: { readonly [Name in OperationName]: Example<Name> } = {
  'me.get': {
    input: {},
    output: {
      name: 'ada',
      scopes: ['read', 'operate'],
      space: 'default',
      spaces: null,
      queues: ['*'],
      payloads: true,
      environment: 'production',
      version: '0.1.0',
      traceUrl: null,
    },
  },
  'overview.get': {
    input: { range: '1h' },
    output: {
      attention: [
        { level: 'warning', kind: 'dead', text: '2 dead jobs in mail.send.', link: '/jobs?q=state:dead' },
      ],
      totals: COUNTS,
      oldest: { queue, ms: 850 },
      unhandled: 0,
      queues: 1,
      workers: { live: 2, running: 3, slots: 20 },
      receivers: 1,
      series: SERIES,
      deploys: [{ at: '2026-11-16T06:00:00.000Z', version: '1.4.2' }],
      now: NOW,
    },
  },
  'series.get': { input: { queue, range: '15m' }, output: SERIES },
  'system.get': {
    input: {},
    output: {
      store: {
        label: 'postgres://skep@db.internal/shop',
        durability: 'jobs survive the loss of power',
        level: 'disk',
        latencyMs: 0.8,
      },
      notifier: { status: 'up', detail: 'LISTEN on one connection' },
      checks: [
        {
          name: 'queues',
          status: 'warning',
          text: 'mail.send: 2 dead jobs',
          fix: 'List them: skep dead list --queue mail.send',
        },
      ],
      server: {
        version: '0.1.0',
        node: 'v24.21.0',
        upMs: 12_600_000,
        memoryBytes: 91_226_112,
        lagMs: 9,
        connections: 4,
      },
      limits: [],
    },
  },
  'queues.list': { input: {}, output: { queues: [QUEUE] } },
  'queues.get': {
    input: { queue, range: '1h' },
    output: {
      ...QUEUE,
      limits: [LIMIT],
      series: SERIES,
      deploys: [{ at: '2026-11-16T06:00:00.000Z', version: '1.4.2' }],
      explanation: {
        queue,
        waiting: 12,
        delayed: 0,
        causes: [
          {
            cause: 'lane-full',
            jobs: 12,
            isExact: true,
            lane: 'acme',
            lanes: 1,
            hold: null,
            until: null,
            text: '12 jobs wait: lane "acme" is full, 2 of 2 are running.',
          },
        ],
        isWhole: true,
      },
      card: {
        queue,
        schema: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
        policy: [
          'On success: done, kept for 3 d.',
          'On an error: up to 20 retries, 1 s to 1 h apart, then dead, kept for 30 d.',
          'An attempt may take 30 s; after that: up to 12 retries, 5 s to 1 h apart, then dead, kept for 30 d.',
          'If a worker dies with it: up to 5 retries, at once, then dead, kept for 30 d.',
          'Cancelled: kept for 3 d.',
        ],
        timeoutMs: 30_000,
        priority: 0,
        hasLanes: true,
        tellsUnique: false,
      },
    },
  },
  'queues.lanes': {
    input: { queue, limit: 20 },
    output: {
      lanes: [
        {
          lane: 'acme',
          running: 2,
          waiting: 11,
          waitingIsExact: true,
          startsAt: null,
          occupant: null,
          hold: null,
          changed: false,
          waitsFor: { cause: 'lane-full', text: 'Full, 2 of 2 are running.' },
        },
      ],
      cursor: null,
    },
  },
  'queues.limit': {
    input: { queue, limits: { concurrency: 20, rate: { limit: 100, per: '1s' } } },
    output: LIMIT,
  },
  'queues.unlimit': {
    input: { queue },
    output: { ...LIMIT, changed: null, limits: { concurrency: 50 } },
  },
  'queues.purge': {
    input: { queue, states: ['dead'], before: '2026-11-01T00:00:00.000Z', dryRun: true },
    output: {
      removed: 0,
      running: 3,
      counts: { delayed: 0, ready: 0, done: 0, failed: 0, dead: 2, cancelled: 0 },
    },
  },
  'queues.drop': {
    input: { queue: 'mail.old', force: true, confirm: 'mail.old' },
    output: {
      queue: 'mail.old',
      dryRun: false,
      known: true,
      jobs: 5,
      states: { delayed: 0, ready: 3, done: 0, failed: 0, dead: 2, cancelled: 0 },
      limits: 1,
      holds: 0,
    },
  },
  'limits.list': { input: { queue }, output: { limits: [LIMIT] } },
  'holds.list': { input: {}, output: { holds: [HOLD] } },
  'holds.pause': { input: { queue, reason: 'SMTP is down', for: '1h' }, output: { holds: [HOLD] } },
  'holds.resume': { input: { queue }, output: { released: true, holds: [] } },
  'holds.block': {
    input: { queue, lane: 'acme', reason: 'They have not paid.' },
    output: {
      holds: [{ ...HOLD, kind: 'block', lane: 'acme', reason: 'They have not paid.', until: null }],
    },
  },
  'holds.unblock': { input: { queue, lane: 'acme' }, output: { released: true, holds: [] } },
  'jobs.list': {
    input: { query: 'queue:mail.* state:done', limit: 20 },
    output: { jobs: [JOB], cursor: null, searched: 1 },
  },
  'jobs.count': {
    input: { query: 'state:dead error:~timeout' },
    output: { count: 48, isExact: true },
  },
  'jobs.get': { input: { id: job }, output: DETAIL },
  'jobs.explain': { input: { id: job }, output: DETAIL.explanation },
  'jobs.logs': {
    input: { id: job, limit: 100 },
    output: {
      progress: { value: 1, note: null, at: '2026-11-16T09:29:58.240Z' },
      lines: [
        {
          place: 1,
          at: '2026-11-16T09:29:58.100Z',
          level: 'info',
          message: 'connected',
          fields: { host: 'smtp.internal' },
        },
      ],
      cursor: 1,
      more: false,
      dropped: 0,
    },
  },
  'jobs.enqueue': {
    input: { queue, payload: { to: 'ada@example.com' }, delay: '5m', unique: 'welcome:ada' },
    output: { id: job, duplicate: false },
  },
  'jobs.enqueueMany': {
    input: {
      jobs: [
        { queue, payload: { to: 'ada@example.com' } },
        { queue, payload: { to: 'bob@example.com' }, priority: 10 },
      ],
    },
    output: {
      jobs: [
        { id: job, duplicate: false },
        { id: copy, duplicate: false },
      ],
    },
  },
  'jobs.change': {
    input: { action: 'retry', ids: [dead] },
    output: { changed: 1, requested: 0, refused: [] },
  },
  'jobs.copy': {
    input: { id: job, payload: { to: 'bob@example.com' } },
    output: { id: copy, duplicate: false },
  },
  'bulk.start': {
    input: { action: 'retry', query: 'state:dead error:~timeout', perSecond: 200 },
    output: { ...BULK, status: 'running', searched: 0, changed: 0, endedAt: null },
  },
  'bulk.list': { input: {}, output: { bulks: [BULK] } },
  'bulk.get': { input: { id: bulk }, output: BULK },
  'bulk.stop': { input: { id: bulk }, output: { ...BULK, status: 'stopped', changed: 12 } },
  'views.list': { input: {}, output: { views: [VIEW] } },
  'views.put': { input: { name: VIEW.name, query: VIEW.query }, output: VIEW },
  'views.remove': { input: { id: view }, output: {} },
  'errors.list': { input: { queue, muted: false }, output: { groups: [ERRORS], cursor: null } },
  'errors.get': { input: { id: error }, output: ERRORS },
  'errors.retry': {
    input: { id: error },
    output: { ...BULK, name: 'Retry: TimeoutError', query: `state:dead,failed error.group:${error}` },
  },
  'errors.mute': {
    input: { id: error, for: '1d' },
    output: { ...ERRORS, muted: { by: 'ada', until: '2026-11-17T09:30:00.000Z' } },
  },
  'errors.unmute': { input: { id: error }, output: ERRORS },
  'deadNotices.list': {
    input: { limit: 20 },
    output: {
      hasNotices: true,
      notices: [
        {
          queue,
          ids: [dead],
          deliveries: 11,
          reason: 'Delivered 11 times and answered never.',
          dueAt: '2026-11-16T09:20:00.000Z',
          buriedAt: '2026-11-16T09:25:30.000Z',
        },
      ],
      cursor: null,
    },
  },
  'schedules.list': { input: { limit: 50 }, output: { schedules: [SCHEDULE], cursor: null } },
  'schedules.get': { input: { id: 'nightly', count: 2 }, output: { schedule: SCHEDULE, next: SLOTS } },
  'schedules.put': {
    input: {
      id: 'nightly',
      queue: 'report.build',
      cron: '0 3 * * *',
      timeZone: 'Europe/Berlin',
      payload: { month: '2026-11' },
      overlap: 'skip',
    },
    output: SCHEDULE,
  },
  'schedules.pause': {
    input: { id: 'nightly', reason: PAUSED.reason },
    output: { ...SCHEDULE, paused: PAUSED },
  },
  'schedules.resume': { input: { id: 'nightly' }, output: SCHEDULE },
  'schedules.run': { input: { id: 'nightly' }, output: { id: job, duplicate: false } },
  'schedules.remove': { input: { id: 'nightly' }, output: {} },
  'schedules.preview': {
    input: { cron: '0 3 * * *', timeZone: 'Europe/Berlin', count: 2 },
    output: { words: SCHEDULE.words, next: SLOTS },
  },
  'flows.list': { input: {}, output: { flows: [FLOW], isAll: true } },
  'runs.list': {
    input: { flow: 'fulfil', status: 'running', attribute: 'orderId=62' },
    output: { runs: [RUN], cursor: null },
  },
  'runs.get': {
    input: { id: run },
    output: {
      run: RUN,
      flow: FLOW,
      members: {
        open: [{ n: 0, id: job, kind: 'job', name: 'ship', state: 'running', failure: null }],
        failed: [],
      },
      branches: [],
      explanation: {
        id: run,
        kind: 'run',
        state: null,
        queue: null,
        flow: 'fulfil',
        lane: null,
        causes: [],
        summary: 'Waiting for 1 of 3 members (2 done).',
      },
    },
  },
  'runs.cancel': { input: { id: run, reason: 'The customer changed his mind.' }, output: { changed: true } },
  'runs.retry': { input: { id: run, from: 'ship' }, output: { changed: true } },
  'runs.signal': { input: { id: run, name: 'approval', value: { by: 'Ada' } }, output: { changed: true } },
  'groups.get': {
    input: { id: group },
    output: { id: group, size: 3, isOpen: false, done: 2, failed: 0, endedAt: null },
  },
  'spaces.list': {
    input: {},
    output: { spaces: [{ space: 'acme', queues: 3, waiting: 1_240, running: 8, finished: 90_312, dead: 2 }] },
  },
  'workers.list': { input: {}, output: { workers: [WORKER] } },
  'workers.command': { input: { id: worker, command: 'pause' }, output: { ...WORKER, command: 'pause' } },
  'receivers.list': {
    input: {},
    output: {
      receivers: [
        {
          id: receiver,
          name: 'python-1',
          address: '10.0.0.7',
          protocol: 'grpc',
          queues: ['mail.*'],
          keys: null,
          credits: 100,
          unacked: 4,
          unackedBytes: 1_204,
          oldestAt: '2026-11-16T09:29:58.120Z',
          acked: 90_412,
          nacked: 7,
          connectedAt: '2026-11-16T06:00:02.000Z',
          lastAckAt: '2026-11-16T09:29:59.910Z',
        },
      ],
    },
  },
  'receivers.close': { input: { id: receiver }, output: {} },
  'tokens.list': { input: {}, output: { tokens: [TOKEN] } },
  'tokens.create': {
    input: { name: 'shop', scopes: ['enqueue'], queues: ['mail.*'], expires: '90d' },
    output: { token: `skep_${token}_…`, view: { ...TOKEN, lastUsedAt: null } },
  },
  'tokens.revoke': { input: { id: token }, output: {} },
  'audit.list': {
    input: { who: 'ada', limit: 20 },
    output: {
      entries: [
        {
          id: IDS.audit,
          at: NOW,
          who: 'ada',
          what: 'holds.pause',
          target: 'queue mail.send',
          outcome: 'ok',
          detail: null,
          address: '10.0.0.4',
        },
      ],
      cursor: null,
    },
  },
}

/** One small shop, of which all examples tell. */
import type {
  BulkView,
  ErrorGroup,
  JobDetail,
  OutputOf,
  QueueSummary,
  ScheduleSummary,
  Series,
  WorkerSummary,
} from '../schema/wire-types.ts'

export const IDS = {
  job: '019a8f3c-5b1e-7c40-9d52-6f0a3b9c1d2e',
  dead: '019a8f3c-6b1e-7c40-9d52-6f0a3b9c1d2f',
  copy: '019a8f3d-7b1e-7c40-9d52-6f0a3b9c1d30',
  bulk: '019a8f3d-8b1e-7c40-9d52-6f0a3b9c1d31',
  run: '019a8f3d-9b1e-7c40-9d52-6f0a3b9c1d32',
  group: '019a8f3d-ab1e-7c40-9d52-6f0a3b9c1d33',
  worker: '019a8f00-1b1e-7c40-9d52-6f0a3b9c1d34',
  receiver: '019a8f00-2b1e-7c40-9d52-6f0a3b9c1d35',
  view: '019a8f00-3b1e-7c40-9d52-6f0a3b9c1d36',
  error: '3f1c9a0b5d7e2468',
  token: '41a331d8ed7bbb50',
  audit: '019a8f3e-1b1e-7c40-9d52-6f0a3b9c1d37',
} as const

const at = (time: string): string => `2026-11-16T${time}Z`
export const NOW: string = at('09:30:00.000')

type Job = JobDetail['job']

export const JOB: Job = {
  id: IDS.job,
  space: 'default',
  queue: 'mail.send',
  state: 'done',
  payload: { to: 'ada@example.com' },
  headers: {},
  priority: 0,
  lane: null,
  cost: 1,
  dueAt: at('09:29:58.000'),
  enqueuedAt: at('09:29:58.000'),
  startedAt: at('09:29:58.012'),
  finishedAt: at('09:29:58.250'),
  expiresAt: '2026-11-19T09:29:58.250Z',
  generation: 0,
  starts: 1,
  errors: 0,
  timeouts: 0,
  lost: 0,
  snoozes: 0,
  worker: IDS.worker,
  leaseUntil: null,
  cancelReason: null,
  unique: null,
  result: { sent: true },
  failure: null,
}

export const DETAIL: JobDetail = {
  job: JOB,
  timeline: [
    { at: at('09:29:58.000'), kind: 'enqueued', text: 'Enqueued', attempt: null },
    { at: at('09:29:58.012'), kind: 'started', text: 'Started', attempt: 1 },
    { at: at('09:29:58.250'), kind: 'finished', text: 'Done', attempt: 1 },
  ],
  attempts: [],
  explanation: {
    id: IDS.job,
    kind: 'job',
    state: 'done',
    queue: 'mail.send',
    flow: null,
    lane: null,
    causes: [
      {
        cause: 'finished',
        state: 'done',
        at: at('09:29:58.250'),
        failure: null,
        text: 'Completed at 2026-11-16T09:29:58.250Z.',
      },
    ],
    summary: 'Completed at 2026-11-16T09:29:58.250Z.',
  },
  errorGroup: null,
  schedule: null,
  run: null,
  group: null,
  copyOf: null,
  trace: null,
}

export const COUNTS = {
  delayed: 1,
  ready: 12,
  running: 3,
  done: 4_810,
  failed: 0,
  dead: 2,
  cancelled: 0,
} as const

export const HOLD: OutputOf<'holds.list'>['holds'][number] = {
  kind: 'pause',
  space: 'default',
  queue: 'mail.send',
  lane: null,
  reason: 'SMTP is down',
  by: 'ada',
  since: at('09:20:00.000'),
  until: at('10:20:00.000'),
}

export const QUEUE: QueueSummary = {
  queue: 'mail.send',
  counts: COUNTS,
  oldestMs: 850,
  unhandled: 0,
  hold: null,
  holds: [],
  enqueuedRate: 4.2,
  doneRate: 4.1,
  failedRate: 0,
  workers: 2,
  slots: 20,
  limited: true,
  spark: [240, 251, 246],
}

export const LIMIT: OutputOf<'queues.limit'> = {
  target: { queue: 'mail.send' },
  declared: { concurrency: 50 },
  changed: { concurrency: 20, rate: { limit: 100, per: 1_000, burst: 100 } },
  limits: { concurrency: 20, rate: { limit: 100, per: 1_000, burst: 100 } },
}

export const SERIES: Series = {
  from: at('09:28:00.000'),
  stepMs: 60_000,
  enqueued: [250, 248],
  done: [246, 251],
  failed: [0, 0],
  retried: [1, 0],
  waitP50: [4, 5],
  waitP95: [18, 21],
  waitP99: [40, 44],
  runP50: [210, 214],
  runP95: [380, 377],
  runP99: [520, null],
}

export const BULK: BulkView = {
  id: IDS.bulk,
  name: 'retry state:dead error:~timeout',
  action: 'retry',
  query: 'state:dead error:~timeout',
  by: 'ada',
  status: 'done',
  searched: 312,
  changed: 48,
  refused: 0,
  expected: 48,
  startedAt: at('09:25:00.000'),
  beginsAt: at('09:25:00.000'),
  boundAt: at('09:25:00.004'),
  endedAt: at('09:25:02.310'),
  error: null,
}

export const ERRORS: ErrorGroup = {
  id: IDS.error,
  queue: 'mail.send',
  name: 'TimeoutError',
  message: 'The server did not answer within <n> ms',
  firstAt: at('08:02:11.000'),
  lastAt: at('09:24:40.000'),
  count: 61,
  dead: 48,
  spark: [0, 0, 13, 48],
  sampleJob: IDS.dead,
  sampleStack: 'TimeoutError: The server did not answer within 5000 ms\n    at send (mail.ts:14:9)',
  versions: [
    {
      version: '1.4.2',
      count: 48,
      firstAt: '2026-11-16T08:58:00.000Z',
      lastAt: '2026-11-16T09:28:00.000Z',
    },
  ],
  muted: null,
}

export const SCHEDULE: ScheduleSummary = {
  id: 'nightly',
  space: 'default',
  queue: 'report.build',
  cron: { expression: '0 3 * * *', timeZone: 'Europe/Berlin' },
  every: null,
  payload: { month: '2026-11' },
  dynamic: false,
  missed: 'once',
  graceMs: 60_000,
  overlap: 'skip',
  jitterMs: 0,
  startAt: null,
  endAt: null,
  declared: false,
  owner: null,
  nextAt: '2026-11-17T02:00:00.000Z',
  paused: null,
  lastSlot: at('02:00:00.000'),
  lastFiredAt: at('02:00:00.014'),
  lastJob: IDS.job,
  fired: 14,
  skipped: 0,
  revision: 'b1946ac92492d234',
  createdAt: '2026-11-02T10:00:00.000Z',
  updatedAt: '2026-11-02T10:00:00.000Z',
  words: 'every day at 03:00, Europe/Berlin',
}

export const SLOTS: OutputOf<'schedules.preview'>['next'] = [
  { at: '2026-11-17T02:00:00.000Z', local: '2026-11-17 03:00', note: null },
  { at: '2026-11-18T02:00:00.000Z', local: '2026-11-18 03:00', note: null },
]

export const FLOW: OutputOf<'flows.list'>['flows'][number] = {
  name: 'fulfil',
  version: 1,
  outline: {
    steps: [
      { kind: 'step', name: 'reserve', work: { queue: 'reserve' }, undo: null },
      { kind: 'step', name: 'ship', work: { queue: 'ship' }, undo: null },
    ],
  },
  runs: { running: 1, done: 240, failed: 0, cancelled: 0 },
}

export const RUN: OutputOf<'runs.list'>['runs'][number] = {
  id: IDS.run,
  flow: 'fulfil',
  version: 1,
  status: 'running',
  state: { order: 62 },
  attributes: ['orderId=62'],
  startedAt: at('09:29:00.000'),
  endedAt: null,
  result: null,
  failure: null,
  position: {
    step: 'ship',
    isUndoing: false,
    waits: { kind: 'jobs', group: IDS.group, size: 1, done: 0, failed: 0, until: null },
    steps: [
      { name: 'reserve', kind: 'step', path: '0', status: 'done', round: null },
      { name: 'ship', kind: 'step', path: '1', status: 'current', round: null },
    ],
  },
  progress: 0.5,
  branchOf: null,
}

export const WORKER: WorkerSummary = {
  id: IDS.worker,
  host: 'web-1',
  pid: 4_711,
  queues: ['mail.send', 'report.build'],
  concurrency: 10,
  running: 3,
  startedAt: at('06:00:00.000'),
  seenAt: at('09:29:58.000'),
  life: 'here',
  version: '1.4.2',
  node: 'v24.21.0',
  memoryBytes: 73_400_320,
  lagMs: 11,
  command: null,
  paused: false,
}

export const TOKEN: OutputOf<'tokens.list'>['tokens'][number] = {
  id: IDS.token,
  name: 'shop',
  scopes: ['enqueue'],
  space: 'default',
  queues: ['mail.*'],
  payloads: false,
  createdAt: at('07:00:00.000'),
  createdBy: 'ada',
  expiresAt: '2027-02-14T07:00:00.000Z',
  lastUsedAt: at('09:29:50.000'),
}

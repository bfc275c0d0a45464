import {
  archive,
  fixed,
  type JobContext,
  type Queue,
  queue,
  rateLimited,
  retry,
  sharedLimit,
  type snooze,
} from '../../../src/index.ts'
import type { SetLimitsCall } from '../../../src/store/limits.ts'
import type { AuditRow, LimitFact, QueueFacts, RateFact } from '../../proof/history.ts'
import { recordStart } from '../../proof/recorder.ts'
import type { App } from '../app.ts'
import type { Trial } from '../trial.ts'
import type { Feature, SimulatedQueue } from './index.ts'
import { enqueue, type Load, work, type Yield } from './jobs.ts'

const LANES = ['a', 'b', 'c'] as const

const patient = {
  onSuccess: archive('1h'),
  onError: retry(50, fixed(300)),
  onTimeout: retry(50, fixed('1s')),
  onLost: retry(50, fixed(0)),
} as const
const patience: QueueFacts = {
  retries: { errors: 50, timeouts: 50, lost: 50 },
  backoffMs: { errors: 300, timeouts: 1_000, lost: 0 },
  discards: false,
}

/** The most that is ever allowed of each, also by hand. */
export const MOST = { lane: 2, queue: 4, pair: 3 } as const

/** Limits on lanes and on the whole, which are changed while it runs. */
const laned: Queue<Load, Yield> = queue('laned', {
  ...patient,
  concurrency: MOST.queue,
  lanes: { concurrency: MOST.lane, weight: { a: 3 } },
  lane: () => undefined,
})

const RATE = { limit: 20, perMs: 1_000, burst: 3 } as const
const LANE_RATE = { limit: 8, perMs: 1_000, burst: 2 } as const

/** Rates of lanes and of the whole, and jobs of different cost. */
const metered: Queue<Load, Yield> = queue('metered', {
  ...patient,
  rate: { ...optionsOf(RATE) },
  lanes: { rate: { ...optionsOf(LANE_RATE) } },
  lane: () => undefined,
})

function optionsOf({ limit, perMs, burst }: typeof RATE | typeof LANE_RATE): {
  limit: number
  per: number
  burst: number
} {
  return { limit, per: perMs, burst }
}

/** Strict lanes. A job whose tries are used up is left behind. */
export const ordered: Queue<Load, Yield> = queue('ordered', {
  timeout: '1s',
  onSuccess: archive('1h'),
  onError: retry(3, fixed(200)),
  onTimeout: retry(2, fixed(100)),
  onLost: retry(50, fixed(0)),
  lane: () => undefined,
  lanes: { order: 'strict', failing: 'skip' },
})

const pair = sharedLimit('pair', { concurrency: MOST.pair })

/** Two that share one limit. */
const paired: readonly Queue<Load, Yield>[] = ['paired-a', 'paired-b'].map((name) =>
  queue<Load, Yield>(name, { ...patient, limit: pair }),
)

/** Its handlers are told "too many requests" now and then. */
const throttled: Queue<Load, Yield> = queue('throttled', { ...patient, lane: () => undefined })

async function workThrottled(
  trial: Trial,
  app: App,
  job: JobContext<Load, Yield>,
): Promise<Yield | ReturnType<typeof snooze>> {
  if (trial.isHealed || !trial.random.chance(0.25)) return work(trial, app, job)
  recordStart(app.recorder, job)('throttled')
  return rateLimited(trial.random.int(0, 2_000), 'Too many requests.')
}

const simulated = (
  of: Queue<Load, Yield>,
  facts: QueueFacts = patience,
  run: typeof workThrottled = work,
): SimulatedQueue => ({
  name: of.name,
  facts,
  handler: (trial, app) => of.handle((job) => run(trial, app, job)),
})

const inLane =
  (name: string, lane: string) =>
  (row: AuditRow): boolean =>
    row.queue === name && (row.lane ?? '') === lane
const inQueue =
  (name: string) =>
  (row: AuditRow): boolean =>
    row.queue === name

const limits: readonly LimitFact[] = [
  { name: 'laned', limit: MOST.queue, of: inQueue('laned') },
  ...['', ...LANES].map((lane) => ({ name: `laned/${lane}`, limit: MOST.lane, of: inLane('laned', lane) })),
  { name: 'pair', limit: MOST.pair, of: ({ queue: name }) => paired.some((one) => one.name === name) },
]

const rates: readonly RateFact[] = [
  { name: 'metered', ...RATE, of: inQueue('metered') },
  ...['', ...LANES].map((lane) => ({
    name: `metered/${lane}`,
    ...LANE_RATE,
    forgets: true,
    of: inLane('metered', lane),
  })),
]

/** Several at once, so that lanes have something to choose from. */
function enqueueSome(to: Queue<Load, Yield>): (trial: Trial) => void {
  return (trial) => {
    const { random } = trial
    for (let n = random.int(1, 6); n > 0; n--) {
      const lane = random.pick(['', ...LANES])
      const mayWait = to !== ordered && random.chance(0.2)
      void enqueue(trial, to, {
        ...(lane !== '' && { lane }),
        ...(to === metered && { cost: random.pick([1, 1, 1, 2, 4]) }),
        ...(mayWait && { delay: random.int(1, 1_500), priority: random.pick([-1, 0, 1]) }),
      })
    }
  }
}

/** Somebody turns limits down, and takes that back. They are never raised beyond what the checker knows of. */
function changeLimits(trial: Trial): void {
  const { random } = trial
  const app = random.pick(trial.up)
  const isBack = random.chance(0.3)
  const target = random.pick<SetLimitsCall['limits'][number]['target']>([
    { queue: 'laned' },
    { queue: 'laned', lane: random.pick(LANES) },
    { shared: 'pair' },
  ])
  const most = 'shared' in target ? MOST.pair : target.lane === undefined ? MOST.queue : MOST.lane
  const fields = isBack ? null : { concurrency: random.int(1, most) }
  app.trackCall(app.store.setLimits({ space: 'default', limits: [{ target, by: 'hand', fields }] }))
}

export const lanes: Feature = {
  name: 'lanes',
  queues: [
    simulated(laned),
    simulated(metered),
    simulated(ordered, {
      retries: { errors: 3, timeouts: 2, lost: 50 },
      backoffMs: { errors: 200, timeouts: 100, lost: 0 },
      discards: false,
    }),
    ...paired.map((one) => simulated(one)),
    simulated(throttled, patience, workThrottled),
  ],
  limits,
  rates,
  order: ['', ...LANES].map((lane) => `ordered/${lane}`),
  actions: [
    { name: 'enqueue in lanes', weight: 4, run: enqueueSome(laned) },
    { name: 'enqueue at a rate', weight: 4, run: enqueueSome(metered) },
    { name: 'enqueue in order', weight: 5, run: enqueueSome(ordered) },
    {
      name: 'enqueue under a shared limit',
      weight: 8,
      run: (trial) => enqueueSome(trial.random.pick(paired))(trial),
    },
    { name: 'enqueue what is throttled', weight: 3, run: enqueueSome(throttled) },
    { name: 'change limits', weight: 2, run: changeLimits },
  ],
}

import {
  archive,
  buried,
  bury,
  cancel,
  discard,
  fixed,
  type JobContext,
  never,
  type Queue,
  queue,
  retry,
  snooze,
} from '../../../src/index.ts'
import type { QueueFacts } from '../../proof/history.ts'
import { recordedEnqueue, recordStart } from '../../proof/recorder.ts'
import type { App } from '../app.ts'
import type { Trial } from '../trial.ts'
import type { Feature, SimulatedQueue } from './index.ts'

/** What every simulated job carries: a number of its own. */
export interface Load {
  readonly n: number
}

export interface Yield {
  readonly n: number
  readonly by: string
}

// Many retries, so that bad luck alone buries nothing.
const patient = {
  onError: retry(50, fixed(300)),
  onTimeout: retry(50, fixed('1s')),
  onLost: retry(50, fixed(0)),
} as const
const patience: QueueFacts = {
  retries: { errors: 50, timeouts: 50, lost: 50 },
  backoffMs: { errors: 300, timeouts: 1_000, lost: 0 },
  discards: false,
}

/** Kept for long when done. */
export const kept: Queue<Load, Yield> = queue('kept', { ...patient, onSuccess: archive('1h') })
/** Removed at once when done. */
export const spool: Queue<Load, Yield> = queue('spool', { ...patient, onSuccess: discard() })
/** Kept for so short a time that it may be pruned before its enqueuer knows of it. */
const brief: Queue<Load, Yield> = queue('brief', {
  ...patient,
  onSuccess: archive('1s'),
  keepCancelled: '1s',
})
/** Few tries, a short time limit, and three different ends. */
const strict: Queue<Load, Yield> = queue('strict', {
  timeout: '1s',
  onError: never(),
  onTimeout: retry(1, fixed(200), { ending: archive('1h') }),
  onLost: retry(1, fixed(0), { ending: buried() }),
})
/** A job whose worker dies is thrown away. */
const fragile: Queue<Load, Yield> = queue('fragile', {
  onSuccess: discard(),
  onError: retry(2, fixed(100), { ending: discard() }),
  onTimeout: never(discard()),
  onLost: never(discard()),
})
/** Comes into being only through the success of another job. */
export const child: Queue<Load, Yield> = queue('child', { ...patient, onSuccess: archive('1h') })
/** Handled several at once. */
const batch: Queue<Load, Yield> = queue('batch', { ...patient, onSuccess: archive('1h') })
/** Not every program handles it. */
const rare: Queue<Load, Yield> = queue('rare', { ...patient, onSuccess: archive('1h') })

// The strict one three times: its jobs are the only ones that die when their workers do.
const PLAIN = [kept, spool, brief, strict, strict, strict, fragile, batch, rare] as const

/** Runs one job: takes its time, fails as often as the swarm says, and writes down what it did. */
export async function work(
  trial: Trial,
  app: App,
  job: JobContext<Load, Yield>,
): Promise<Yield | ReturnType<typeof snooze>> {
  const { random, swarm } = trial
  const ended = recordStart(app.recorder, job)
  // A batch is one run, however many jobs are in it, and ends with the last of them.
  const slots = job.queue === batch.name ? 0 : 1
  let isDeaf = slots === 0
  const end: typeof ended = (how, value) => ended(how, value, isDeaf)
  app.running += slots
  if (app.running > swarm.concurrency) tooMany(trial, app, swarm.concurrency)
  const leave = once(() => {
    app.running -= slots
  })
  job.signal.addEventListener('abort', leave, { once: true })
  try {
    // Some handlers do not listen to their signal.
    const ignoresSignal = !trial.isHealed && random.chance(0.1)
    isDeaf ||= ignoresSignal
    await pause(app, job, random.next() * random.pick([0, swarm.handlerMs]), ignoresSignal)
    const isCleanedUp = !ignoresSignal && job.signal.aborted && (await cleansUp(trial, app))
    if (!ignoresSignal && !isCleanedUp) job.signal.throwIfAborted()
    const usual = trial.isHealed || !random.chance(swarm.failureRate) ? 'success' : random.pick(FATES)
    const luck = isCleanedUp ? random.pick(AFTER_CLEANUP) : usual
    switch (luck) {
      case 'throw':
        end('threw')
        throw new Error('Bad luck.')
      case 'overrun':
        await pause(app, job, 3_000, false)
        job.signal.throwIfAborted()
        break
      case 'snooze':
        end('snoozed')
        return snooze(random.int(0, 1_500))
      case 'cancel':
        end('cancelled')
        return cancel('The handler says so.')
      case 'bury':
        end('buried')
        return bury('The handler says so.')
      case 'success':
    }
    if (job.queue !== child.name && random.chance(0.3)) {
      const children = random.int(1, 3)
      for (let i = 0; i < children; i++) {
        const unique = trial.hasStrangers ? { unique: `${job.id} ${job.attempt} ${i}` } : {}
        await job.enqueue(child, { n: job.payload.n * 10 + i }, unique)
      }
    }
    const value = { n: job.payload.n, by: app.process.name }
    end('returned', value)
    return value
  } catch (error) {
    end('threw')
    throw error
  } finally {
    leave()
  }
}

const AFTER_CLEANUP = ['success', 'success', 'snooze', 'cancel'] as const
/** Less than the grace. */
const CLEANUP_MS = 400

const FATES = ['throw', 'throw', 'throw', 'overrun', 'snooze', 'cancel', 'bury'] as const

/** Some handlers end in their own way after their signal aborted, and not at once. True: as if nothing had happened. */
async function cleansUp({ random }: Trial, app: App): Promise<boolean> {
  if (random.chance(0.3)) return false
  await new Promise<void>((resolve) => app.process.wait(random.int(0, CLEANUP_MS), resolve))
  return random.chance(0.8)
}

export function pause(app: App, job: JobContext<Load, Yield>, ms: number, isDeaf: boolean): Promise<void> {
  return new Promise((resolve) => {
    if (!isDeaf && job.signal.aborted) return resolve()
    app.process.wait(ms, resolve)
    if (!isDeaf) job.signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

function once(run: () => void): () => void {
  let done = false
  return () => {
    if (!done) run()
    done = true
  }
}

function tooMany(trial: Trial, app: App, limit: number): void {
  trial.violate({
    invariant: 'I-11',
    kind: 'limit-break',
    about: app.process.name,
    message: `${app.running} handlers run at once where ${limit} may.`,
  })
}

export function enqueue(
  trial: Trial,
  to: Queue<Load, Yield>,
  options: Parameters<App['skep']['enqueue']>[2] = {},
  app: App = trial.random.pick(trial.up),
): Promise<void> {
  const n = app.recorder.now() % 1_000_000
  const promise = app.skep.enqueue(to, { n }, options)
  const told = recordedEnqueue(app.recorder, to.name, promise).then((handles) => {
    for (const { id } of handles ?? []) trial.known.push(id)
    const [first] = handles ?? []
    if (first && trial.random.chance(0.1)) app.track(awaitResult(app, first))
  })
  app.track(told)
  return told
}

async function awaitResult(
  app: App,
  handle: { readonly id: string; result(options: object): Promise<unknown> },
): Promise<void> {
  const value = await handle.result({ timeout: '5m' })
  app.recorder.write({
    f: 'told',
    type: 'ok',
    event: 'result',
    id: handle.id,
    token: null,
    value: JSON.stringify(value),
  })
}

function enqueueMany(trial: Trial): void {
  const { random } = trial
  const app = random.pick(trial.up)
  const to = random.pick(PLAIN)
  const items = Array.from({ length: random.int(1, 12) }, (_, n) => ({ n }))
  const delays = items.map(() => random.pick([0, 0, 500, 2_000]))
  const promise = app.skep.enqueueMany(to, items, { each: (_, index) => ({ delay: delays[index] ?? 0 }) })
  app.track(
    recordedEnqueue(app.recorder, to.name, promise).then((handles) => {
      for (const { id } of handles ?? []) trial.known.push(id)
    }),
  )
}

const facts = (difference: Partial<QueueFacts> = {}): QueueFacts => ({ ...patience, ...difference })

const simulated = (
  { name, handle }: Queue<Load, Yield>,
  of: QueueFacts,
  more: Partial<SimulatedQueue> = {},
): SimulatedQueue => ({
  name,
  facts: of,
  handler: (trial, app) => handle((job) => work(trial, app, job)),
  ...more,
})

export const jobs: Feature = {
  name: 'jobs',
  queues: [
    simulated(kept, facts()),
    simulated(spool, facts({ discards: true })),
    simulated(brief, facts()),
    simulated(
      strict,
      facts({
        retries: { errors: 0, timeouts: 1, lost: 1 },
        backoffMs: { errors: 0, timeouts: 200, lost: 0 },
      }),
    ),
    simulated(
      fragile,
      facts({
        retries: { errors: 2, timeouts: 0, lost: 0 },
        backoffMs: { errors: 100, timeouts: 0, lost: 0 },
        discards: true,
        discardsFailures: true,
      }),
    ),
    simulated(child, facts()),
    simulated(batch, facts(), {
      handler: (trial, app) =>
        batch.handleBatch({ size: 3 }, (many) =>
          Promise.all(many.map((job) => work(trial, app, job).catch((error: unknown) => error as Error))),
        ),
    }),
    simulated(rare, facts(), { rare: true }),
  ],
  actions: [
    { name: 'enqueue', weight: 30, run: (trial) => void enqueue(trial, trial.random.pick(PLAIN)) },
    {
      name: 'enqueue with a delay',
      weight: 10,
      run: (trial) =>
        void enqueue(trial, trial.random.pick(PLAIN), {
          delay: trial.random.int(1, 3_000),
          priority: trial.random.pick([-1, 0, 1]),
        }),
    },
    { name: 'enqueue many', weight: 8, run: enqueueMany },
  ],
}

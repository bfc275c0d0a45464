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
} from '../../../../src/index.ts'
import type { QueueFacts } from '../../../proof/history.ts'
import { recordStart } from '../../../proof/recorder.ts'
import type { App } from '../../app.ts'
import type { Trial } from '../../trial.ts'
import type { SimulatedQueue } from '../index.ts'

type Load = Readonly<Record<string, unknown>>
type Answer = Promise<unknown>

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

/** Kept when done. */
const part: Queue<Load, unknown> = queue('part', { ...patient, onSuccess: archive('1h') })
/** Removed at once when done. */
const swift: Queue<Load, unknown> = queue('swift', { ...patient, onSuccess: discard() })
/** Ends badly as soon as something goes wrong: dead, failed, or thrown away. */
const frail: Queue<Load, unknown> = queue('frail', {
  timeout: '1s',
  onSuccess: archive('1h'),
  onError: never(buried()),
  onTimeout: never(archive('1h')),
  onLost: never(discard()),
})
/** Gives a number, which is no field of a state. */
const flat: Queue<Load, unknown> = queue('flat', { ...patient, onSuccess: archive('1h') })
/** Takes back what a step did. */
const undone: Queue<Load, unknown> = queue('undone', { ...patient, onSuccess: archive('1h') })
/** Follows a group, and gives what became of its members. */
const joined: Queue<Load, unknown> = queue('joined', { ...patient, onSuccess: archive('1h') })

export const PARTS: readonly string[] = [part.name, swift.name, frail.name]
export const FLAT: readonly string[] = [flat.name]
export const STEPS: readonly string[] = [...PARTS, part.name, frail.name, flat.name]
export const QUEUES: Readonly<Record<string, Queue<Load, unknown>>> = {
  part,
  swift,
  frail,
  flat,
  undone,
  joined,
}

const FATES = ['throw', 'throw', 'overrun', 'snooze', 'cancel', 'bury'] as const

/** Runs one job: takes its time, fails as often as the swarm says, spawns, and writes down what it did. */
async function work(trial: Trial, app: App, job: JobContext<Load, unknown>): Answer {
  const { random, swarm } = trial
  const ended = recordStart(app.recorder, job)
  let isDeaf = false
  const end: typeof ended = (how, value) => ended(how, value, isDeaf)
  app.running++
  const leave = once(() => app.running--)
  job.signal.addEventListener('abort', leave, { once: true })
  try {
    isDeaf = !trial.isHealed && random.chance(0.1)
    await pause(app, job, random.next() * random.pick([0, Math.min(swarm.handlerMs, 1_500)]), isDeaf)
    if (!isDeaf) job.signal.throwIfAborted()
    const luck = trial.isHealed || !random.chance(swarm.failureRate) ? 'success' : random.pick(FATES)
    switch (luck) {
      case 'throw':
        throw new Error('Bad luck.')
      case 'overrun':
        await pause(app, job, 3_000, false)
        job.signal.throwIfAborted()
        break
      case 'snooze':
        end('snoozed')
        return snooze(random.int(0, 500))
      case 'cancel':
        end('cancelled')
        return cancel('The handler says so.')
      case 'bury':
        end('buried')
        return bury('The handler says so.')
      case 'success':
    }
    const value = await givenBy(trial, app, job)
    end('returned', value)
    return value
  } catch (error) {
    end('threw')
    throw error
  } finally {
    leave()
  }
}

/** Another one for each run of the handler, so that it shows which of them was taken. */
async function givenBy(trial: Trial, app: App, job: JobContext<Load, unknown>): Answer {
  const { random } = trial
  const by = `${app.process.name}/${job.attempt}`
  if (job.queue === joined.name) return { by, got: await job.results() }
  if (job.queue === flat.name) return random.int(1, 1_000_000)
  if (job.queue === part.name && job.payload.spawns === true) {
    const drafts = Array.from({ length: random.int(0, 3) }, (_, n) => part.job({ n }))
    await job.spawn(drafts, { next: joined.job({}) })
  }
  return { last: random.int(1, 1_000_000), by }
}

function pause(app: App, job: JobContext<Load, unknown>, ms: number, isDeaf: boolean): Promise<void> {
  return new Promise((resolve) => {
    app.process.wait(ms, resolve)
    if (!isDeaf) job.signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

function once(run: () => void): () => void {
  let isDone = false
  return () => {
    if (!isDone) run()
    isDone = true
  }
}

const simulated = (of: Queue<Load, unknown>, facts: Partial<QueueFacts> = {}): SimulatedQueue => ({
  name: of.name,
  facts: { ...patience, ...facts },
  handler: (trial, app) => of.handle((job) => work(trial, app, job)),
})

export const SIMULATED: readonly SimulatedQueue[] = [
  simulated(part),
  simulated(swift, { discards: true }),
  simulated(frail, {
    retries: { errors: 0, timeouts: 0, lost: 0 },
    backoffMs: { errors: 0, timeouts: 0, lost: 0 },
    discardsFailures: true,
  }),
  simulated(flat),
  simulated(undone),
  simulated(joined),
]

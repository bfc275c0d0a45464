import { messageOf } from '../core/errors.ts'
import { countText, fromNowText, manyText, spanText } from '../core/format.ts'
import type { Notifier, NotifierHealth } from '../notifier/notifier.ts'
import { type Runtime, sleep } from '../runtime/runtime.ts'
import type { Capabilities, Durability, Store } from '../store/store.ts'
import { countJobs, type QueueView } from './jobs/list.ts'
import type { HoldView } from './queues/holds.ts'
import { listWorkers, type WorkerView } from './workers/list.ts'

/** One thing that the doctor looked at. */
export interface DoctorFinding {
  /** What it is about: a word such as `durability`. */
  readonly name: string
  readonly status: 'ok' | 'warn' | 'fail'
  readonly text: string
  /** What to do; null if nothing. */
  readonly fix: string | null
}

export interface DoctorReport {
  readonly durability: Durability
  /** How long the store took for a small answer. */
  readonly latencyMs: number
  readonly notifier: NotifierHealth
  /** What this store cannot do, in sentences. */
  readonly cannot: readonly string[]
  readonly findings: readonly DoctorFinding[]
}

export interface DoctorEnv {
  readonly store: Store
  readonly notifier: Notifier
  readonly runtime: Runtime
  readonly space: string
  /** Whether the notifier is one of this process alone. */
  readonly isLocal: boolean
}

/** A job that is due for longer than this is worth a word. */
const LONG_MS = 10 * 60_000
/** Leases that ended so long ago should have been found. */
const UPKEEP_LATE_MS = 60_000
/** Hints need a connection of their own, which takes a moment. */
const NOTIFIER_WAIT_MS = 3_000
const NOTIFIER_LOOK_MS = 50

/** Looks at the store, the notifier, the workers and the queues of a space. It changes nothing. */
export async function examine(env: DoctorEnv, durability: Durability): Promise<DoctorReport> {
  const { store, runtime, space } = env
  const startedAt = runtime.mono()
  const workers = await listWorkers(env)
  const latencyMs = runtime.mono() - startedAt
  const queues = await countJobs(store, space)
  const notifier = await awaitNotifier(env)
  const findings = [
    durabilityFinding(durability),
    ...durability.warnings.map((text): DoctorFinding => ({ name: 'store', status: 'warn', text, fix: null })),
    canFinding(store.capabilities),
    notifierFinding(env, notifier),
    ...(await storeFindings(store)),
    workerFinding(workers),
    ...(await upkeepFindings(env, queues)),
    ...queueFindings(queues, env),
  ]
  return { durability, latencyMs, notifier, cannot: cannotOf(store.capabilities), findings }
}

/** The findings of the store about its database. An error there must not hide the other findings. */
async function storeFindings(store: Store): Promise<readonly DoctorFinding[]> {
  try {
    return await store.examine()
  } catch (error) {
    const text = `The database could not be checked: ${messageOf(error)}`
    return [{ name: 'storage', status: 'warn', text, fix: null }]
  }
}

/** Live workers rescue the jobs of dead ones. Long expired leases show that no worker does. */
async function upkeepFindings(
  { store, runtime, space }: DoctorEnv,
  queues: readonly QueueView[],
): Promise<readonly DoctorFinding[]> {
  const sources = queues.filter(({ running }) => running > 0).map(({ queue }) => ({ space, queue }))
  if (sources.length === 0) return []
  const before = runtime.now() - UPKEEP_LATE_MS
  const { leases } = await store.expired({ sources, workerIds: [], limit: 1, now: before })
  const [late] = leases
  if (late === undefined) return []
  const text = `leases of lost workers expired more than ${spanText(UPKEEP_LATE_MS)} ago and were not rescued, such as job ${late.id}`
  return [
    {
      name: 'upkeep',
      status: 'warn',
      text,
      fix: 'Start a worker, which rescues jobs of its queues: skep worker',
    },
  ]
}

function durabilityFinding({ level, detail }: Durability): DoctorFinding {
  const meaning = {
    disk: 'jobs survive the loss of power',
    process: 'jobs survive a crash of the process; a power loss may lose the newest ones',
    memory: 'jobs are lost when the process exits',
  }[level]
  const status = level === 'disk' ? 'ok' : 'warn'
  return { name: 'durability', status, text: `${level}: ${meaning}. ${detail}`, fix: null }
}

function canFinding(capabilities: Capabilities): DoctorFinding {
  const can = Object.entries(capabilities).filter(([, able]) => able === true)
  return {
    name: 'capabilities',
    status: 'ok',
    text: can.map(([name]) => name).join(', ') || 'none',
    fix: null,
  }
}

function cannotOf({ transactions, processes, liveness }: Capabilities): readonly string[] {
  return [
    ...(transactions ? [] : ['Jobs cannot be enqueued or settled in your own transaction.']),
    ...(processes ? [] : ['Only one process can use this store.']),
    ...(liveness ? [] : ['A dead worker is detected when its leases expire, not immediately.']),
  ]
}

/** The health of the notifier, after giving it time to connect. */
async function awaitNotifier({ notifier, runtime }: DoctorEnv): Promise<NotifierHealth> {
  const subscription = notifier.subscribe(() => {})
  try {
    const endsAt = runtime.mono() + NOTIFIER_WAIT_MS
    while (notifier.health().status === 'down' && runtime.mono() < endsAt)
      await sleep(runtime, NOTIFIER_LOOK_MS)
  } finally {
    subscription.end()
  }
  return notifier.health()
}

function notifierFinding({ isLocal }: DoctorEnv, { status, detail }: NotifierHealth): DoctorFinding {
  const name = 'notifier'
  if (isLocal) {
    return {
      name,
      status: 'ok',
      text: 'in this process only; other processes find jobs by polling',
      fix: null,
    }
  }
  if (status !== 'down') return { name, status: 'ok', text: `${status}: ${detail}`, fix: null }
  return {
    name,
    status: 'warn',
    text: `down: ${detail}`,
    fix: 'Workers find jobs by polling. Behind a connection pooler, give the notifier a direct connection.',
  }
}

function workerFinding(workers: readonly WorkerView[]): DoctorFinding {
  const here = workers.filter(({ life }) => life !== 'gone')
  const gone = workers.length - here.length
  const running = here.reduce((sum, worker) => sum + worker.running, 0)
  const slots = here.reduce((sum, worker) => sum + worker.concurrency, 0)
  const busy = `${countText(here.length)}, running ${countText(running)} of ${countText(slots)}`
  const text = here.length === 0 ? 'none' : busy
  const ended = gone === 0 ? '' : `; ${countText(gone)} recently lost`
  return { name: 'workers', status: 'ok', text: `${text}${ended}`, fix: null }
}

/** What a hold is on, as the command line names it. */
function targetOf({ space, queue }: HoldView): string {
  if (space === null) return '--everywhere'
  if (queue === null) return '--all'
  return queue.includes('*') ? `'${queue}'` : queue
}

function* queueFindings(
  queues: readonly QueueView[],
  { space, runtime }: DoctorEnv,
): Generator<DoctorFinding> {
  const total = queues.reduce((sum, queue) => sum + queue.ready + queue.delayed + queue.running, 0)
  const name = 'queues'
  yield {
    name,
    status: 'ok',
    text: `${countText(queues.length)} in space "${space}", ${manyText(total, 'job')} waiting or running`,
    fix: null,
  }
  const warning = (text: string, fix: string): DoctorFinding => ({ name, status: 'warn', text, fix })
  for (const { queue, holds, ready, oldestMs, unhandled, dead } of queues) {
    const [hold] = holds
    const waiting = `${queue}: ${manyText(ready, 'job')} ready`
    if (hold !== undefined && ready > 0) {
      const release = hold.kind === 'pause' ? 'resume' : 'unblock'
      const held = `${waiting}, but held: ${holdText(hold, runtime.now())}`
      yield warning(held, `To resume it: skep queues ${release} ${targetOf(hold)}`)
    } else if (unhandled > 0) {
      yield warning(
        `${waiting}, but no worker handles the queue`,
        'Start a worker with a handler for it: skep worker',
      )
    } else if (oldestMs !== null && oldestMs > LONG_MS) {
      const late = `${queue}: the oldest job has been due for ${spanText(oldestMs)}`
      yield warning(
        late,
        `Start more workers or raise their concurrency. For paused and full lanes: skep queues get ${queue}`,
      )
    }
    if (dead > 0) {
      yield warning(`${queue}: ${manyText(dead, 'dead job')}`, `List them: skep dead list --queue ${queue}`)
    }
  }
}

/** A hold in one line. */
function holdText({ kind, space, queue, lane, by, reason, since, until }: HoldView, now: number): string {
  const on = queue === null ? (space === null ? 'every space' : `space ${space}`) : queue
  const parts = [
    `${kind} on ${on}${lane === null ? '' : lane === '' ? ', the default lane' : `, lane "${lane}"`}`,
    ...(by === null ? [] : [`by ${by}`]),
    fromNowText(since, now),
    ...(until === null ? [] : [`ends ${fromNowText(until, now)}`]),
  ]
  return `${parts.join(', ')}${reason === null ? '' : `: ${reason}`}`
}

/**
 * Enqueues jobs in a process of its own, at a steady rate, from several callers at once. Now and then it cancels,
 * retries or promotes one of the jobs it enqueued, or waits for a result.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type JobHandle, SkepError } from '../../src/index.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { recordedEnqueue } from '../proof/recorder.ts'
import { onStop, openProgram, readConfig, tellParent } from './program.ts'
import { LANES, type QueueName, queues, SHARES, type Task } from './workload.ts'

const config = readConfig()
const { skep, recorder } = openProgram(config)
const random = seededRandom(config.seed)
const recent: { readonly id: string; readonly handle: JobHandle<number> | null }[] = []
const startedAt = performance.now()
const waits = new Set<Promise<void>>()
let sent = 0
let isStopping = false
let isFull = false

const names = SHARES.flatMap(([name, share]) => Array.from({ length: share }, () => name))

/** Numbers that no other incarnation uses. */
const base = Number(config.proc.split('#')[1]) * 10_000_000
const nextTask = (): Task => ({ n: base + sent++, ms: duration(), lane: random.pick(LANES) })

/** Mostly short; a few last long enough to be frozen or killed with, and to be taken over while they run. */
function duration(): number {
  const what = random.next()
  return what < 0.5 ? 0 : what < 0.98 ? random.int(1, 50) : random.int(500, 3_000)
}

function due(): number {
  return config.behind + ((performance.now() - startedAt) / 1_000) * config.rate
}

async function enqueueSome(): Promise<void> {
  const name = random.pick(names)
  const queue = queues[name]
  const isLate = due() - sent > 50
  if (random.chance(isLate ? 0.5 : 0.1)) {
    const tasks = Array.from({ length: isLate ? random.int(10, 40) : random.int(2, 8) }, nextTask)
    return remember(name, await recordedEnqueue(recorder, name, skep.enqueueMany(queue, tasks)))
  }
  // A job of a strict lane waits for its turn and for nothing else.
  const options =
    name !== 'strict' && random.chance(0.1)
      ? { delay: random.int(1, 400) }
      : random.chance(0.05)
        ? { unique: `key-${random.int(1, 20)}` }
        : {}
  remember(name, await recordedEnqueue(recorder, name, skep.enqueue(queue, nextTask(), options)))
}

/** More at once than the limits let run, in all lanes: a limit that nobody reaches proves nothing. */
async function enqueueRush(): Promise<void> {
  for (const name of ['laned', 'left', 'right'] as const) {
    const tasks = [...LANES, ...LANES].map((lane) => ({ ...nextTask(), lane }))
    remember(name, await recordedEnqueue(recorder, name, skep.enqueueMany(queues[name], tasks)))
  }
}

function remember(name: QueueName, handles: readonly JobHandle<number>[] | null): void {
  for (const handle of handles ?? []) {
    recent.push({ id: handle.id, handle: name === 'kept' ? handle : null })
    if (recent.length > 200) recent.shift()
  }
}

/** What people do to jobs. */
async function command(): Promise<void> {
  const job = recent.length > 0 ? random.pick(recent) : null
  if (!job) return
  const what = random.next()
  if (what < 0.4) await skep.jobs.cancel(job.id)
  else if (what < 0.6) await retryDead()
  else if (what < 0.8) await skep.jobs.retry(job.id)
  else await skep.jobs.promote(job.id)
}

/** By id, so that it is known which jobs were meant even if nobody hears what became of it. */
async function retryDead(): Promise<void> {
  const { jobs } = await skep.jobs.list({ queue: queues.rough.name, state: 'dead', limit: 3 })
  if (jobs.length > 0) await skep.jobs.retry(jobs.map(({ id }) => id))
}

/** Waits for a result in the background, and writes what it was told. */
function awaitResult(): void {
  const job = recent.length > 0 ? random.pick(recent) : null
  if (!job?.handle || waits.size > 5) return
  const wait = job.handle.result({ timeout: '10s' }).then(
    (value) =>
      recorder.write({
        f: 'told',
        type: 'ok',
        event: 'result',
        id: job.id,
        token: null,
        value: `${value}`,
      }),
    onlySkep,
  )
  waits.add(wait)
  void wait.finally(() => waits.delete(wait))
}

/** The store may be away and jobs may fail: that is what this is about. Anything else is a bug. */
function onlySkep(error: unknown): void {
  if (!(error instanceof SkepError)) throw error
}

async function call(): Promise<void> {
  await rush
  while (!isStopping) {
    if (isFull || sent >= due()) {
      await sleep(5)
      continue
    }
    await enqueueSome()
    if (random.chance(0.02)) await command().catch(onlySkep)
    if (random.chance(0.02)) awaitResult()
  }
}

/** A backlog that grew while everybody was frozen would only measure how fast this machine is. */
const MOST_WAITING = 2_500

async function watchBacklog(): Promise<void> {
  while (!isStopping) {
    const counts = await skep.queues.list().catch(() => null)
    if (counts) isFull = counts.reduce((sum, { ready, delayed }) => sum + ready + delayed, 0) > MOST_WAITING
    await sleep(500)
  }
}

const rush = enqueueRush()
const telling = setInterval(() => tellParent({ sent }), 100)
void watchBacklog()
const callers = Array.from({ length: config.callers }, call)
onStop(async () => {
  isStopping = true
  await Promise.all(callers)
  clearInterval(telling)
  tellParent({ sent })
  await skep.close()
})
await skep.ready().catch(onlySkep)
await rush
tellParent({ ready: true })

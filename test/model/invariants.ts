import { isFinal, type Job } from '../../src/core/jobs/job.ts'
import { shapeFaults } from '../../src/testing/invariants.ts'
import { type Bounds, discards, type Truth, type World } from './world.ts'

/** What is wrong with a world as it is; null when nothing is. */
export function stateFault(bounds: Bounds, world: World): string | null {
  for (let number = 0; number < bounds.jobs; number++) {
    const job = world.store.jobs[number] ?? null
    const truth = world.truths[number] as Truth
    const fault = job ? jobFault(bounds, world, job, truth) : absenceFault(number, truth)
    if (fault !== null) return `job${number} ${fault}`
  }
  return holderFault(world)
}

/** What is wrong with going from one world to the next: what has ended stays so until it is retried. */
export function stepFault(before: World, after: World): string | null {
  for (const [number, was] of before.store.jobs.entries()) {
    const is = after.store.jobs[number] ?? null
    if (was === is) continue
    if (was === null) return `job${number} came back`
    const isRetried = is?.generation === was.generation + 1
    if (isFinal(was.state) && !isRetried) return `job${number} left ${was.state}`
    if (isRetried && !isFinal(was.state)) return `job${number} was retried while ${was.state}`
    if (is?.state === 'running' && was.state === 'running' && is.token !== was.token) {
      return `job${number} changed hands`
    }
  }
  return null
}

export function allEnded({ store }: World): boolean {
  return store.jobs.every((job) => job === null || isFinal(job.state))
}

function jobFault({ retries, rescues }: Bounds, world: World, job: Job, truth: Truth): string | null {
  const [shape] = shapeFaults(job, world.now)
  if (shape !== undefined) return `is out of shape: it ${shape}`
  for (const name of ['generation', 'starts', 'errors', 'lost', 'snoozes'] as const) {
    if (job[name] !== truth[name]) return `has ${name} ${job[name]} and should have ${truth[name]}`
  }
  if (job.errors > retries + 1 || job.lost > rescues + 1) return 'has failed too often'
  const isWaiting = job.state === 'ready' || job.state === 'delayed'
  if (isWaiting && truth.isCancelled) return 'waits although it was cancelled'
  if (job.state === 'running' && truth.isCancelled !== (job.cancelReason !== null)) return 'forgot its cancel'
  return null
}

function absenceFault(number: number, { ended }: Truth): string | null {
  const isDiscarded = discards(number) && ended?.ending === 'success' && !ended.isRescue
  return isDiscarded ? null : 'is lost'
}

/** Whoever is sure of a lease has it, and so nobody else can be sure of the same one. */
function holderFault({ now, workers, store }: World): string | null {
  for (const { name, runs } of workers) {
    for (const { job: number, token, sureUntil, ending } of runs) {
      if (ending !== null || sureUntil <= now) continue
      const job = store.jobs[number]
      if (job?.state !== 'running' || job.token !== token)
        return `${name} is sure of ${token} and has lost it`
    }
  }
  return null
}

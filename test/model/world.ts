/**
 * A small world around the real transitions: a few jobs, two workers, a network that delays, loses and doubles, and
 * time in ticks. `moves` lists everything that can happen next. Nothing is random: the search tries it all.
 */
import { type ClaimedJob, isFinal, type Job, type NewJob } from '../../src/core/jobs/job.ts'
import { claimedPart } from '../../src/core/jobs/transitions.ts'
import type { Outcome, Policy, Verdict } from '../../src/core/policies/policy.ts'
import type { Answer, Rules, Settling, Stored } from './store.ts'
import * as stores from './store.ts'

export interface Bounds {
  readonly jobs: number
  /** Leases that one worker believes to hold at a time. */
  readonly runs: number
  /** Settlements that are on their way at a time, and copies of one of them. */
  readonly messages: number
  readonly copies: number
  /** Retries of one finished job by an operator. */
  readonly retriesByHand: number
  /** Retries after errors, and after lost runs. */
  readonly retries: number
  readonly rescues: number
  /** Handbacks in mid-run cost a start each, so they need an end. */
  readonly starts: number
  readonly snoozes: number
}

export const TICK_MS = 1_000
/** Two ticks: between a new lease and one that is over there is one that is growing old. */
export const LEASE_MS = 2 * TICK_MS
export const BEGIN = 1_800_000_000_000
const KEEP_MS = 1_000_000_000

export type Ending = 'success' | 'error' | 'snooze' | 'unrun' | 'stopped' | 'cancel' | 'lost'

export interface World {
  readonly now: number
  readonly store: Stored
  readonly workers: readonly Worker[]
  readonly net: readonly Message[]
  readonly truths: readonly Truth[]
  /** How many tokens and worker names were made. */
  readonly made: number
}

export interface Worker {
  /** Another one after each crash. */
  readonly name: string
  readonly runs: readonly Run[]
  /** A claim whose answer was lost, and that will be sent again. */
  readonly open: { readonly job: number; readonly token: string } | null
}

/** A lease as its worker sees it. */
export interface Run {
  readonly token: string
  readonly job: number
  readonly claimed: ClaimedJob
  /** The worker may rely on its lease until then. */
  readonly sureUntil: number
  readonly knowsCancel: boolean
  /** How the handler ended; null while it runs. Its settlement stays unanswered until the run is gone. */
  readonly ending: Ending | null
  readonly verdict: Verdict | null
}

/** A settlement on its way to the store. */
export interface Message extends Settling {
  readonly ending: Ending
}

/** What must be true of a job by what happened to it, told without the functions under test. */
export interface Truth {
  readonly generation: number
  readonly starts: number
  readonly errors: number
  readonly lost: number
  readonly snoozes: number
  /** Somebody was told that it is, or will be, cancelled. */
  readonly isCancelled: boolean
  /** How its latest lease ended, while it has no other. */
  readonly ended: { readonly token: string; readonly isRescue: boolean; readonly ending: Ending } | null
}

export interface Move {
  readonly label: string
  readonly next: World
  /** What is wrong with it. */
  readonly fault: string | null
  /** It can be counted on when nothing is broken any more. */
  readonly isHealthy: boolean
}

/** Jobs with odd numbers are discarded when they succeed. */
export function discards(job: number): boolean {
  return job % 2 === 1
}

export function policyOf(job: number, { retries, rescues }: Bounds): Policy {
  const retry = { retries, backoff: { kind: 'fixed', ms: TICK_MS, jitter: 0 } } as const
  const ending = { end: 'bury', keepMs: KEEP_MS } as const
  return {
    onSuccess: discards(job) ? { end: 'discard' } : { end: 'archive', keepMs: KEEP_MS },
    onError: { ...retry, ending },
    onTimeout: { ...retry, ending },
    onLost: { retries: rescues, backoff: { kind: 'fixed', ms: 0, jitter: 0 }, ending },
    keepCancelledMs: KEEP_MS,
    timeoutMs: null,
  }
}

export function newJob(number: number): NewJob {
  return {
    id: `job${number}`,
    space: 'default',
    queue: 'model',
    payload: '{}',
    headers: null,
    priority: 0,
    delayMs: number === 0 ? TICK_MS : 0,
    runAt: null,
    unique: null,
    overrides: null,
    lane: null,
    strict: false,
    cost: 1,
    member: null,
  }
}

const NEW: Truth = {
  generation: 0,
  starts: 0,
  errors: 0,
  lost: 0,
  snoozes: 0,
  isCancelled: false,
  ended: null,
}

export function beginning(rules: Rules, { jobs }: Bounds): World {
  const numbers = Array.from({ length: jobs }, (_, number) => number)
  const empty: Stored = { jobs: numbers.map(() => null), discarded: numbers.map(() => null) }
  return {
    now: BEGIN,
    store: numbers.reduce(
      (store, number) => stores.insert(rules, store, number, newJob(number), BEGIN),
      empty,
    ),
    workers: [
      { name: 'w0', runs: [], open: null },
      { name: 'w1', runs: [], open: null },
    ],
    net: [],
    truths: numbers.map(() => NEW),
    made: 2,
  }
}

/** Everything that can happen next. */
export function* moves(rules: Rules, bounds: Bounds, world: World): Generator<Move> {
  yield { label: 'time passes', next: { ...world, now: world.now + TICK_MS }, fault: null, isHealthy: true }
  for (let job = 0; job < bounds.jobs; job++) {
    yield* commands(rules, bounds, world, job)
    yield* rescues(rules, bounds, world, job)
    for (let worker = 0; worker < world.workers.length; worker++) {
      yield* claims(rules, bounds, world, worker, job)
    }
  }
  for (let worker = 0; worker < world.workers.length; worker++) {
    const { runs, open } = world.workers[worker] as Worker
    for (const run of runs) yield* steps(rules, bounds, world, worker, run)
    if (open !== null) yield reclaim(rules, world, worker, open)
    if (runs.length > 0 || open !== null) yield crash(world, worker)
  }
  const seen = new Set<string>()
  for (const message of world.net) {
    const name = `${message.job} ${message.token} ${message.ending}`
    if (seen.has(name)) continue
    seen.add(name)
    yield* arrivals(rules, bounds, world, message)
  }
}

// ── what people do ───────────────────────────────────────────────────────────────────────────────

function* commands(rules: Rules, bounds: Bounds, world: World, job: number): Generator<Move> {
  const { store, now } = world
  const truth = world.truths[job] as Truth
  const cancelled = stores.change(rules, store, job, 'cancel', KEEP_MS, now)
  if (cancelled.status !== 'refused') {
    const next = withTruth({ ...world, store: cancelled.store }, job, { ...truth, isCancelled: true })
    yield { label: `job${job} is cancelled: ${cancelled.status}`, next, fault: null, isHealthy: false }
  }
  if (truth.generation < bounds.retriesByHand) {
    const retried = stores.change(rules, store, job, 'retry', KEEP_MS, now)
    const next = withTruth({ ...world, store: retried.store }, job, {
      ...NEW,
      generation: truth.generation + 1,
    })
    if (retried.status === 'ok') yield { label: `job${job} is retried`, next, fault: null, isHealthy: false }
  }
  // An enqueue whose answer was lost is sent again, however late.
  const again = stores.insert(rules, store, job, newJob(job), now)
  if (again !== store) {
    const next = { ...world, store: again }
    yield { label: `job${job} is inserted again`, next, fault: `job${job} came back`, isHealthy: false }
  }
}

// ── claims and leases ────────────────────────────────────────────────────────────────────────────

function* claims(rules: Rules, bounds: Bounds, world: World, worker: number, job: number): Generator<Move> {
  const { name, runs, open } = world.workers[worker] as Worker
  if (open !== null) return
  const token = `t${world.made}`
  const lease = { workerId: name, token, leaseMs: LEASE_MS }
  const store = stores.claim(rules, world.store, job, lease, world.now)
  if (store === world.store) return
  const before = world.store.jobs[job] as Job
  const after = store.jobs[job] as Job
  const truth = world.truths[job] as Truth
  const fault = claimFault(before, truth, world.now, job)
  const taken = withTruth({ ...world, store, made: world.made + 1 }, job, {
    ...truth,
    starts: truth.starts + 1,
    ended: null,
  })
  yield { label: `${name} claims job${job}, hears nothing`, next: taken, fault, isHealthy: false }
  if (runs.length >= bounds.runs) return
  const uncertain = withWorker(taken, worker, { name, runs, open: { job, token } })
  yield { label: `${name} claims job${job} and will ask again`, next: uncertain, fault, isHealthy: false }
  const next = withRuns(taken, worker, [...runs, runOf(job, after, world.now)])
  yield { label: `${name} claims job${job} as ${token}`, next, fault, isHealthy: true }
}

/** The claim is sent again. It takes nothing new, and the worker gets what the first one took, if it still holds. */
function reclaim(
  rules: Rules,
  world: World,
  worker: number,
  { job, token }: { job: number; token: string },
): Move {
  const { name, runs } = world.workers[worker] as Worker
  const lease = { workerId: name, token, leaseMs: LEASE_MS }
  const store = stores.claimAgain(rules, world.store, job, lease, world.now)
  const holds = store !== world.store
  const got = holds ? [...runs, runOf(job, store.jobs[job] as Job, world.now)] : runs
  const next = withWorker({ ...world, store }, worker, { name, runs: got, open: null })
  return { label: `${name} asks again for ${token}: ${holds}`, next, fault: null, isHealthy: true }
}

function runOf(job: number, leased: Job, now: number): Run {
  return {
    token: leased.token as string,
    job,
    claimed: claimedPart(leased),
    sureUntil: now + LEASE_MS,
    knowsCancel: false,
    ending: null,
    verdict: null,
  }
}

function claimFault(before: Job, truth: Truth, now: number, job: number): string | null {
  if (before.state === 'running') return `job${job} has a second lease`
  if (isFinal(before.state)) return `job${job} started after its end`
  if (truth.isCancelled) return `job${job} started after its cancel`
  return before.dueAt > now ? `job${job} started early` : null
}

function* steps(rules: Rules, bounds: Bounds, world: World, worker: number, run: Run): Generator<Move> {
  const { name } = world.workers[worker] as Worker
  const room = world.net.length < bounds.messages
  if (run.ending !== null) {
    const copies = world.net.filter(
      ({ token, job, rescue }) => token === run.token && job === run.job && !rescue,
    )
    if (room && copies.length < bounds.copies) {
      const next = send(world, messageOf(run))
      yield { label: `${name} settles ${run.token} again`, next, fault: null, isHealthy: true }
    }
    return
  }
  yield extension(rules, world, worker, run)
  if (!room) return
  for (const ending of endings(bounds, run)) {
    const over = { ...run, ending, verdict: verdictOf(rules, bounds, run.job, run.claimed, ending) }
    const next = send(withRun(world, worker, run, over), messageOf(over))
    const label = `${name} settles ${run.token}: ${ending}`
    yield { label, next, fault: null, isHealthy: ending === 'success' }
  }
}

function endings(bounds: Bounds, { claimed, knowsCancel }: Run): Ending[] {
  const possible: Ending[] = ['success', 'error', 'unrun']
  if (claimed.snoozes < bounds.snoozes) possible.push('snooze')
  if (claimed.starts < bounds.starts) possible.push('stopped')
  if (knowsCancel) possible.push('cancel')
  return possible
}

function extension(rules: Rules, world: World, worker: number, run: Run): Move {
  const { name } = world.workers[worker] as Worker
  const { store, holds, cancelReason } = stores.extend(
    rules,
    world.store,
    run.job,
    run.token,
    LEASE_MS,
    world.now,
  )
  const kept = { ...run, sureUntil: world.now + LEASE_MS, knowsCancel: cancelReason !== null }
  const next = withRun({ ...world, store }, worker, run, holds ? kept : null)
  return { label: `${name} extends ${run.token}: ${holds}`, next, fault: null, isHealthy: true }
}

function crash(world: World, worker: number): Move {
  const { name } = world.workers[worker] as Worker
  const workers = world.workers.with(worker, { name: `w${world.made}`, runs: [], open: null })
  const next = { ...world, workers, made: world.made + 1 }
  return { label: `${name} dies and starts again`, next, fault: null, isHealthy: false }
}

// ── settlements ──────────────────────────────────────────────────────────────────────────────────

/** Somebody sees that a lease is over, or that its process is gone, and sends a rescue. */
function* rescues(rules: Rules, bounds: Bounds, world: World, number: number): Generator<Move> {
  const job = world.store.jobs[number]
  if (job?.state !== 'running' || world.net.length >= bounds.messages) return
  const isOver = (job.leaseUntil as number) <= world.now
  if (!isOver && !isGone(world, job)) return
  const token = job.token as string
  const others = world.net.filter((message) => message.rescue && message.token === token)
  if (others.length >= bounds.copies) return
  const next = send(world, {
    job: number,
    token,
    ending: 'lost',
    verdict: verdictOf(rules, bounds, number, claimedPart(job), 'lost'),
    onlyIfExpired: isOver,
    rescue: true,
  })
  yield { label: `somebody rescues ${token}`, next, fault: null, isHealthy: true }
}

function* arrivals(rules: Rules, bounds: Bounds, world: World, message: Message): Generator<Move> {
  const { job: number, token, ending, rescue } = message
  const what = `${rescue ? 'the rescue' : 'the settlement'} of ${token} (${ending})`
  const net = world.net.toSpliced(world.net.indexOf(message), 1)
  yield { label: `${what} is lost`, next: { ...world, net }, fault: null, isHealthy: false }

  const { store, answer } = stores.settle(rules, world.store, message, world.now)
  const fault = settleFault(bounds, world, store, message, answer)
  const isAccepted = store !== world.store
  const settled = { ...world, net, store }
  const next = isAccepted ? withTruth(settled, number, truthAfter(world, message)) : settled
  const label = `${what} arrives: ${answer.status === 'ok' ? answer.state : answer.reason}`

  const worker = rescue ? -1 : world.workers.findIndex(({ runs }) => runs.some((run) => isOf(run, message)))
  if (worker < 0) {
    yield { label, next, fault, isHealthy: true }
    return
  }
  const run = (world.workers[worker] as Worker).runs.find((each) => isOf(each, message)) as Run
  yield { label, next: withRun(next, worker, run, null), fault, isHealthy: true }
  yield { label: `${label}, the answer is lost`, next, fault, isHealthy: false }
}

function settleFault(
  bounds: Bounds,
  world: World,
  store: Stored,
  message: Message,
  answer: Answer,
): string | null {
  const { job: number, token, rescue } = message
  const before = world.store.jobs[number] ?? null
  const truth = world.truths[number] as Truth
  if (store === world.store) {
    const { ended } = truth
    const isRepeat = !rescue && ended?.token === token && !ended.isRescue && ended.ending === message.ending
    return answer.status === 'ok' && !isRepeat ? `${token} heard ok for what it did not do` : null
  }
  if (answer.status !== 'ok') return `${token} was refused, and job${number} changed`
  if (before?.state !== 'running' || before.token !== token) return `${token} ended what it does not hold`
  if (rescue && (before.leaseUntil as number) > world.now && !isGone(world, before)) {
    return `${token} was rescued before its end`
  }
  const should = stateAfter(bounds, number, truth, message.ending)
  const state = store.jobs[number]?.state ?? 'removed'
  return state === should ? null : `job${number} is ${state} after ${message.ending} and should be ${should}`
}

/** Where an ending leads, said once more and without the functions under test. */
function stateAfter({ retries, rescues }: Bounds, job: number, truth: Truth, ending: Ending): string {
  switch (ending) {
    case 'success':
      return discards(job) ? 'removed' : 'done'
    case 'cancel':
      return 'cancelled'
    case 'error':
      if (truth.errors + 1 > retries) return 'dead'
      return truth.isCancelled ? 'cancelled' : 'delayed'
    case 'lost':
      if (truth.lost + 1 > rescues) return 'dead'
      return truth.isCancelled ? 'cancelled' : 'ready'
    case 'snooze':
      return truth.isCancelled ? 'cancelled' : 'delayed'
    case 'unrun':
    case 'stopped':
      return truth.isCancelled ? 'cancelled' : 'ready'
  }
}

function truthAfter(world: World, { job, token, ending, rescue }: Message): Truth {
  const truth = world.truths[job] as Truth
  return {
    ...truth,
    starts: truth.starts - (ending === 'unrun' ? 1 : 0),
    errors: truth.errors + (ending === 'error' ? 1 : 0),
    lost: truth.lost + (ending === 'lost' ? 1 : 0),
    snoozes: truth.snoozes + (ending === 'snooze' ? 1 : 0),
    ended: { token, isRescue: rescue, ending },
  }
}

function verdictOf(rules: Rules, bounds: Bounds, job: number, claimed: ClaimedJob, ending: Ending): Verdict {
  return rules.judge(policyOf(job, bounds), claimed, outcomeOf(ending), 0)
}

function outcomeOf(ending: Ending): Outcome {
  switch (ending) {
    case 'success':
      return { kind: 'success', result: '1' }
    case 'snooze':
      return { kind: 'snooze', delayMs: TICK_MS, failure: null }
    case 'unrun':
    case 'stopped':
      return { kind: 'handback', ran: ending === 'stopped' }
    default:
      return { kind: ending, failure: { kind: ending, message: '' } }
  }
}

function messageOf(run: Run): Message {
  return {
    job: run.job,
    token: run.token,
    ending: run.ending as Ending,
    verdict: run.verdict as Verdict,
    onlyIfExpired: false,
    rescue: false,
  }
}

function isOf(run: Run, { token, job }: Message): boolean {
  return run.token === token && run.job === job
}

export function isGone({ workers }: World, job: Job): boolean {
  return workers.every(({ name }) => name !== job.worker)
}

// ── a world with one thing changed ───────────────────────────────────────────────────────────────

function withTruth(world: World, job: number, truth: Truth): World {
  return { ...world, truths: world.truths.with(job, truth) }
}

function withWorker(world: World, worker: number, state: Worker): World {
  return { ...world, workers: world.workers.with(worker, state) }
}

function withRuns(world: World, worker: number, runs: readonly Run[]): World {
  const state = world.workers[worker] as Worker
  return { ...world, workers: world.workers.with(worker, { ...state, runs }) }
}

function withRun(world: World, worker: number, run: Run, replacement: Run | null): World {
  const { runs } = world.workers[worker] as Worker
  const rest = runs.filter((each) => each !== run)
  return withRuns(world, worker, replacement ? [...rest, replacement] : rest)
}

function send(world: World, message: Message): World {
  return { ...world, net: [...world.net, message] }
}

import type { StoreKind } from '../contest.ts'
import type { Result } from '../result.ts'
import { type Place, show } from './measure.ts'
import { runOf } from './merge.ts'
import { PLACES } from './programme.ts'
import { type Rank, standing } from './standing.ts'

/**
 * A bar that Skep has to reach on one store. The bound is compared with
 *   rival      Skep's value divided by that of the best rival on the same store, or of the named one
 *   raw        Skep's value divided by that of the raw database
 *   value      Skep's value itself
 *   itself     Skep's value divided by Skep's value in another place
 *   settings   the value of Skep with these settings divided by Skep's value
 */
export interface Target {
  readonly title: string
  readonly store: StoreKind
  readonly place: Place
  readonly against:
    | 'rival'
    | 'raw'
    | 'value'
    | { readonly rival: string }
    | { readonly settings: string }
    | { readonly itself: Place }
  readonly atLeast?: number
  readonly atMost?: number
  /** `atMost` itself is already too much. */
  readonly strictly?: true
}

export interface Verdict {
  readonly target: Target
  /** Null: not measured, or nobody to compare with. Then the target is not met either. */
  readonly reached: number | null
  readonly met: boolean
  /** As in `17 ×`, `52 %`, `3.1 ms`. */
  readonly asked: string
  readonly shown: string
  /** Whom Skep was compared with, or why there is nothing to compare. */
  readonly note: string
}

type Bar = Omit<Target, 'store'>

/** Made from what both stores have to reach. */
function bars(store: StoreKind, list: readonly Bar[]): Target[] {
  const both: readonly Bar[] = [
    { title: '10,000/s steady, p99 ms', place: PLACES.steadyP99, against: 'value', atMost: 10 },
    // A p99 over the jobs that were done says nothing of a rate that was not held.
    { title: '10,000/s steady, held', place: PLACES.steadyDone, against: 'value', atLeast: 9_900 },
    { title: '1M against 10k backlog', place: PLACES.backlogRatio, against: 'value', atLeast: 0.9 },
    { title: 'kill -9 to all running again, s', place: PLACES.killed, against: 'value', atMost: 10 },
    { title: 'worker CPU, µs per job', place: PLACES.workerCpu, against: 'value', atMost: 12 },
    { title: 'worker RSS, MB', place: PLACES.workerMemory, against: 'value', atMost: 120, strictly: true },
    { title: 'delayed by 200 ms, p99 late, ms', place: PLACES.latenessP99, against: 'value', atMost: 20 },
    { title: 'rate, of the limit', place: PLACES.rateRatio, against: 'value', atLeast: 0.98 },
    // The limit and a burst of a tenth of it.
    { title: 'rate, fullest second', place: PLACES.rateFullest, against: 'value', atMost: 1.1 },
    { title: 'beside 50,000 lanes that wait', place: PLACES.throttledRatio, against: 'value', atLeast: 0.9 },
  ]
  return [...list, ...both].map((bar) => ({ ...bar, store }))
}

/** What was asked of lanes, with a number for Postgres alone. */
function laneBars(): Target[] {
  const { lanes10, lanes1k, lanes10k, lanes100k, lanesLimited, strict } = PLACES
  const bars: readonly Bar[] = [
    { title: 'drain, 10 lanes', place: lanes10, against: 'value', atLeast: 50_000 },
    { title: 'drain, 1,000 lanes', place: lanes1k, against: 'value', atLeast: 20_000 },
    { title: 'drain, 100,000 lanes', place: lanes100k, against: 'value', atLeast: 20_000 },
    { title: 'drain, 10 lanes', place: lanes10, against: 'rival', atLeast: 1 },
    { title: 'drain, 1,000 lanes', place: lanes1k, against: 'rival', atLeast: 1 },
    { title: 'drain, 10,000 lanes', place: lanes10k, against: 'rival', atLeast: 1 },
    { title: 'drain, two at once of a lane', place: lanesLimited, against: 'rival', atLeast: 1 },
    { title: 'drain, strict lanes', place: strict, against: 'rival', atLeast: 1 },
    { title: 'beside a lane of 500k, p99 ms', place: PLACES.whaleP99, against: 'value', atMost: 15 },
    { title: 'the same, no-op handlers', place: PLACES.whaleNoopP99, against: 'value', atMost: 15 },
    {
      title: 'pinned horizon, lanes, done/s',
      place: PLACES.pinnedLanesRatio,
      against: 'value',
      atLeast: 0.8,
    },
    {
      title: 'pinned horizon, lanes, claim time',
      place: PLACES.pinnedLanesClaim,
      against: { itself: PLACES.pinnedLanesFreeClaim },
      atMost: 1.2,
    },
  ]
  return bars.map((bar) => ({ ...bar, store: 'postgres' }))
}

function redisBars(list: readonly Bar[]): Target[] {
  return list.map((bar) => ({ ...bar, store: 'redis' }))
}

export const TARGETS: readonly Target[] = [
  ...bars('postgres', [
    { title: 'enqueue, 100 callers', place: PLACES.enqueueCallers, against: 'rival', atLeast: 15 },
    { title: 'enqueue, 100 callers', place: PLACES.enqueueCallers, against: 'raw', atLeast: 0.5 },
    { title: 'enqueue, one awaited', place: PLACES.enqueueOne, against: 'rival', atLeast: 1.5 },
    { title: 'enqueue, one awaited', place: PLACES.enqueueOne, against: 'raw', atLeast: 0.8 },
    { title: 'enqueue, bulk', place: PLACES.enqueueBulk, against: 'rival', atLeast: 2.5 },
    { title: 'drain, 1 process', place: PLACES.drain, against: 'rival', atLeast: 3 },
    { title: 'drain, 1 process', place: PLACES.drain, against: 'raw', atLeast: 0.6 },
    { title: 'drain, 2 processes', place: PLACES.drainTwo, against: 'rival', atLeast: 2 },
    // Only rivals that keep history have a figure in this scenario.
    { title: 'drain, jobs kept', place: PLACES.drainKept, against: 'rival', atLeast: 2 },
    { title: 'idle latency p50', place: PLACES.idleP50, against: 'rival', atMost: 1 },
    { title: 'idle latency p99', place: PLACES.idleP99, against: 'rival', atMost: 1 },
    { title: 'pinned horizon, done/s', place: PLACES.pinnedRatio, against: 'value', atLeast: 0.8 },
    // "Flat" is read like "within 20 %" in the same line.
    {
      title: 'pinned horizon, claim time',
      place: PLACES.pinnedClaim,
      against: { itself: PLACES.pinnedFreeClaim },
      atMost: 1.2,
    },
  ]),
  ...laneBars(),
  {
    title: 'flows of 100 children',
    store: 'postgres',
    place: PLACES.flowChildren,
    against: 'rival',
    atLeast: 3,
  },
  { title: 'chains of 5', store: 'postgres', place: PLACES.flowChain, against: 'rival', atLeast: 3 },
  ...bars('sqlite', [
    { title: 'enqueue, 100 callers', place: PLACES.enqueueCallers, against: 'rival', atLeast: 4 },
    { title: 'enqueue, one awaited', place: PLACES.enqueueOne, against: 'raw', atLeast: 0.8 },
    { title: 'enqueue, bulk', place: PLACES.enqueueBulk, against: 'rival', atLeast: 1 },
    { title: 'drain, 1 process', place: PLACES.drain, against: 'rival', atLeast: 10 },
    { title: 'drain, 2 processes', place: PLACES.drainTwo, against: 'rival', atLeast: 8 },
    { title: 'drain, jobs kept', place: PLACES.drainKept, against: 'rival', atLeast: 5 },
    { title: 'idle latency p99, ms', place: PLACES.idleP99, against: 'value', atMost: 5 },
  ]),
  ...redisBars([
    { title: 'enqueue, 100 callers', place: PLACES.enqueueCallers, against: { rival: 'bullmq' }, atLeast: 3 },
    {
      title: 'enqueue, 100 callers',
      place: PLACES.enqueueCallers,
      against: { rival: 'bee-queue' },
      atLeast: 1,
    },
    { title: 'enqueue, bulk', place: PLACES.enqueueBulk, against: { rival: 'bullmq' }, atLeast: 8 },
    { title: 'drain, 1 process', place: PLACES.drain, against: { rival: 'bullmq' }, atLeast: 8 },
    { title: 'drain, 1 process', place: PLACES.drain, against: 'raw', atLeast: 0.4 },
    {
      title: 'drain, AOF always',
      place: PLACES.drain,
      against: { settings: 'Skep, Redis, always' },
      atLeast: 0.8,
    },
    { title: 'idle latency p50', place: PLACES.idleP50, against: { rival: 'bullmq' }, atMost: 1 },
    { title: 'idle latency p99', place: PLACES.idleP99, against: { rival: 'bullmq' }, atMost: 1 },
    { title: '10,000/s steady, p99 ms', place: PLACES.steadyP99, against: 'value', atMost: 5 },
    { title: '10,000/s steady, held', place: PLACES.steadyDone, against: 'value', atLeast: 9_900 },
    { title: 'memory of a waiting job', place: PLACES.memory, against: { rival: 'bullmq' }, atMost: 0.5 },
    { title: 'kill -9 to all running again, s', place: PLACES.killed, against: 'value', atMost: 10 },
    { title: '1M against 10k backlog', place: PLACES.backlogRatio, against: 'value', atLeast: 0.9 },
  ]),
]

export function checkTargets(result: Result, targets: readonly Target[] = TARGETS): Verdict[] {
  return targets.map((target) => judge(result, target))
}

function judge(result: Result, target: Target): Verdict {
  const asked = `${target.atLeast !== undefined ? '≥' : target.strictly ? '<' : '≤'} ${unit(target, target.atLeast ?? target.atMost ?? Number.NaN)}`
  const open = (note: string): Verdict => ({ target, reached: null, met: false, asked, shown: '–', note })

  const { skep } = standing(result, target.store, target.place)
  if (skep === null) return open('not measured')
  const other = opponent(result, target)
  if (other === null) return open('nobody to compare with')

  const ratio = skep.summary.median / (other === 'nobody' ? 1 : other.summary.median)
  const reached = typeof target.against === 'object' && 'settings' in target.against ? 1 / ratio : ratio
  return {
    target,
    reached,
    met: isMet(target, reached),
    asked,
    shown: unit(target, reached),
    note:
      other === 'nobody' || (typeof target.against === 'object' && 'itself' in target.against)
        ? ''
        : noteOn(result, target, skep, other),
  }
}

/** Null if the target asks for one that has no figure. */
function opponent(result: Result, { store, place, against }: Target): Rank | 'nobody' | null {
  if (against === 'value') return 'nobody'
  if (against === 'raw') return standing(result, store, place).raw
  if (against === 'rival') return standing(result, store, place).rivals[0] ?? null
  if ('itself' in against) return standing(result, store, against.itself).skep
  const name = 'rival' in against ? against.rival : against.settings
  return standing(result, store, place).ranks.find(({ entrant }) => entrant.name === name) ?? null
}

function isMet({ atLeast, atMost, strictly }: Target, reached: number): boolean {
  if (atLeast !== undefined) return reached >= atLeast
  if (atMost === undefined) return false
  return strictly ? reached < atMost : reached <= atMost
}

function noteOn(result: Result, { place }: Target, skep: Rank, other: Rank): string {
  const name = `${other.entrant.name}: ${show(other.summary.median)}`
  const runs = [skep, other].map(({ entrant }) => runOf(result, place.scenario, entrant.name))
  return runs[0] === runs[1] ? name : `${name}, in another run`
}

function unit({ place, against }: Target, value: number): string {
  // Four digits, where the tables have three: a value just below its bar must not look like the bar.
  const digits = (number: number): string => Number(number.toPrecision(4)).toLocaleString('en-US')
  if (against === 'raw' || /\bratio$/.test(place.measure)) return `${digits(value * 100)} %`
  return against === 'value' ? digits(value) : `${digits(value)} ×`
}

/** One line for a terminal: `23 of 31 targets met, 4 not measured`. */
export function countTargets(verdicts: readonly Verdict[]): string {
  const met = verdicts.filter((verdict) => verdict.met).length
  const open = verdicts.filter(({ reached }) => reached === null).length
  return `${met} of ${verdicts.length} targets met${open > 0 ? `, ${open} not measured` : ''}`
}

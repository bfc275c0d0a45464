import type { RecordStore, StoredRecord } from '../store/records.ts'
import { Tally, unpackTally } from './counters.ts'
import { countOf } from './histogram.ts'
import {
  HOUR_MS,
  HOUR_SLOT_MS,
  METRIC_KIND,
  MINUTE_MS,
  MINUTE_SLOT_MS,
  type PageBody,
  type SlotsBody,
  shardOf,
  stamp,
} from './minute-records.ts'

export const RANGES = ['15m', '1h', '6h', '24h', '7d'] as const
export type Range = (typeof RANGES)[number]

interface Plan {
  readonly stepMs: number
  readonly steps: number
  readonly level: 'minute' | 'hour'
}

const PLANS: Readonly<Record<Range, Plan>> = {
  '15m': { stepMs: 30_000, steps: 30, level: 'minute' },
  '1h': { stepMs: 60_000, steps: 60, level: 'minute' },
  '6h': { stepMs: 300_000, steps: 72, level: 'hour' },
  '24h': { stepMs: 900_000, steps: 96, level: 'hour' },
  '7d': { stepMs: 7_200_000, steps: 84, level: 'hour' },
}

/**
 * The maximum loaded by one read, newest first. With too many processes the series begins later than
 * requested and reports it. A thousand processes fill five minutes of it; ten fill eight hours of minutes, or
 * three weeks of hours.
 */
export const RECORDS_READ = 5_000
export const BYTES_READ = 33_554_432
const PAGE = 250

export interface TallySeries {
  /** The start of the first bucket, and the length of each. */
  readonly from: number
  readonly stepMs: number
  /** Null if nothing happened. */
  readonly buckets: readonly (Tally | null)[]
  /** False: the limits were reached, and the oldest data is missing. */
  readonly isWhole: boolean
}

type Records = Pick<RecordStore, 'listRecords'>

/** The metrics of a queue, or of a whole space, of all processes, by bucket. */
export async function readSeries(
  store: Records,
  space: string,
  options: { readonly queue?: string; readonly range: Range; readonly now: number },
): Promise<TallySeries> {
  const { queue, range, now } = options
  const { stepMs, steps, level } = PLANS[range]
  const from = Math.floor(now / stepMs) * stepMs - (steps - 1) * stepMs
  const buckets: (Tally | null)[] = Array.from({ length: steps }, () => null)
  const prefix = level === 'minute' ? 'm' : queue === undefined ? 'h' : `q/${shardOf(queue)}`
  const slotMs = level === 'minute' ? MINUTE_SLOT_MS : HOUR_SLOT_MS
  const isWhole = await eachPage(store, space, prefix, level, from, now, (at, text) => {
    const slots = readSlots(text, queue)
    eachSlot(slots, at, slotMs, (slotAt, packed) => {
      const index = Math.floor((slotAt - from) / stepMs)
      if (index < 0 || index >= steps) return
      const tally = buckets[index] ?? new Tally()
      buckets[index] = tally
      unpackTally(tally, packed)
    })
  })
  return { from, stepMs, buckets, isWhole }
}

export interface QueueRates {
  readonly queue: string
  /** Per second, in the last minute. */
  readonly enqueued: number
  readonly done: number
  readonly failed: number
  /** Attempts that ended, successfully or not, in each of the last 15 minutes. */
  readonly spark: readonly number[]
  /** The failed ones of these. */
  readonly failures: readonly number[]
}

const SPARK_MINUTES = 15

/** The rates of each queue over all processes. Queues without events for 15 minutes are omitted. */
export async function readRates(store: Records, space: string, now: number): Promise<readonly QueueRates[]> {
  // Whole slots, or the newest would seem slow.
  const until = Math.floor(now / MINUTE_SLOT_MS) * MINUTE_SLOT_MS
  const from = until - SPARK_MINUTES * MINUTE_MS
  const found = new Map<string, Mutable>()
  await eachPage(store, space, 'm', 'minute', from, now, (at, text) => {
    for (const [queue, slots] of Object.entries(readBody(text)?.queues ?? {})) {
      const known = found.get(queue) ?? emptyRates()
      found.set(queue, known)
      eachSlot(slots, at, MINUTE_SLOT_MS, (slotAt, packed) => {
        const index = Math.floor((slotAt - from) / MINUTE_MS)
        if (index < 0 || index >= SPARK_MINUTES) return
        // There are many slots and only these counts are needed, so no tally is created.
        const [enqueued, done, failed] = [countOf(packed[0]), countOf(packed[1]), countOf(packed[2])]
        known.spark[index] = (known.spark[index] as number) + done + failed
        known.failures[index] = (known.failures[index] as number) + failed
        if (index !== SPARK_MINUTES - 1) return
        known.enqueued += enqueued
        known.done += done
        known.failed += failed
      })
    }
  })
  return [...found]
    .map(([queue, { enqueued, done, failed, ...lines }]) => ({
      queue,
      enqueued: enqueued / 60,
      done: done / 60,
      failed: failed / 60,
      ...lines,
    }))
    .sort((a, b) => (a.queue < b.queue ? -1 : 1))
}

interface Mutable {
  enqueued: number
  done: number
  failed: number
  readonly spark: number[]
  readonly failures: number[]
}

function emptyRates(): Mutable {
  const none = (): number[] => Array<number>(SPARK_MINUTES).fill(0)
  return { enqueued: 0, done: 0, failed: 0, spark: none(), failures: none() }
}

/** Reads the pages of a time span, newest first, within the limits. Returns whether it read all of them. */
async function eachPage(
  store: Records,
  space: string,
  prefix: string,
  level: Plan['level'],
  from: number,
  now: number,
  take: (at: number, body: string) => void,
): Promise<boolean> {
  const lengthMs = level === 'minute' ? MINUTE_MS : HOUR_MS
  const first = `${prefix}/${stamp(Math.floor(from / lengthMs) * lengthMs)}`
  // Clocks differ: include what other processes call the next minute. It has no bucket of its own.
  let before = `${prefix}/${stamp(now + 2 * lengthMs)}`
  let [count, bytes] = [0, 0]
  for (;;) {
    const { records, more } = await store.listRecords({
      scope: space,
      kind: METRIC_KIND,
      from: first,
      before,
      backwards: true,
      limit: PAGE,
    })
    for (const record of records) {
      count += 1
      bytes += record.body.length
      const at = momentIn(record)
      if (at !== null) take(at, record.body)
    }
    const last = records.at(-1)
    if (!more || last === undefined) return true
    if (count >= RECORDS_READ || bytes >= BYTES_READ) return false
    before = last.id
  }
}

/** The timestamp precedes the last part of the id, which is the process. */
function momentIn({ id }: StoredRecord): number | null {
  const at = Number(id.split('/').at(-2))
  return Number.isSafeInteger(at) ? at : null
}

function readBody(text: string): PageBody | null {
  return read(text) as PageBody | null
}

/**
 * The slots of all queues together, or of one. Parsing the whole body would take most of the time for other
 * queues, so the wanted part is cut out. Slots are lists of numbers, so the first closing brace ends them.
 */
function readSlots(body: string, queue: string | undefined): SlotsBody | undefined {
  const queues = body.indexOf('"queues":{')
  const wanted = queue === undefined ? '"all":{' : `${JSON.stringify(queue)}:{`
  const from = body.indexOf(wanted, queue === undefined ? 0 : queues + '"queues":'.length)
  if (from < 0 || (queue === undefined ? queues >= 0 && from > queues : queues < 0)) return undefined
  const slots = body.slice(from + wanted.length - 1, body.indexOf('}', from) + 1)
  return (read(slots) as SlotsBody | null) ?? undefined
}

function read(text: string): object | null {
  try {
    const value = JSON.parse(text) as unknown
    return typeof value === 'object' ? value : null
  } catch {
    return null
  }
}

function eachSlot(
  slots: SlotsBody | undefined,
  at: number,
  slotMs: number,
  take: (slotAt: number, packed: readonly unknown[]) => void,
): void {
  for (const [slot, packed] of Object.entries(slots ?? {}))
    if (Array.isArray(packed)) take(at + Number(slot) * slotMs, packed)
}

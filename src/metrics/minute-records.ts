import { hashText } from '../core/jobs/fingerprint.ts'
import { type PackedTally, packTally, Tally } from './counters.ts'

/**
 * The metrics history is kept in records of this kind. Their ids make a time span one range:
 *
 *   m/<minute>/<process>         one minute in slots of 10 s, all queues and their sum
 *   h/<hour>/<process>           one hour in slots of 5 min, the sum alone
 *   q/<shard>/<hour>/<process>   the same for the queues of a shard: reading one queue loads few others
 */
export const METRIC_KIND = 'metric'

export const MINUTE_MS = 60_000
export const HOUR_MS = 3_600_000
export const MINUTE_SLOT_MS = 10_000
export const HOUR_SLOT_MS = 300_000

/** Minutes cover the last hour: older data is read from the hours, with slots of five minutes. */
const MINUTES_KEPT_MS = 2 * HOUR_MS
const HOURS_KEPT_MS = 8 * 24 * HOUR_MS

/**
 * The number of queues per page with slots and durations: the busiest. Of the others only the counts are
 * kept, as one sum at its beginning. So a page of a thousand queues has about 100 KiB, and not a megabyte.
 */
export const DETAILED_QUEUES = 100

const SHARDS = 32

/** A timestamp as a string that sorts chronologically. */
export function stamp(ms: number): string {
  return String(Math.max(0, ms)).padStart(14, '0')
}

export function shardOf(queue: string): string {
  const shard = Number.parseInt(hashText(queue).slice(0, 8), 16) % SHARDS
  return String(shard).padStart(2, '0')
}

/** The body of a record: by queue and slot. */
export interface PageBody {
  readonly all?: SlotsBody
  readonly queues?: Readonly<Record<string, SlotsBody>>
}

export type SlotsBody = Readonly<Record<string, PackedTally>>

interface Slots {
  readonly packed: Map<number, PackedTally>
  /** The current slot. Earlier ones are kept in their stored form, which takes a tenth of the memory. */
  slot: number
  readonly tally: Tally
  weight: number
}

/** One minute, or one hour, of one process. */
export class Page {
  readonly level: 'minute' | 'hour'
  readonly from: number
  readonly #all: Slots = emptySlots()
  readonly #queues = new Map<string, Slots>()
  /** Incremented by every change, so that a write can detect whether it wrote the latest. */
  changes = 0
  written = 0
  writtenAt = 0

  constructor(level: Page['level'], from: number) {
    this.level = level
    this.from = from
  }

  add(at: number, queue: string, recent: Tally): void {
    const slotMs = this.level === 'minute' ? MINUTE_SLOT_MS : HOUR_SLOT_MS
    const slot = Math.max(0, Math.floor((at - this.from) / slotMs))
    const known = this.#queues.get(queue) ?? emptySlots()
    this.#queues.set(queue, known)
    for (const slots of [this.#all, known]) addTo(slots, slot, recent)
    this.changes += 1
  }

  records(process: string): { readonly id: string; readonly body: string }[] {
    const queues = this.#queueBodies()
    const all = bodyOf(this.#all)
    if (this.level === 'minute') {
      const body: PageBody = { all, queues: Object.fromEntries(queues) }
      return [{ id: `m/${stamp(this.from)}/${process}`, body: JSON.stringify(body) }]
    }
    const shards = new Map<string, [string, SlotsBody][]>()
    for (const entry of queues) {
      const shard = shardOf(entry[0])
      const known = shards.get(shard)
      if (known === undefined) shards.set(shard, [entry])
      else known.push(entry)
    }
    return [
      { id: `h/${stamp(this.from)}/${process}`, body: JSON.stringify({ all }) },
      ...[...shards].map(([shard, entries]) => ({
        id: `q/${shard}/${stamp(this.from)}/${process}`,
        body: JSON.stringify({ queues: Object.fromEntries(entries) }),
      })),
    ]
  }

  get expiresAt(): number {
    return this.from + (this.level === 'minute' ? MINUTES_KEPT_MS : HOURS_KEPT_MS)
  }

  #queueBodies(): [string, SlotsBody][] {
    const heaviest = [...this.#queues].sort(([, a], [, b]) => b.weight - a.weight)
    return heaviest.map(([queue, slots], index) => [
      queue,
      index < DETAILED_QUEUES ? bodyOf(slots) : { 0: sumOf(slots) },
    ])
  }
}

function emptySlots(): Slots {
  return { packed: new Map(), slot: 0, tally: new Tally(), weight: 0 }
}

function addTo(slots: Slots, slot: number, recent: Tally): void {
  // Late data is added to the current slot: if the clock goes back, nothing is lost.
  if (slot > slots.slot) {
    if (!slots.tally.isEmpty) slots.packed.set(slots.slot, packTally(slots.tally, true))
    slots.tally.clear()
    slots.slot = slot
  }
  slots.tally.merge(recent)
  slots.weight += recent.weight
}

function bodyOf({ packed, slot, tally }: Slots): SlotsBody {
  const body: Record<string, PackedTally> = Object.fromEntries(packed)
  if (!tally.isEmpty) body[slot] = packTally(tally, true)
  return body
}

/** The counts of all slots, without durations. */
function sumOf({ packed, tally }: Slots): PackedTally {
  const sum = packTally(tally, false) as number[]
  for (const counts of packed.values())
    for (let i = 0; i < sum.length; i++) sum[i] = (sum[i] as number) + (counts[i] as number)
  return sum
}

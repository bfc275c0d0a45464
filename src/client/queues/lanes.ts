import { covers, type HoldKind } from '../../core/lanes/holds.ts'
import { LIMITS } from '../../core/limits.ts'
import { assertKey, assertName } from '../../core/names.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import type { Store } from '../../store/store.ts'
import { assertWhole } from '../../worker/options.ts'
import { type LaneCause, laneCausesOf, nameOf } from '../explain/queue.ts'
import { holdViews } from './holds.ts'

export interface LaneListOptions {
  /** 1 to 200. @default 50 */
  readonly limit?: number
  /** From the page before. */
  readonly cursor?: string
  /** Only those whose keys begin with it. However many lanes there are, it costs no more than a page of all. */
  readonly prefix?: string
}

const KEYS = optionKeys<LaneListOptions>('queues.lanes()', { limit: true, cursor: true, prefix: true })

export interface LanePage {
  /** Those that have work, by key. */
  readonly lanes: readonly LaneState[]
  /** For the next page; null when this was the last. */
  readonly cursor: string | null
}

/** A lane of a limited queue, as it stands. */
export interface LaneState {
  /** Its key; `''` is the lane of jobs without one. */
  readonly lane: string
  readonly running: number
  /** Jobs that are due and wait, counted up to {@link WAITING_CAP}. */
  readonly waiting: number
  /** False: there are more. */
  readonly waitingIsExact: boolean
  /** From when on its rate lets the next job start; null: now. */
  readonly startsAt: Date | null
  /** Of a strict lane: the job at its head. */
  readonly occupant: string | null
  /** Whether it is held, alone or with more. A block is shown before a pause. */
  readonly hold: HoldKind | null
  /** Whether its limits were changed at run time. */
  readonly changed: boolean
  /** What keeps its next job back, of what concerns this lane alone; null: nothing. */
  readonly waitsFor: LaneWait | null
}

export interface LaneWait {
  readonly cause: 'held' | 'lane-waits' | 'occupied' | 'lane-full'
  /** In one sentence. */
  readonly text: string
}

/** So many waiting jobs of a lane are counted. */
export const WAITING_CAP = 100

/** So many lanes are counted at the same time, so that a page of them does not take all connections. */
const AT_ONCE = 8

/** One page of the lanes of a queue that have work. A queue without limits has none. */
export async function listLanes(
  store: Store,
  space: string,
  queue: string,
  options: LaneListOptions,
): Promise<LanePage> {
  assertOptions(KEYS, options)
  const { limit = 50, cursor, prefix = '' } = options
  assertName('Queue', queue)
  assertWhole('limit', limit, 1, LIMITS.pageJobs)
  if (prefix !== '') assertKey('prefix', prefix)
  const after = cursor === undefined ? prefix : Buffer.from(cursor, 'base64url').toString()
  const [reply, first, { holds }, { limits }] = await Promise.all([
    store.lanes({ space, queue, limit: limit + 1, ...(after === '' ? {} : { after }) }),
    // Keys that begin alike follow each other, right behind the one that is no longer than that.
    prefix === '' || cursor !== undefined ? null : store.lanes({ space, queue, lanes: [prefix], limit: 1 }),
    store.holds({ space }),
    store.limits({ space, queue }),
  ])
  const changed = new Set(
    limits.flatMap(({ target, changed: by }) =>
      'queue' in target && target.lane !== undefined && by !== null ? [target.lane] : [],
    ),
  )
  const found = [...(first?.lanes ?? []), ...reply.lanes.filter(({ lane }) => lane.startsWith(prefix))]
  const some = found.slice(0, limit)
  const waits = laneCausesOf({ space, queue, holds, records: limits, meters: { ...reply, lanes: some } })
  const lanes: LaneState[] = []
  for (let from = 0; from < some.length; from += AT_ONCE) {
    const part = some.slice(from, from + AT_ONCE)
    const counted = await Promise.all(part.map(({ lane }) => waitingIn(store, { space, queue, lane })))
    for (const [index, { lane, running, startsAt, occupant }] of part.entries()) {
      const waiting = counted[index] as number
      // One that was asked for by its whole key is told of although it has no work.
      if (lane === prefix && prefix !== '' && running === 0 && waiting === 0 && occupant === null) continue
      const standing = holdViews(holds.filter((one) => covers(one, { space, queue, lane })))
      lanes.push({
        lane,
        running,
        waiting: Math.min(waiting, WAITING_CAP),
        waitingIsExact: waiting <= WAITING_CAP,
        startsAt: startsAt > reply.now ? new Date(startsAt) : null,
        occupant,
        hold: standing[0]?.kind ?? null,
        changed: changed.has(lane),
        waitsFor: waitOf(waits.find((one) => one.lane === lane)),
      })
    }
  }
  const last = some.at(-1)
  const isMore = found.length > limit && last !== undefined
  return { lanes, cursor: isMore ? Buffer.from(last.lane).toString('base64url') : null }
}

function waitOf(cause: LaneCause | undefined): LaneWait | null {
  if (cause === undefined) return null
  // The list has the name of the lane in a column of its own.
  const text = cause.why.slice(nameOf(cause.lane).length + 1).replace(/^is /, '')
  return { cause: cause.cause, text: text.charAt(0).toUpperCase() + text.slice(1) }
}

async function waitingIn(
  store: Store,
  { space, queue, lane }: { readonly space: string; readonly queue: string; readonly lane: string },
): Promise<number> {
  const limit = WAITING_CAP + 1
  const { jobs } = await store.list({ space, queue, state: 'ready', where: { lane }, limit, cursor: null })
  return jobs.length
}

import type { StoreKind } from '../contest.ts'
import type { Result } from '../result.ts'
import { plainTable } from './markdown.ts'
import { advantage, higherIsBetter, type Place, percent, show, times } from './measure.ts'
import { PLACES } from './programme.ts'
import { STORE_NAMES, standing, storesOf } from './standing.ts'

/** The measures of the summary, in the order of its rows. */
const ROWS: readonly (readonly [string, Place])[] = [
  ['Enqueue, one awaited, jobs/s', PLACES.enqueueOne],
  ['Enqueue, 100 callers, jobs/s', PLACES.enqueueCallers],
  ['Enqueue, bulk of 100k, jobs/s', PLACES.enqueueBulk],
  ['Drain, 1 process, jobs/s', PLACES.drain],
  ['Drain, 2 processes, jobs/s', PLACES.drainTwo],
  ['Drain, finished jobs kept, jobs/s', PLACES.drainKept],
  ['Idle latency, p50 ms', PLACES.idleP50],
  ['Idle latency, p99 ms', PLACES.idleP99],
  ['10,000 jobs/s steady, p99 ms', PLACES.steadyP99],
  ['Drain of 1,000 lanes, jobs/s', PLACES.lanes1k],
  ['Two at once per lane, jobs/s', PLACES.lanesLimited],
  ['Strict lanes, jobs/s', PLACES.strict],
  ['Flows of 100 children, flows/s', PLACES.flowChildren],
  ['Chains of 5, flows/s', PLACES.flowChain],
  ['Memory of a waiting job, bytes', PLACES.memory],
  ['`kill -9` to all running again, s', PLACES.killed],
]

/** One table per store: Skep, the best rival in each measure, and the raw database. */
export function summaryPart(result: Result): string {
  return storesOf(result)
    .map((store) => `**${STORE_NAMES[store]}**\n\n${storeTable(result, store)}`)
    .join('\n\n')
}

/** The rows of the summary in which a rival is ahead, one line per store. */
export function behindPart(result: Result): string {
  return storesOf(result)
    .map((store) => {
      const behind = rowsOf(result, store)
        .filter(({ ahead }) => ahead !== null && ahead < 1)
        .map(({ title, rival, ahead }) => `${withoutUnit(title)} (${rival}, ${times(1 / (ahead as number))})`)
      return `- **${STORE_NAMES[store]}:** ${behind.join('; ') || 'none of the measures above'}.`
    })
    .join('\n')
}

function storeTable(result: Result, store: StoreKind): string {
  const rows = rowsOf(result, store).map(({ title, skep, rival, value, ahead, share }) => [
    title,
    skep,
    rival === null ? '–' : `${rival}: ${value}`,
    ahead === null ? '–' : times(ahead),
    share ?? '–',
  ])
  return plainTable(['', 'Skep', 'Best rival', 'Skep ahead by', 'Of the raw database'], rows)
}

interface Row {
  readonly title: string
  readonly skep: string
  readonly rival: string | null
  readonly value: string
  /** Below 1, the rival is ahead. Null without a rival. */
  readonly ahead: number | null
  readonly share: string | null
}

function rowsOf(result: Result, store: StoreKind): Row[] {
  return ROWS.flatMap(([title, place]) => {
    const {
      skep,
      rivals: [best],
      raw,
    } = standing(result, store, place)
    if (skep === null) return []
    const own = skep.summary.median
    return {
      title,
      skep: show(own),
      rival: best?.entrant.name ?? null,
      value: best ? show(best.summary.median) : '–',
      ahead: best ? advantage(place, own, best.summary.median) : null,
      share: raw && higherIsBetter(place) ? percent(own / raw.summary.median) : null,
    }
  })
}

const withoutUnit = (title: string): string => title.replace(/, (?:jobs\/s|flows\/s|bytes|s|ms)$| ms$/, '')

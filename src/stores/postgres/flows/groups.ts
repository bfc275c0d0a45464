import type { NewJob } from '../../../core/jobs/job.ts'
import { keptToken } from '../../../core/jobs/transitions.ts'
import type { Settlement } from '../../../store/store.ts'
import { COUNTER_CODES, STATE_CODES } from '../jobs/job-row.ts'

/** Settlements that differ in nothing but the job, its delay, its result and its failure. */
export interface Group {
  readonly token: string
  /** The rest of what they share, as SQL reads it. */
  readonly text: string
  /** Why the lanes of the jobs are paused; null when they are not. */
  readonly pause: string | null
}

export interface Grouped {
  /** The index of each settlement, ordered by round and group: its place here is its *position*. */
  readonly order: readonly number[]
  readonly groups: readonly Group[]
  /** The round of each position. */
  readonly roundOf: readonly number[]
  /** The positions of each round. */
  readonly rounds: readonly (readonly number[])[]
}

/**
 * Sorts settlements into groups, each of which is one statement. They must end as if done one after the other, so
 * whatever could see the one before it begins a new round: a job that is settled or enqueued again, and everything
 * after a settlement that enqueues jobs which could meet those that follow (by a unique key, or by id).
 */
export function groupSettlements(settlements: readonly Settlement[]): Grouped {
  const ids = new Set<string>()
  for (const { id } of settlements) ids.add(id)
  const meets = ids.size < settlements.length || mayMeet(settlements, ids)
  const rounds: Map<string, number[]>[] = []
  let groups = new Map<string, number[]>()
  let latest: { readonly like: Settlement; readonly members: number[] } | undefined
  let seen = new Set<string>()
  let enqueued = new Set<string>()
  const nextRound = (): void => {
    if (groups.size > 0) rounds.push(groups)
    groups = new Map()
    latest = undefined
    seen = new Set()
    enqueued = new Set()
  }

  for (let index = 0; index < settlements.length; index++) {
    const settlement = settlements[index] as Settlement
    const fresh = meets ? freshIn(settlement) : NONE
    if (meets) {
      if (seen.has(settlement.id) || fresh.some((job) => enqueued.has(job.id))) nextRound()
      seen.add(settlement.id)
      for (const job of fresh) enqueued.add(job.id)
    }
    // Most of them are like the one before.
    if (latest && isLike(latest.like, settlement)) latest.members.push(index)
    else {
      const key = keyOf(settlement)
      const members = groups.get(key) ?? []
      groups.set(key, members)
      members.push(index)
      latest = { like: settlement, members }
    }
    if (meets && fresh.some((job) => job.unique !== null || ids.has(job.id))) nextRound()
  }
  nextRound()

  const order: number[] = []
  const roundOf: number[] = []
  const lines: Group[] = []
  const positions: number[][] = rounds.map(() => [])
  rounds.forEach((round, number) => {
    for (const members of round.values()) {
      lines.push(groupOf(settlements[members[0] as number] as Settlement, members.length, number))
      for (const index of members) {
        positions[number]?.push(order.length)
        order.push(index)
        roundOf.push(number)
      }
    }
  })
  return { order, groups: lines, roundOf, rounds: positions }
}

const NONE: readonly NewJob[] = []

function freshIn({ enqueue = NONE, move }: Settlement): readonly NewJob[] {
  return move ? [...enqueue, ...move.jobs] : enqueue
}

/** Whether a job that they enqueue can meet one of them, or another such job. Nearly always none can. */
function mayMeet(settlements: readonly Settlement[], ids: ReadonlySet<string>): boolean {
  const enqueued = new Set<string>()
  for (const settlement of settlements) {
    if (!settlement.enqueue && !settlement.move) continue
    for (const { id, unique } of freshIn(settlement)) {
      if (unique !== null || ids.has(id) || enqueued.has(id)) return true
      enqueued.add(id)
    }
  }
  return false
}

function isLike(a: Settlement, b: Settlement): boolean {
  const one = a.verdict
  const other = b.verdict
  return (
    a.token === b.token &&
    a.space === b.space &&
    (a.onlyIfExpired ?? false) === (b.onlyIfExpired ?? false) &&
    keptIn(a) === keptIn(b) &&
    (a.noted ?? false) === (b.noted ?? false) &&
    (a.handsOn ?? false) === (b.handsOn ?? false) &&
    (one === other ||
      (one.to === other.to &&
        one.keepMs === other.keepMs &&
        one.count === other.count &&
        one.refund === other.refund &&
        one.keepPlace === other.keepPlace &&
        one.keepCancelledMs === other.keepCancelledMs &&
        one.lane === other.lane))
  )
}

/** The token that the ended jobs keep, as `settle_and_claim` reads it. */
function keptIn(settlement: Settlement): string {
  return settlement.rescue ? (keptToken(settlement) ?? '') : '='
}

function keyOf(settlement: Settlement): string {
  const { space, token, verdict, onlyIfExpired = false } = settlement
  const { noted = false, handsOn = false } = settlement
  const { to, keepMs, count, refund, keepPlace, keepCancelledMs } = verdict
  const lane = verdict.lane ? JSON.stringify(verdict.lane) : ''
  return `${to} ${keepMs} ${count} ${refund} ${keepPlace} ${keepCancelledMs} ${onlyIfExpired} ${keptIn(settlement)} ${noted} ${handsOn} ${token} ${space} ${lane}`
}

function groupOf(settlement: Settlement, size: number, round: number): Group {
  const { space, token, verdict, onlyIfExpired = false } = settlement
  const { noted = false, handsOn = false } = settlement
  const { to, keepMs, count, refund, keepPlace, keepCancelledMs, lane } = verdict
  const counter = count === null ? 0 : COUNTER_CODES[count]
  // In the order in which `settle_and_claim` reads them; nothing stands for null.
  const fields = [
    size,
    STATE_CODES[to],
    keepMs ?? '',
    counter,
    Number(refund),
    Number(keepPlace),
    keepCancelledMs,
    Number(onlyIfExpired),
    round,
    keptIn(settlement),
    Number(noted),
    lane && 'waitMs' in lane ? lane.waitMs : '',
    Number(handsOn),
    // Names have no comma.
    space,
  ]
  return { token, text: fields.join(','), pause: lane && 'pause' in lane ? lane.pause : null }
}

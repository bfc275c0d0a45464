import { type Hold, type HoldTarget, holdKey, latestEnd, stands } from '../../../core/lanes/holds.ts'
import type { HoldCall, ReleaseCall } from '../../../store/holds.ts'
import type { Turn } from '../connection/write-batch.ts'
import { HOLD_COLUMNS, holdOf } from './rules.ts'

/** Puts holds. */
export function hold(turn: Turn, call: HoldCall, now: number): { readonly holds: readonly Hold[] } {
  return { holds: call.holds.map((one) => holdOne(turn, one, now)) }
}

export function holdOne(turn: Turn, one: HoldCall['holds'][number], now: number): Hold {
  const { kind, space, queue, lane, reason, by, forMs } = one
  const key = holdKey(one)
  const known = find(turn, key)
  const since = known && stands(known, now) ? known.since : now
  const until = forMs === null ? null : now + forMs
  turn.db.run(
    `insert or replace into skep_holds (key, ${HOLD_COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    key,
    kind,
    space,
    queue,
    lane,
    reason,
    by,
    since,
    until,
  )
  show(turn, one, now)
  return { kind, space, queue, lane, reason, by, since, until }
}

/** Takes holds away. */
export function release(
  turn: Turn,
  call: ReleaseCall,
  now: number,
): { readonly released: readonly boolean[] } {
  return {
    released: call.holds.map((one) => {
      const key = holdKey(one)
      const known = find(turn, key)
      if (!known) return false
      turn.db.run('delete from skep_holds where key = ?', key)
      const stood = stands(known, now)
      if (stood) show(turn, one, now)
      return stood
    }),
  }
}

/** The holds that stand and concern a space, or all. */
export function holds(
  turn: Pick<Turn, 'db'>,
  space: string | undefined,
  now: number,
): { readonly holds: readonly Hold[] } {
  const rows = turn.db.all(
    `select ${HOLD_COLUMNS} from skep_holds where (until is null or until > ?) and (? or space is null or space = ?)
     order by since, key`,
    now,
    space === undefined ? 1 : 0,
    space ?? null,
  )
  return { holds: rows.map(holdOf) }
}

function find(turn: Turn, key: string): Hold | undefined {
  const row = turn.db.get(`select ${HOLD_COLUMNS} from skep_holds where key = ?`, key)
  return row && holdOf(row)
}

/** Lets claims see what changed: a lane knows until when it is held, everything else is asked for. */
function show(turn: Turn, { space, queue, lane }: HoldTarget, now: number): void {
  if (space === null || queue === null || lane === null) {
    turn.lanes.holdsChanged()
    return
  }
  const both = (['pause', 'block'] as const).map((kind) => find(turn, holdKey({ kind, space, queue, lane })))
  const standing = both.filter((one) => one !== undefined).filter((one) => stands(one, now))
  const line = turn.lanes.limited(turn.queues.make(turn.db, space, queue), now)
  turn.lanes.hold(line, lane, latestEnd(standing), now)
}

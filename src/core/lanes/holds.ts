import { NEVER } from './lanes.ts'

/**
 * What keeps jobs from starting. `pause` is a user's, `block` an admin's; they do not know of each other, and as long as
 * one of either stands nothing of its target starts. Jobs that run go on.
 */
export type HoldKind = 'pause' | 'block'

export interface HoldTarget {
  /** Null: every space. */
  readonly space: string | null
  /** A queue's name, or a pattern in which `*` stands for anything. Null: every queue. */
  readonly queue: string | null
  /** One lane of the named queue. Null: all of it. */
  readonly lane: string | null
}

export interface Hold extends HoldTarget {
  readonly kind: HoldKind
  readonly reason: string | null
  /** Who said so. */
  readonly by: string | null
  readonly since: number
  /** When it ends by itself; null: when somebody says so. */
  readonly until: number | null
}

/** Two holds are the same when kind and target are. */
export function holdKey({ kind, space, queue, lane }: HoldTarget & Pick<Hold, 'kind'>): string {
  return JSON.stringify([kind, space, queue, lane])
}

/** Whether a hold still stands. */
export function stands(hold: Pick<Hold, 'until'>, now: number): boolean {
  return hold.until === null || hold.until > now
}

/** Whether a hold is on a whole queue, by name, by pattern, by space or because it is on everything. */
export function holdsQueue(hold: HoldTarget, space: string, queue: string): boolean {
  return covers(hold, { space, queue, lane: null })
}

/** Whether a hold keeps back the whole of a target. A pattern is inside another if that one fits it as if it were a name. */
export function covers(hold: HoldTarget, target: HoldTarget): boolean {
  if (hold.space !== null && hold.space !== target.space) return false
  if (hold.lane !== null) return hold.queue === target.queue && hold.lane === target.lane
  return hold.queue === null || (target.queue !== null && matches(hold.queue, target.queue))
}

/** Whether a name fits a pattern. Names have no `*`, so a pattern without one is a name. */
export function matches(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  if (rest.length === 0) return pattern === name
  const last = rest.pop() as string
  if (!name.startsWith(first) || name.length < first.length + last.length || !name.endsWith(last))
    return false
  let at = first.length
  for (const part of rest) {
    const found = name.indexOf(part, at)
    if (found < 0 || found + part.length > name.length - last.length) return false
    at = found + part.length
  }
  return true
}

/** Whether a name could fit both of two patterns. */
export function mayMeet(a: string, b: string): boolean {
  // What of the second pattern may come next, having read so much of the first: each sign moves that on.
  let places = opened(b, new Set([0]))
  for (const sign of a) {
    const next = new Set<number>()
    if (sign === '*') for (let at = Math.min(...places); at <= b.length; at++) next.add(at)
    else {
      for (const at of places) {
        if (b[at] === '*') next.add(at)
        else if (b[at] === sign) next.add(at + 1)
      }
    }
    places = opened(b, next)
    if (places.size === 0) return false
  }
  return places.has(b.length)
}

/** With the places that follow when a star stands for nothing. */
function opened(pattern: string, places: Set<number>): Set<number> {
  for (const at of places) if (pattern[at] === '*') places.add(at + 1)
  return places
}

/** The end of several holds together: the latest; {@link NEVER} if one has none. */
export function latestEnd(holds: readonly { readonly until: number | null }[]): number {
  return holds.reduce((latest, { until }) => Math.max(latest, until ?? NEVER), 0)
}

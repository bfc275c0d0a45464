import { NEVER } from './lanes.ts'

/**
 * What keeps jobs from starting. A `pause` is set by users, a `block` by administrators; they are
 * independent, and while either is active nothing of its target starts. Running jobs continue.
 */
export type HoldKind = 'pause' | 'block'

export interface HoldTarget {
  /** Null: every space. */
  readonly space: string | null
  /** A queue's name, or a pattern in which `*` matches anything. Null: every queue. */
  readonly queue: string | null
  /** One lane of the named queue. Null: the whole queue. */
  readonly lane: string | null
}

export interface Hold extends HoldTarget {
  readonly kind: HoldKind
  readonly reason: string | null
  readonly by: string | null
  readonly since: number
  /** When it expires; null: until it is released. */
  readonly until: number | null
}

/** The identity of a hold: its kind and target. */
export function holdKey({ kind, space, queue, lane }: HoldTarget & Pick<Hold, 'kind'>): string {
  return JSON.stringify([kind, space, queue, lane])
}

/** Whether a hold is still active. */
export function stands(hold: Pick<Hold, 'until'>, now: number): boolean {
  return hold.until === null || hold.until > now
}

/** Whether a hold covers a whole queue: by name, pattern, space, or because it covers everything. */
export function holdsQueue(hold: HoldTarget, space: string, queue: string): boolean {
  return covers(hold, { space, queue, lane: null })
}

/**
 * Whether a hold covers a whole target. A pattern covers another one that it matches as if it were a name.
 */
export function covers(hold: HoldTarget, target: HoldTarget): boolean {
  if (hold.space !== null && hold.space !== target.space) return false
  if (hold.lane !== null) return hold.queue === target.queue && hold.lane === target.lane
  return hold.queue === null || (target.queue !== null && matches(hold.queue, target.queue))
}

/** Whether a name matches a pattern. Names contain no `*`, so a pattern without one is a name. */
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

/** Whether some name could match both patterns. */
export function mayMeet(a: string, b: string): boolean {
  // The positions in the second pattern that are reachable after this much of the first.
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

/** Adds the positions reachable when a star matches nothing. */
function opened(pattern: string, places: Set<number>): Set<number> {
  for (const at of places) if (pattern[at] === '*') places.add(at + 1)
  return places
}

/** The latest end of several holds; {@link NEVER} if one has none. */
export function latestEnd(holds: readonly { readonly until: number | null }[]): number {
  return holds.reduce((latest, { until }) => Math.max(latest, until ?? NEVER), 0)
}

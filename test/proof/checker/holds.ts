import { holdKey } from '../../../src/core/lanes/holds.ts'
import type { AuditEntry, AuditRow, HistoryRecord, HoldRecord, Violation } from '../history.ts'
import { type Asked, claimsLease, entryOf, type Invariant, type View } from './view.ts'

/**
 * I-13: when a hold has been answered, nothing of its target is claimed until somebody asks for its release or it ends
 * by the store's clock. Only what is sure counts: a call that nobody knows the fate of may arrive at any time.
 */
export const holdsHold: Invariant = function* (view) {
  const stretches = stretchesOf(view)
  if (stretches.length === 0) return
  const clock = new Clock(view)
  for (const entry of view.audit) {
    const now = clock.at(entry)
    if (!claimsLease(entry)) continue
    const broken = stretches.find((stretch) => isBroken(view, stretch, entry, now))
    if (broken) yield { ...BROKEN, about: entry.id, message: messageOf(broken.hold) }
  }
}

const BROKEN = { invariant: 'I-13', kind: 'hold-break' } as const satisfies Partial<Violation>

/** A hold, and what may have ended it. */
interface Stretch {
  readonly hold: HoldRecord
  readonly ended: HistoryRecord | null
  readonly until: number
}

function stretchesOf(view: View): Stretch[] {
  const byKey = new Map<string, Asked<HoldRecord>[]>()
  for (const asked of view.holds) entryOf(byKey, holdKey(asked.invoke), () => []).push(asked)
  const stretches: Stretch[] = []
  for (const calls of byKey.values()) {
    for (const { invoke, answer } of calls) {
      if (invoke.action !== 'hold' || answer?.type !== 'ok') continue
      // What was surely over before this hold was asked for cannot undo it.
      const others = calls.filter(
        (other) => other.invoke !== invoke && other.answer?.type !== 'fail' && !isOver(view, other, invoke),
      )
      const undoing = others.filter((other) => undoes(other, answer))
      if (undoing.some((other) => !view.order.follows(other.invoke, answer))) continue
      const [ended = null] = undoing.map((other) => other.invoke)
      stretches.push({ hold: answer, ended, until: answer.until ?? Infinity })
    }
  }
  return stretches
}

function isOver(view: View, { answer }: Asked<HoldRecord>, before: HoldRecord): boolean {
  return answer?.type === 'ok' && view.order.follows(before, answer)
}

/** A release, or the same hold with another end. */
function undoes({ invoke, answer }: Asked<HoldRecord>, hold: HoldRecord): boolean {
  if (invoke.action === 'release') return true
  const isAsLong = answer?.until === null || (answer?.until ?? 0) >= (hold.until ?? Infinity)
  return answer?.type !== 'ok' || !isAsLong
}

function isBroken(view: View, { hold, ended, until }: Stretch, entry: AuditEntry, now: number): boolean {
  if (!view.order.isBefore(hold, entry) || now + view.facts.slackMs >= until) return false
  if (ended !== null && !view.order.isAfter(ended, entry)) return false
  const { space, queue, lane } = entry.after as AuditRow
  if (hold.space !== null && hold.space !== (space ?? hold.space)) return false
  if (hold.lane !== null) return hold.queue === queue && hold.lane === (lane ?? '')
  return hold.queue === null || fitsPattern(hold.queue, queue)
}

export function fitsPattern(pattern: string, name: string): boolean {
  const parts = pattern.split('*').map((part) => part.replaceAll(/[^\w]/g, '\\$&'))
  return new RegExp(`^${parts.join('.*')}$`).test(name)
}

/**
 * The latest the store's clock can have shown up to a change. A hold that has ended stays so when the clock goes back; and
 * how far it had come before it did, between two changes, nobody saw.
 */
class Clock {
  readonly #view: View
  #jumps = 0
  #latest = -Infinity

  constructor(view: View) {
    this.#view = view
  }

  at(entry: AuditEntry): number {
    const { clocks, order } = this.#view
    let backMs = 0
    for (; this.#jumps < clocks.length; this.#jumps++) {
      const jump = clocks[this.#jumps] as (typeof clocks)[number]
      if (order.isAfter(jump, entry)) break
      backMs += Number(jump.what)
    }
    this.#latest = Math.max(this.#latest, entry.at + backMs)
    return this.#latest
  }
}

function messageOf({ kind, space, queue, lane }: HoldRecord): string {
  const target = [
    space ?? 'every space',
    queue ?? 'every queue',
    ...(lane === null ? [] : [`lane "${lane}"`]),
  ]
  return `It was claimed although a ${kind} on ${target.join(', ')} stood.`
}

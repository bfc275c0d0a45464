/**
 * When what needs attention becomes a message: pure, so that every moment of it can be tested.
 *
 *     seen ──(lasts `after`)──▶ open: opened ──(each `every`, or it became critical)──▶ repeated
 *                               open ──(gone for `after`)──▶ resolved, forgotten
 *     seen, gone before `after` ──▶ forgotten, and nobody is told
 */
import type { Attention } from '../../operations/schema/wire-types.ts'
import type { AlertEvent } from './message.ts'

/** One thing that needs attention, however its words change. */
export interface Alert extends Attention {
  readonly since: number
  readonly seenAt: number
  /** Null: nobody was told yet. */
  readonly toldAt: number | null
}

/** A message that nobody has taken yet. */
export interface Outgoing {
  readonly id: string
  readonly type: AlertEvent
  readonly alert: Attention & { readonly since: number }
  readonly at: number
  readonly tries: number
  readonly nextAt: number
}

export interface AlertState {
  readonly alerts: Readonly<Record<string, Alert>>
  readonly outbox: readonly Outgoing[]
}

export interface AlertRule {
  readonly kinds: ReadonlySet<Attention['kind']> | null
  readonly level: Attention['level']
  readonly afterMs: number
  readonly everyMs: number
}

export const NO_ALERTS: AlertState = { alerts: {}, outbox: [] }

/** When everything is broken at once, the first of it will do. */
const MOST_ALERTS = 100
/** While nobody takes messages, the oldest are dropped: they are old news. */
const MOST_OUTGOING = 200
const GIVE_UP_MS = 86_400_000
const FIRST_TRY_MS = 5_000
const LAST_TRY_MS = 3_600_000

/** What is so after a look. `makeId` makes the ids of messages. */
export function afterLook(
  state: AlertState,
  seen: readonly Attention[],
  { rule, now, makeId }: { readonly rule: AlertRule; readonly now: number; readonly makeId: () => string },
): AlertState {
  const alerts = new Map(Object.entries(state.alerts))
  const outbox = [...state.outbox]
  const tell = (type: AlertEvent, { level, kind, text, link, since }: Alert): void => {
    outbox.push({
      id: makeId(),
      type,
      alert: { level, kind, text, link, since },
      at: now,
      tries: 0,
      nextAt: now,
    })
  }
  for (const attention of seen.filter((one) => matches(rule, one))) {
    const key = keyOf(attention)
    const known = alerts.get(key)
    if (known === undefined && alerts.size >= MOST_ALERTS) continue
    const { since = now, toldAt = null } = known ?? {}
    const isRaised = known?.level === 'warning' && attention.level === 'critical'
    const isDue = toldAt === null ? now - since >= rule.afterMs : isRaised || now - toldAt >= rule.everyMs
    const alert: Alert = { ...attention, since, seenAt: now, toldAt: isDue ? now : toldAt }
    alerts.set(key, alert)
    if (isDue) tell(toldAt === null ? 'alert.opened' : 'alert.repeated', alert)
  }
  for (const [key, alert] of alerts) {
    const isGone = alert.seenAt !== now && (alert.toldAt === null || now - alert.seenAt >= rule.afterMs)
    if (!isGone) continue
    alerts.delete(key)
    if (alert.toldAt !== null) tell('alert.resolved', alert)
  }
  return { alerts: Object.fromEntries(alerts), outbox: outbox.slice(-MOST_OUTGOING) }
}

/** What is so after some messages were sent: those that were taken are gone, the others wait longer each time. */
export function afterSending(
  state: AlertState,
  taken: ReadonlyMap<string, boolean>,
  now: number,
): AlertState & { readonly givenUp: number } {
  const outbox = state.outbox.flatMap((message): Outgoing[] => {
    const isTaken = taken.get(message.id)
    if (isTaken === undefined) return [message]
    if (isTaken || now - message.at >= GIVE_UP_MS) return []
    const tries = message.tries + 1
    const waitMs = Math.min(LAST_TRY_MS, FIRST_TRY_MS * 2 ** (tries - 1))
    return [{ ...message, tries, nextAt: now + waitMs }]
  })
  const done = [...taken.values()].filter(Boolean).length
  return { alerts: state.alerts, outbox, givenUp: state.outbox.length - outbox.length - done }
}

/** The texts have numbers in them that change; what it is about does not. */
function keyOf({ kind, link }: Attention): string {
  return `${kind} ${link}`
}

function matches({ kinds, level }: AlertRule, attention: Attention): boolean {
  return (kinds === null || kinds.has(attention.kind)) && (level === 'warning' || attention.level === level)
}

/**
 * The alert state machine: when an issue becomes a message. Pure, so that tests can control the clock.
 *
 *     seen ──(lasts `after`)──▶ open: opened ──(each `every`, or it became critical)──▶ repeated
 *                               open ──(gone for `after`)──▶ resolved, forgotten
 *     seen, gone before `after` ──▶ forgotten, without a message
 */
import type { Attention } from '../../operations/schema/wire-types.ts'
import type { AlertEvent } from './message.ts'

/** One issue, identified by kind and link; its text may change. */
export interface Alert extends Attention {
  readonly since: number
  readonly seenAt: number
  /** When the last message was created; null if there was none. */
  readonly toldAt: number | null
}

/** A message that was not delivered yet. */
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

/** Limits the number of tracked issues during a total outage. */
const MAX_ALERTS = 100
/** While messages cannot be delivered, the oldest are dropped. */
const MAX_OUTGOING = 200
const GIVE_UP_MS = 86_400_000
const FIRST_TRY_MS = 5_000
const LAST_TRY_MS = 3_600_000

/** The next state after checking for issues. `makeId` creates message ids. */
export function afterLook(
  state: AlertState,
  seen: readonly Attention[],
  { rule, now, makeId }: { readonly rule: AlertRule; readonly now: number; readonly makeId: () => string },
): AlertState {
  const alerts = new Map(Object.entries(state.alerts))
  const outbox = [...state.outbox]
  const send = (type: AlertEvent, { level, kind, text, link, since }: Alert): void => {
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
    if (known === undefined && alerts.size >= MAX_ALERTS) continue
    const { since = now, toldAt = null } = known ?? {}
    const isRaised = known?.level === 'warning' && attention.level === 'critical'
    const isDue = toldAt === null ? now - since >= rule.afterMs : isRaised || now - toldAt >= rule.everyMs
    const alert: Alert = { ...attention, since, seenAt: now, toldAt: isDue ? now : toldAt }
    alerts.set(key, alert)
    if (isDue) send(toldAt === null ? 'alert.opened' : 'alert.repeated', alert)
  }
  for (const [key, alert] of alerts) {
    const isGone = alert.seenAt !== now && (alert.toldAt === null || now - alert.seenAt >= rule.afterMs)
    if (!isGone) continue
    alerts.delete(key)
    if (alert.toldAt !== null) send('alert.resolved', alert)
  }
  return { alerts: Object.fromEntries(alerts), outbox: outbox.slice(-MAX_OUTGOING) }
}

/** The next state after sending: delivered messages are removed, the others are retried with backoff. */
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

/** Texts contain changing numbers, so issues are identified by kind and link. */
function keyOf({ kind, link }: Attention): string {
  return `${kind} ${link}`
}

function matches({ kinds, level }: AlertRule, attention: Attention): boolean {
  return (kinds === null || kinds.has(attention.kind)) && (level === 'warning' || attention.level === level)
}

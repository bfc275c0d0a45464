import type { ScheduleSummary } from '../../operations/schema/outputs.ts'
import type { Output, Paint } from '../output.ts'
import { count, fromNow, span, timeText } from './numbers.ts'
import { type Cell, table } from './table.ts'
import { clean, safeJson } from './text.ts'

/** A page of schedules, one line each. */
export function scheduleTable(schedules: readonly ScheduleSummary[], out: Output, now: number): string {
  const lines = table(
    [
      { title: 'ID' },
      { title: 'QUEUE' },
      { title: 'WHEN', flexible: true },
      { title: 'NEXT' },
      { title: 'FIRED', align: 'right' },
      { title: 'SKIPPED', align: 'right' },
      { title: 'OWNER' },
    ],
    schedules.map((schedule) => [
      clean(schedule.id),
      clean(schedule.queue),
      clean(timingOf(schedule)),
      nextOf(schedule, now),
      count(schedule.fired),
      count(schedule.skipped),
      ownerOf(schedule),
    ]),
    { width: out.width, paint: out.paint },
  )
  return lines.join('\n')
}

/** Everything about one schedule. */
export function schedulePage(schedule: ScheduleSummary, paint: Paint, now: number): string {
  const moment = (when: string | null): string | null => timeText(when, now, paint)
  const { paused, lastJob } = schedule
  const parts: readonly (readonly [string, string | null])[] = [
    ['id', clean(schedule.id)],
    ['queue', clean(schedule.queue)],
    ['when', clean(timingOf(schedule))],
    ['next', schedule.nextAt === null ? 'never' : moment(schedule.nextAt)],
    [
      'paused',
      paused === null
        ? null
        : [moment(paused.at), paused.by && `by ${clean(paused.by)}`, paused.reason && clean(paused.reason)]
            .filter(Boolean)
            .join(', '),
    ],
    ['missed', `${schedule.missed} ${paint('dim', `(grace ${span(schedule.graceMs)})`)}`],
    ['overlap', schedule.overlap],
    ['jitter', schedule.jitterMs === 0 ? null : span(schedule.jitterMs)],
    ['starts', moment(schedule.startAt)],
    ['ends', moment(schedule.endAt)],
    ['made by', ownerOf(schedule)],
    ['last slot', moment(schedule.lastSlot)],
    ['last job', lastJob],
    ['fired', count(schedule.fired)],
    ['skipped', count(schedule.skipped)],
    ['payload', schedule.dynamic ? 'made by a function' : safeJson(schedule.payload)],
  ]
  return parts
    .filter(([, text]) => text !== null)
    .map(([name, text]) => `${paint('dim', name.padEnd(11))} ${text}`)
    .join('\n')
}

export function previewLines(slots: readonly string[], now: number): string {
  return slots.map((slot) => `${slot}  ${fromNow(slot, now)}`).join('\n')
}

function timingOf({ cron, every }: ScheduleSummary): string {
  if (cron) return `${cron.expression} ${cron.timeZone}`
  const after = every?.from === 'last-run' ? ' after the last run' : ''
  return `every ${span(every?.ms ?? 0)}${after}`
}

function nextOf({ paused, nextAt }: ScheduleSummary, now: number): Cell {
  if (paused) return { text: 'paused', style: 'yellow' }
  return nextAt === null ? { text: 'over', style: 'dim' } : fromNow(nextAt, now)
}

function ownerOf({ declared, owner }: ScheduleSummary): string {
  return declared ? clean(owner ?? 'code') : 'run time'
}

import type { ReactNode } from 'react'
import type { SlotPreview } from '../../../../src/operations/schema/wire-types.ts'
import { Icon } from '../../ui/icon.tsx'
import { TimeAgo } from '../../ui/time.tsx'
import { noteText } from './slot-note.ts'

const FORMAT: Intl.DateTimeFormatOptions = {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
}

/** Formats a date in a time zone, with the year unless it is the current one. */
function dateText(at: number, timeZone: string): string {
  const isThisYear = new Date(at).getUTCFullYear() === new Date().getUTCFullYear()
  return new Intl.DateTimeFormat('en-GB', {
    ...FORMAT,
    timeZone,
    ...(isThisYear ? {} : { year: 'numeric' }),
  }).format(at)
}

/** Adds the weekday to a local time as the server formats it, and keeps the UTC offset. */
function wallText(local: string): string {
  const [, date, time, offset] = /^(\S+) (\S+) (\S+)$/.exec(local) ?? []
  const at = Date.parse(`${date}T${time}Z`)
  return Number.isNaN(at) ? local : `${dateText(at, 'UTC')} ${offset}`
}

export const viewerZone: string = Intl.DateTimeFormat().resolvedOptions().timeZone

/** The next slots, in the time zone of the schedule and of the browser. */
export function Slots({
  slots,
  zone,
}: {
  readonly slots: readonly SlotPreview[]
  /** The time zone of the schedule; null for an interval. */
  readonly zone: string | null
}): ReactNode {
  const hasTwo = zone !== null && zone !== viewerZone
  return (
    <table className="slots">
      <thead>
        <tr>
          <th scope="col">{zone ?? viewerZone}</th>
          {hasTwo && <th scope="col">{viewerZone} (local)</th>}
          <th scope="col">From now</th>
        </tr>
      </thead>
      <tbody>
        {slots.map((slot) => {
          const { at, local } = slot
          const text = noteText(slot, slots, zone)
          return (
            <tr key={at} className={text ? 'slots-marked' : undefined}>
              <td className="num">
                {zone === null ? dateText(Date.parse(at), viewerZone) : wallText(local)}
                {text && (
                  <p className="slots-note">
                    <Icon name="schedules" size={13} /> {text}
                  </p>
                )}
              </td>
              {hasTwo && <td className="num soft">{dateText(Date.parse(at), viewerZone)}</td>}
              <td className="soft slots-ago">
                <TimeAgo at={at} />
              </td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}

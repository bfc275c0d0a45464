import type { ReactNode } from 'react'
import type { SlotPreview } from '../../../../src/server/api.ts'
import { Icon } from '../../ui/icon.tsx'
import { TimeAgo } from '../../ui/time.tsx'
import { noteText } from './slot-note.ts'

const viewer = new Intl.DateTimeFormat('en-GB', {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
})

export const viewerZone: string = Intl.DateTimeFormat().resolvedOptions().timeZone

/** The next slots, by the clock of the schedule and by that of whoever looks. */
export function Slots({
  slots,
  zone,
}: {
  readonly slots: readonly SlotPreview[]
  /** That of the schedule; null: it has none, because it is an interval. */
  readonly zone: string | null
}): ReactNode {
  const hasTwo = zone !== null && zone !== viewerZone
  return (
    <table className="slots">
      <thead>
        <tr>
          <th scope="col">{zone ?? viewerZone}</th>
          {hasTwo && <th scope="col">{viewerZone} (yours)</th>}
          <th scope="col">In</th>
        </tr>
      </thead>
      <tbody>
        {slots.map(({ at, local, note }) => {
          const text = noteText(note, local)
          return (
            <tr key={at} className={note ? 'slots-marked' : undefined}>
              <td className="num">
                {zone === null ? viewer.format(new Date(at)) : local}
                {text && (
                  <p className="slots-note">
                    <Icon name="schedules" size={13} /> {text}
                  </p>
                )}
              </td>
              {hasTwo && <td className="num soft">{viewer.format(new Date(at))}</td>}
              <td className="soft">
                <TimeAgo at={at} />
              </td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}

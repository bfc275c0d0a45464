import type { ReactNode } from 'react'
import type { TimelineEntry } from '../../../../src/operations/schema/wire-types.ts'
import { clockText, durationText } from '../../format/times.ts'
import { Card } from '../../ui/card.tsx'
import { classes } from '../../ui/classes.ts'
import type { JobState } from '../../ui/state.tsx'
import { TimeAgo } from '../../ui/time.tsx'

const TONES: Readonly<Record<TimelineEntry['kind'], string>> = {
  enqueued: 'plain',
  due: 'plain',
  started: 'info',
  failed: 'bad',
  timeout: 'bad',
  lost: 'bad',
  snoozed: 'special',
  finished: 'good',
  cancelled: 'plain',
  retried: 'special',
  expires: 'plain',
}

/** What happened to a job, and what happens next. */
export function Timeline({
  timeline,
  state,
}: {
  readonly timeline: readonly TimelineEntry[]
  readonly state: JobState
}): ReactNode {
  const now = Date.now()
  return (
    <Card title="Timeline">
      <ol className="timeline">
        {timeline.map(({ at, kind, text, attempt }, index) => {
          const before = timeline[index - 1]
          const gap = before ? Date.parse(at) - Date.parse(before.at) : 0
          return (
            <li
              key={`${at} ${kind} ${attempt} ${text}`}
              className={classes(
                'timeline-entry',
                `dot-${kind === 'finished' && state !== 'done' ? 'bad' : TONES[kind]}`,
                Date.parse(at) > now && 'timeline-ahead',
              )}
            >
              <span className="wrap-anywhere">
                {text}
                {attempt !== null && <span className="faint"> · attempt {attempt}</span>}
              </span>
              <span className="small faint num">
                <span title={at}>{clockText(at, now)}</span> · <TimeAgo at={at} />
                {gap >= 1 && ` · +${durationText(gap)}`}
              </span>
            </li>
          )
        })}
      </ol>
    </Card>
  )
}

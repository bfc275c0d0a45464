import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { QueueDetail } from '../../../../src/server/api.ts'
import { plural } from '../../format/numbers.ts'
import { durationText } from '../../format/times.ts'
import { to } from '../../router.ts'
import { Card, Facts, Figure } from '../../ui/card.tsx'
import { Count, Rate } from '../../ui/count.tsx'
import { Icon } from '../../ui/icon.tsx'
import { JsonView } from '../../ui/json.tsx'
import { STATES, StateBadge } from '../../ui/state.tsx'
import { TimeAgo } from '../../ui/time.tsx'
import { SeriesCharts } from '../overview/series-charts.tsx'
import { Usage } from './usage.tsx'

export function QueueOverview({ detail }: { readonly detail: QueueDetail }): ReactNode {
  const { queue, counts, oldestMs, holds, series, card, enqueuedRate, doneRate, failedRate } = detail
  const { workers, slots, unhandled } = detail
  return (
    <>
      {holds.length > 0 && (
        <ul className="attention" aria-label="What holds it">
          {holds.map(({ kind, reason, by, since, until, queue: pattern }) => (
            <li key={`${kind} ${pattern}`} className="attention-item attention-warning">
              <Icon name={kind === 'block' ? 'block' : 'pause'} />
              <span className="grow wrap-anywhere">
                {kind === 'block' ? 'Blocked' : 'Paused'}
                {pattern !== queue && ` with ${pattern ?? 'every queue'}`}
                {by && ` by ${by}`} <TimeAgo at={since} />
                {reason && `: ${reason}`}
                {until && (
                  <>
                    {' '}
                    · ends <TimeAgo at={until} />
                  </>
                )}
              </span>
            </li>
          ))}
        </ul>
      )}
      {unhandled > 0 && (
        <div className="attention-item attention-critical" role="status">
          <Icon name="errors" />
          <span className="grow">
            No live worker handles this queue: {plural(unhandled, 'job')} keep their order and start when one
            appears.
          </span>
        </div>
      )}
      <div className="figures">
        <Figure
          label="Waiting"
          note={oldestMs === null ? 'nothing waits' : `oldest ${durationText(oldestMs)}`}
        >
          <Count value={counts.ready} />
        </Figure>
        <Figure label="Running" note={<Usage running={counts.running} slots={slots} workers={workers} />}>
          <Count value={counts.running} />
        </Figure>
        <Figure label="Enqueued" note="in the last minute">
          <Rate value={enqueuedRate} />
        </Figure>
        <Figure label="Done" note="in the last minute">
          <Rate value={doneRate} />
        </Figure>
        <Figure
          label="Failed"
          note="in the last minute"
          {...(failedRate > 0 ? { tone: 'bad' as const } : {})}
        >
          <Rate value={failedRate} />
        </Figure>
      </div>
      <ul className="state-counts" aria-label="Jobs by state">
        {STATES.map((state) => (
          <li key={state}>
            <Link to={to.jobs(`queue:${queue} state:${state}`)}>
              <StateBadge state={state} bare />
              <Count value={counts[state]} />
            </Link>
          </li>
        ))}
      </ul>
      <SeriesCharts series={series} />
      {card && (
        <Card title="As its code declares it">
          <div className="stack">
            <Facts
              facts={[
                ['Time per run', card.timeoutMs === null ? 'no limit' : durationText(card.timeoutMs)],
                ['Priority', String(card.priority)],
                ['Lanes', card.hasLanes ? 'yes' : 'no'],
                ['Unique jobs', card.tellsUnique ? 'yes' : 'no'],
              ]}
            />
            {card.policy.length > 0 && (
              <ul className="bullets">
                {card.policy.map((sentence) => (
                  <li key={sentence}>{sentence}</li>
                ))}
              </ul>
            )}
            {card.schema !== null && card.schema !== undefined && (
              <>
                <h3>Schema of the payload</h3>
                <JsonView value={card.schema} open={1} label="schema" />
              </>
            )}
          </div>
        </Card>
      )}
    </>
  )
}

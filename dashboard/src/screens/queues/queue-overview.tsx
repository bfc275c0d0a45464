import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { QueueDetail } from '../../../../src/operations/schema/wire-types.ts'
import { durationText } from '../../format/times.ts'
import { to } from '../../router.ts'
import { Card, Facts, Figure } from '../../ui/card.tsx'
import { Count, Rate } from '../../ui/count.tsx'
import { JsonView } from '../../ui/json.tsx'
import { STATES, StateBadge } from '../../ui/state.tsx'
import { SeriesCharts } from '../overview/series-charts.tsx'
import { QueueWorkers } from './queue-workers.tsx'
import { Usage } from './usage.tsx'
import { WhyWaiting } from './why-waiting.tsx'

export function QueueOverview({ detail }: { readonly detail: QueueDetail }): ReactNode {
  const {
    queue,
    counts,
    oldestMs,
    series,
    deploys,
    card,
    enqueuedRate,
    doneRate,
    failedRate,
    workers,
    slots,
  } = detail
  return (
    <>
      <WhyWaiting detail={detail} />
      <div className="figures">
        <Figure
          label="Waiting"
          note={oldestMs === null ? 'no waiting jobs' : `oldest ${durationText(oldestMs)}`}
        >
          <Count value={counts.ready} />
        </Figure>
        <Figure label="Running" note={<Usage running={counts.running} slots={slots} workers={workers} />}>
          <Count value={counts.running} />
        </Figure>
        <Figure label="Enqueued" note="last minute">
          <Rate value={enqueuedRate} />
        </Figure>
        <Figure label="Done" note="last minute">
          <Rate value={doneRate} />
        </Figure>
        <Figure label="Failed" note="last minute" {...(failedRate > 0 ? { tone: 'bad' as const } : {})}>
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
      <SeriesCharts series={series} deploys={deploys} />
      <QueueWorkers queue={queue} />
      {card && (
        <Card title="Configuration">
          <div className="stack">
            <Facts
              facts={[
                ['Timeout', card.timeoutMs === null ? 'none' : durationText(card.timeoutMs)],
                ['Priority', String(card.priority)],
                ['Lanes', card.hasLanes ? 'yes' : 'no'],
                ['Unique keys', card.tellsUnique ? 'yes' : 'no'],
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
                <h3>Payload schema</h3>
                <JsonView value={card.schema} open={1} label="schema" />
              </>
            )}
          </div>
        </Card>
      )}
    </>
  )
}

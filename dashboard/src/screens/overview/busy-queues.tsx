import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { QueueSummary } from '../../../../src/operations/schema/wire-types.ts'
import { useApi } from '../../api/query.ts'
import { to } from '../../router.ts'
import { Card } from '../../ui/card.tsx'
import { Count, Rate } from '../../ui/count.tsx'
import { Loaded } from '../../ui/page-states.tsx'
import { Sparkline } from '../../ui/spark.tsx'
import { Duration } from '../../ui/time.tsx'
import { HoldBadge } from '../queues/hold-badge.tsx'

const SHOWN = 8

/** The queues with the highest load. */
export function BusyQueues(): ReactNode {
  const request = useApi('queues.list', {})
  return (
    <Card
      title="Busiest queues"
      flush
      actions={
        <Link to="/queues" className="link small">
          View all queues
        </Link>
      }
    >
      <Loaded request={request}>
        {({ queues }) => (
          <div className="scroll-x">
            <table className="plain-table">
              <thead>
                <tr>
                  <th>Queue</th>
                  <th className="end">Waiting</th>
                  <th className="end">Running</th>
                  <th className="end wide-only">Oldest</th>
                  <th className="end">Done</th>
                  <th className="end wide-only">Failed</th>
                  <th className="wide-only">Last 15 minutes</th>
                </tr>
              </thead>
              <tbody>{queues.toSorted(byLoad).slice(0, SHOWN).map(row)}</tbody>
            </table>
          </div>
        )}
      </Loaded>
    </Card>
  )
}

function byLoad(a: QueueSummary, b: QueueSummary): number {
  const load = ({ counts, doneRate }: QueueSummary): number => counts.ready + counts.running + doneRate
  return load(b) - load(a) || (a.queue < b.queue ? -1 : 1)
}

function row({ queue, counts, oldestMs, hold, holds, doneRate, failedRate, spark }: QueueSummary): ReactNode {
  return (
    <tr key={queue}>
      <td>
        <span className="row">
          <Link to={to.queue(queue)} className="strong cut">
            {queue}
          </Link>
          <HoldBadge hold={hold} holds={holds} />
        </span>
      </td>
      <td className="end">
        <Count value={counts.ready} />
      </td>
      <td className="end">
        <Count value={counts.running} />
      </td>
      <td className="end wide-only">
        <Duration ms={oldestMs} />
      </td>
      <td className="end">
        <Rate value={doneRate} />
      </td>
      <td className="end wide-only">
        <Rate value={failedRate} />
      </td>
      <td className="wide-only">
        <Sparkline values={spark} label={`Completed jobs of ${queue}`} />
      </td>
    </tr>
  )
}

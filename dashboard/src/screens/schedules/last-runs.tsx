import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { ScheduleSummary } from '../../../../src/operations/schema/wire-types.ts'
import { useApi } from '../../api/query.ts'
import { durationText } from '../../format/times.ts'
import { to } from '../../router.ts'
import { Card } from '../../ui/card.tsx'
import { StateBadge, StateShape } from '../../ui/state.tsx'
import { TimeAgo } from '../../ui/time.tsx'
import { quoted } from '../jobs/query-text.ts'

const SHOWN = 30
const DETAILED = 5

/** The last thirty jobs of a schedule as icons, oldest first, and the newest ones in detail. */
export function LastRuns({ schedule }: { readonly schedule: ScheduleSummary }): ReactNode {
  // With the queue, so that no other queue is scanned.
  const query = `schedule:${quoted(schedule.id)} queue:${quoted(schedule.queue)}`
  const { data } = useApi('jobs.list', { query, limit: SHOWN }, { every: 15_000 })
  const jobs = (data?.jobs ?? []).toSorted((a, b) => Date.parse(b.enqueuedAt) - Date.parse(a.enqueuedAt))
  if (jobs.length === 0) return null
  return (
    <Card
      title="Recent jobs"
      flush
      actions={
        <Link to={to.jobs(query)} className="link">
          View all jobs
        </Link>
      }
    >
      <ol className="runs-strip" aria-label="Recent jobs, oldest first">
        {jobs.toReversed().map(({ id, state }) => (
          <li key={id}>
            <Link to={to.job(id)} className={`runs-sign state-${state}`} title={state} aria-label={state}>
              <StateShape state={state} />
            </Link>
          </li>
        ))}
      </ol>
      <table className="slots">
        <tbody>
          {jobs.slice(0, DETAILED).map(({ id, state, enqueuedAt, startedAt, finishedAt }) => (
            <tr key={id}>
              <td>
                <Link to={to.job(id)}>
                  <StateBadge state={state} />
                </Link>
              </td>
              <td className="num">
                <TimeAgo at={enqueuedAt} />
              </td>
              <td className="num soft">
                {startedAt !== null && finishedAt !== null
                  ? `took ${durationText(Date.parse(finishedAt) - Date.parse(startedAt))}`
                  : ''}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  )
}

import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { JobList } from '../../../../src/operations/schema/wire-types.ts'
import { to } from '../../router.ts'
import { StateBadge } from '../../ui/state.tsx'
import { TimeAgo } from '../../ui/time.tsx'
import './shared.css'

/** A short list of jobs, each a link. */
export function JobLines({ jobs }: { readonly jobs: JobList['jobs'] }): ReactNode {
  return (
    <ul className="job-lines">
      {jobs.map(({ id, state, queue, failure, enqueuedAt, finishedAt }) => (
        <li key={id}>
          <Link to={to.job(id)} className="job-line">
            <StateBadge state={state} />
            <code className="cut">{id}</code>
            <span className="cut soft grow wide-only">{failure?.message ?? queue}</span>
            <span className="faint small">
              <TimeAgo at={finishedAt ?? enqueuedAt} />
            </span>
          </Link>
        </li>
      ))}
    </ul>
  )
}

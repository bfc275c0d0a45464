import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import type { JobDetail } from '../../../../src/operations/schema/wire-types.ts'
import { useApi } from '../../api/query.ts'
import { to, useUrlParam } from '../../router.ts'
import { classes } from '../../ui/classes.ts'
import { Id } from '../../ui/code.tsx'
import { Loaded, Skeleton } from '../../ui/page-states.tsx'
import { Progress } from '../../ui/progress.tsx'
import { StateBadge } from '../../ui/state.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { Attempts } from './attempts.tsx'
import { Data } from './data.tsx'
import { JobFacts } from './facts.tsx'
import { JobActions } from './job-actions.tsx'
import { Logs } from './logs.tsx'
import { Timeline } from './timeline.tsx'
import { Why } from './why.tsx'

type Part = 'overview' | 'data' | 'attempts' | 'logs'

/** Everything about one job, for the page and the drawer. */
export function JobPanel({
  id,
  isNarrow = false,
}: {
  readonly id: string
  readonly isNarrow?: boolean
}): ReactNode {
  const request = useApi('jobs.get', { id }, { keeps: false, every: 5_000 })
  return (
    <Loaded request={request} skeleton={<Skeleton lines={8} />}>
      {(detail) => <Parts detail={detail} isNarrow={isNarrow} />}
    </Loaded>
  )
}

function Parts({ detail, isNarrow }: { readonly detail: JobDetail; readonly isNarrow: boolean }): ReactNode {
  const { job, attempts } = detail
  const Title = isNarrow ? 'h2' : 'h1'
  const inUrl = useUrlParam<Part>('part', 'overview')
  const inState = useState<Part>('overview')
  // In a drawer the URL belongs to the list behind it.
  const [part, setPart] = isNarrow ? inState : inUrl
  return (
    <article className="job stack" aria-label={`Job ${job.id}`}>
      <header className="job-head">
        <div className="grow stack tight">
          <span className="row wraps">
            <Title>
              <Link to={to.queue(job.queue)} className="job-queue">
                {job.queue}
              </Link>
            </Title>
            <StateBadge state={job.state} />
          </span>
          <Id text={job.id} />
        </div>
        <JobActions job={job} />
      </header>
      {job.progress && job.state !== 'done' && (
        <Progress
          value={partOf(job.progress.value)}
          label="Job progress"
          note={[amount(job.progress.value), job.progress.note].filter(Boolean).join(' · ')}
        />
      )}
      <Tabs<Part>
        label="Job sections"
        value={part}
        onChange={setPart}
        tabs={[
          { id: 'overview', label: 'Overview' },
          { id: 'data', label: 'Data' },
          {
            id: 'attempts',
            label: (
              <>Attempts {attempts.length > 0 && <span className="tab-count num">{attempts.length}</span>}</>
            ),
          },
          { id: 'logs', label: 'Logs' },
        ]}
      />
      {part === 'overview' && (
        <div className={classes('job-parts', isNarrow && 'job-parts-narrow')}>
          <div className="stack">
            <Why detail={detail} />
            <Data job={job} only="brief" />
          </div>
          <div className="stack">
            <Timeline timeline={detail.timeline} state={job.state} />
            <JobFacts detail={detail} />
          </div>
        </div>
      )}
      {part === 'data' && <Data job={job} />}
      {part === 'attempts' && <Attempts attempts={attempts} job={job} />}
      {part === 'logs' && <Logs id={job.id} isRunning={job.state === 'running'} />}
    </article>
  )
}

/** Handlers report any number, usually a percentage. */
function partOf(value: number): number | null {
  return value >= 0 && value <= 100 ? value / 100 : null
}

function amount(value: number): string {
  const rounded = Number(value.toFixed(1))
  return partOf(value) === null ? String(rounded) : `${Math.round(rounded)} %`
}

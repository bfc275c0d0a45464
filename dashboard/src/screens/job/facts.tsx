import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { JobDetail } from '../../../../src/operations/schema/wire-types.ts'
import { useMe } from '../../api/me.ts'
import { to } from '../../router.ts'
import { Card, Facts } from '../../ui/card.tsx'
import { SafeLink } from '../../ui/safe-link.tsx'
import { Duration, TimeAgo } from '../../ui/time.tsx'

/** Other details of a job, with links to what it belongs to. */
export function JobFacts({ detail }: { readonly detail: JobDetail }): ReactNode {
  const { job, schedule, run, group, copyOf, trace } = detail
  const me = useMe()
  const link = (path: string, text: string): ReactNode => (
    <Link to={path} className="link">
      {text}
    </Link>
  )
  return (
    <Card title="Details">
      <Facts
        facts={[
          ['Attempts', String(job.starts)],
          job.errors > 0 && ['Errors', String(job.errors)],
          job.timeouts > 0 && ['Timeouts', String(job.timeouts)],
          job.lost > 0 && ['Workers lost', String(job.lost)],
          job.snoozes > 0 && ['Snoozes', String(job.snoozes)],
          job.generation > 0 && ['Manual retries', String(job.generation)],
          ['Priority', String(job.priority)],
          job.lane !== null && [
            'Lane',
            link(to.jobs(`queue:${job.queue} lane:${JSON.stringify(job.lane)}`), job.lane || '(empty)'),
          ],
          job.cost !== 1 && ['Cost', String(job.cost)],
          job.unique !== null && ['Unique key', <code key="unique">{job.unique}</code>],
          job.startedAt !== null &&
            job.finishedAt !== null && [
              'Took',
              <Duration key="ran" ms={Date.parse(job.finishedAt) - Date.parse(job.startedAt)} />,
            ],
          job.worker !== null && ['Worker', link(to.worker(job.worker), job.worker)],
          job.leaseUntil !== null && ['Lease expires', <TimeAgo key="lease" at={job.leaseUntil} />],
          job.cancelReason !== null && ['Cancel reason', job.cancelReason],
          schedule !== null && ['Schedule', link(to.schedule(schedule), schedule)],
          run !== null && ['Flow run', link(to.run(run), run)],
          group !== null && ['Group', link(to.group(group), group)],
          copyOf !== null && ['Copy of', link(to.job(copyOf), copyOf)],
          trace !== null && [
            'Trace',
            me?.traceUrl ? (
              <SafeLink key="trace" href={me.traceUrl.replaceAll('{trace}', encodeURIComponent(trace))}>
                {trace}
              </SafeLink>
            ) : (
              <code key="trace">{trace}</code>
            ),
          ],
          job.space !== 'default' && ['Space', job.space],
        ]}
      />
    </Card>
  )
}

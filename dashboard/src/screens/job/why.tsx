import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { JobDetail } from '../../../../src/operations/schema/wire-types.ts'
import { to } from '../../router.ts'
import { Card } from '../../ui/card.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { Stack } from '../../ui/stack.tsx'
import type { JobState } from '../../ui/state.tsx'
import { causeLinks } from '../shared/cause-links.ts'

type Cause = JobDetail['explanation']['causes'][number]

const TITLES: Readonly<Record<JobState, string>> = {
  delayed: 'Why is it not running?',
  ready: 'Why is it not running?',
  running: 'Where is it running?',
  done: 'How did it finish?',
  failed: 'Why did it fail?',
  dead: 'Why is it dead?',
  cancelled: 'Why was it cancelled?',
}

/** Every reason why a job is not running, or how it ended, with links to fix it. */
export function Why({ detail: { job, explanation, errorGroup } }: { readonly detail: JobDetail }): ReactNode {
  const { failure } = job
  const links = causeLinks(explanation.causes)
  const isBad = failure !== null && job.state !== 'done' && job.state !== 'cancelled'
  return (
    <Card title={TITLES[job.state]}>
      <div className="stack">
        <ul className="causes">
          {explanation.causes.map((cause) => (
            <li key={cause.text}>
              <span className="wrap-anywhere">
                <Sentence text={cause.text} links={links} />
              </span>
              <CauseLinks cause={cause} queue={job.queue} />
            </li>
          ))}
        </ul>
        {isBad && failure.stack && <Stack stack={failure.stack} />}
        {isBad && failure.causes && failure.causes.length > 0 && (
          <ul className="bullets soft small">
            {failure.causes.map(({ name, message }) => (
              <li key={`${name} ${message}`} className="wrap-anywhere">
                Caused by {name}: {message}
              </li>
            ))}
          </ul>
        )}
        {errorGroup && (
          <Link to={to.error(errorGroup)} className="link small">
            View similar errors
          </Link>
        )}
      </div>
    </Card>
  )
}

/** Links for a cause. */
function CauseLinks({ cause, queue }: { readonly cause: Cause; readonly queue: string }): ReactNode {
  const links = linksOf(cause, queue)
  if (links.length === 0) return null
  return (
    <span className="cause-links">
      {links.map(({ path, text }) => (
        <Link key={path} to={path} className="link small">
          {text}
        </Link>
      ))}
    </span>
  )
}

function linksOf(cause: Cause, queue: string): readonly { readonly path: string; readonly text: string }[] {
  switch (cause.cause) {
    case 'held':
      return [{ path: to.queue(queue), text: cause.hold.kind === 'block' ? 'View block' : 'View pause' }]
    case 'no-worker':
    case 'workers-busy':
      return [{ path: '/workers', text: 'View workers' }]
    case 'leased':
      return [{ path: to.worker(cause.worker), text: 'View worker' }]
    case 'occupied':
      return [{ path: to.job(cause.job), text: 'View job' }]
    case 'lane-full':
    case 'lane-waits':
      return [{ path: `${to.queue(queue)}?tab=lanes`, text: 'View lanes' }]
    case 'rate':
    case 'queue-full':
    case 'shared-full':
      return [{ path: `${to.queue(queue)}?tab=limits`, text: 'View limits' }]
    case 'behind':
      return cause.jobs.slice(0, 1).map((job) => ({ path: to.job(job), text: 'View job ahead' }))
    case 'member-of':
    case 'waits-for':
      return [{ path: to.group(cause.group), text: 'View group' }]
    default:
      return []
  }
}

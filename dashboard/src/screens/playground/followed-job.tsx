import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useApi } from '../../api/query.ts'
import { preciseClockText } from '../../format/times.ts'
import { to } from '../../router.ts'
import { Card } from '../../ui/card.tsx'
import { classes } from '../../ui/classes.ts'
import { JsonView } from '../../ui/json.tsx'
import { Loaded } from '../../ui/page-states.tsx'
import { Progress } from '../../ui/progress.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { Stack } from '../../ui/stack.tsx'
import { StateBadge } from '../../ui/state.tsx'
import { TimeAgo } from '../../ui/time.tsx'

const ENDED = ['done', 'failed', 'dead', 'cancelled']

/** The state, logs and result of an enqueued job, live. */
export function FollowedJob({
  id,
  duplicate,
}: {
  readonly id: string
  readonly duplicate: boolean
}): ReactNode {
  const request = useApi('jobs.get', { id }, { every: 1_000, keeps: false })
  const state = request.data?.job.state
  const isFinished = state !== undefined && ENDED.includes(state)
  const logs = useApi(
    'jobs.logs',
    { id, limit: 200 },
    isFinished ? { keeps: false } : { every: 1_000, keeps: false },
  )
  return (
    <Card
      title={
        <Link to={to.job(id)} className="link">
          …{id.slice(-8)}
        </Link>
      }
      actions={state && <StateBadge state={state} />}
    >
      <Loaded request={request}>
        {({ job, explanation, attempts }) => {
          const last = attempts.at(-1)
          return (
            <div className="stack" aria-live="polite">
              {duplicate && <p className="soft">Not enqueued: this existing job has the same unique key.</p>}
              {!isFinished && (
                <p className="soft">
                  <Sentence text={explanation.summary} />
                </p>
              )}
              {job.progress && !isFinished && (
                <Progress
                  label="Job progress"
                  value={job.progress.value / 100}
                  note={job.progress.note ?? undefined}
                />
              )}
              {job.state === 'done' && <JsonView value={job.result} label="Result" />}
              {last && job.state !== 'done' && (
                <>
                  <p className="small soft">
                    Attempt {last.n}, <TimeAgo at={last.at} />
                  </p>
                  <Stack stack={last.stack ?? `${last.name ?? last.kind}: ${last.message}`} />
                </>
              )}
              {logs.data && logs.data.lines.length > 0 && (
                <ol className="followed-lines" aria-label="Job logs">
                  {logs.data.lines.map(({ place, at, level, message }) => (
                    <li
                      key={place}
                      className={classes(level === 'error' && 'line-bad', level === 'warn' && 'line-warn')}
                    >
                      <span className="faint num">{preciseClockText(at)}</span> {message}
                    </li>
                  ))}
                </ol>
              )}
            </div>
          )
        }}
      </Loaded>
    </Card>
  )
}

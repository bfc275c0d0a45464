import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useApi } from '../../api/query.ts'
import { preciseClockText } from '../../format/times.ts'
import { to } from '../../router.ts'
import { Card } from '../../ui/card.tsx'
import { classes } from '../../ui/classes.ts'
import { JsonView } from '../../ui/json.tsx'
import { Progress } from '../../ui/progress.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { Stack } from '../../ui/stack.tsx'
import { StateBadge } from '../../ui/state.tsx'
import { Loaded } from '../../ui/states-of-page.tsx'
import { TimeAgo } from '../../ui/time.tsx'

const ENDED = ['done', 'failed', 'dead', 'cancelled']

/** A job that was just sent, live: its state, its lines, and what came out. */
export function FollowedJob({
  id,
  duplicate,
}: {
  readonly id: string
  readonly duplicate: boolean
}): ReactNode {
  const asked = useApi('jobs.get', { id }, { every: 1_000, keeps: false })
  const state = asked.data?.job.state
  const isOver = state !== undefined && ENDED.includes(state)
  const logs = useApi(
    'jobs.logs',
    { id, limit: 200 },
    isOver ? { keeps: false } : { every: 1_000, keeps: false },
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
      <Loaded asked={asked}>
        {({ job, explanation, attempts }) => {
          const last = attempts.at(-1)
          return (
            <div className="stack" aria-live="polite">
              {duplicate && (
                <p className="soft">
                  Its unique key was held, so nothing was enqueued: this is the job that holds it.
                </p>
              )}
              {!isOver && (
                <p className="soft">
                  <Sentence text={explanation.summary} />
                </p>
              )}
              {job.progress && !isOver && (
                <Progress
                  label="How far it is"
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
                <ol className="followed-lines" aria-label="Lines of its handler">
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

import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import type { Attempt, JobDetail } from '../../../../src/operations/schema/wire-types.ts'
import { plural } from '../../format/numbers.ts'
import { clockText, durationText } from '../../format/times.ts'
import { to } from '../../router.ts'
import { Card } from '../../ui/card.tsx'
import { Choice } from '../../ui/field.tsx'
import { EmptyState } from '../../ui/page-states.tsx'
import { Stack } from '../../ui/stack.tsx'
import { Badge } from '../../ui/state.tsx'
import { TimeAgo } from '../../ui/time.tsx'
import { diffLines } from './diff.ts'

const KINDS: Readonly<Record<Attempt['kind'], string>> = {
  error: 'error',
  timeout: 'timeout',
  lost: 'worker lost',
  snooze: 'snoozed',
  cancel: 'cancelled',
  bury: 'buried',
}

/** The failed attempts, and the difference between two of them. */
export function Attempts({
  attempts,
  job,
}: {
  readonly attempts: readonly Attempt[]
  readonly job: JobDetail['job']
}): ReactNode {
  if (attempts.length === 0) {
    return (
      <EmptyState title="No failed attempts" icon="check">
        {job.starts === 0 ? 'The job has not started yet.' : `${plural(job.starts, 'attempt')} so far.`}
      </EmptyState>
    )
  }
  return (
    <div className="stack">
      {attempts.length > 1 && <Compare attempts={attempts} />}
      {attempts.toReversed().map((attempt) => (
        <Card
          key={`${attempt.generation} ${attempt.n} ${attempt.at}`}
          title={
            <span className="row wraps">
              Attempt {attempt.n}{' '}
              <Badge tone={attempt.kind === 'snooze' ? 'special' : 'bad'}>{KINDS[attempt.kind]}</Badge>
            </span>
          }
          actions={
            <span className="small faint">
              <TimeAgo at={attempt.at} />
            </span>
          }
        >
          <AttemptFacts attempt={attempt} />
          {attempt.stack ? (
            <Stack stack={attempt.stack} />
          ) : (
            <p className="wrap-anywhere">
              {attempt.name && <strong>{attempt.name}: </strong>}
              {attempt.message}
            </p>
          )}
        </Card>
      ))}
    </div>
  )
}

/** Start, duration, worker and version of an attempt, and the manual retries before it. */
function AttemptFacts({ attempt }: { readonly attempt: Attempt }): ReactNode {
  const { startedAt, at, worker, version, generation } = attempt
  return (
    <p className="small soft row wraps">
      {startedAt && (
        <span className="num">
          {clockText(startedAt)} → {clockText(at)} ({durationText(Date.parse(at) - Date.parse(startedAt))})
        </span>
      )}
      {worker && (
        <Link to={to.worker(worker)} className="link" title={worker}>
          worker …{worker.slice(-8)}
        </Link>
      )}
      {version && <Badge>version {version}</Badge>}
      {generation > 0 && <span>after {plural(generation, 'manual retry', 'manual retries')}</span>}
    </p>
  )
}

function textOf({ name, message, stack }: Attempt): string {
  return stack ?? `${name ?? 'Error'}: ${message}`
}

function Compare({ attempts }: { readonly attempts: readonly Attempt[] }): ReactNode {
  const last = attempts.length - 1
  const [left, setLeft] = useState(last - 1)
  const [right, setRight] = useState(last)
  const a = attempts[Math.min(left, last)] as Attempt
  const b = attempts[Math.min(right, last)] as Attempt
  const lines = diffLines(textOf(a), textOf(b))
  const isSame = lines.every(({ sign }) => sign === ' ')
  const options = attempts.map(({ n }, index) => (
    <option key={`${n} ${attempts[index]?.at}`} value={index}>
      Attempt {n}
    </option>
  ))
  return (
    <Card
      title="What changed"
      actions={
        <>
          <Choice bare label="From" value={left} onChange={(event) => setLeft(Number(event.target.value))}>
            {options}
          </Choice>
          <span className="faint">→</span>
          <Choice bare label="To" value={right} onChange={(event) => setRight(Number(event.target.value))}>
            {options}
          </Choice>
        </>
      }
    >
      {isSame ? (
        <p className="soft">Both attempts ended with the same error.</p>
      ) : (
        <pre className="diff">
          {lines.map(({ sign, text }, index) => (
            <span
              // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place
              key={index}
              className={sign === '+' ? 'diff-plus' : sign === '-' ? 'diff-minus' : 'diff-same'}
            >
              {sign} {text}
              {'\n'}
            </span>
          ))}
        </pre>
      )}
    </Card>
  )
}

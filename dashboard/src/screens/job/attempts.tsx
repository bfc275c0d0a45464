import { type ReactNode, useState } from 'react'
import type { Attempt, JobDetail } from '../../../../src/server/api.ts'
import { Card } from '../../ui/card.tsx'
import { Choice } from '../../ui/field.tsx'
import { Stack } from '../../ui/stack.tsx'
import { Badge } from '../../ui/state.tsx'
import { EmptyState } from '../../ui/states-of-page.tsx'
import { TimeAgo } from '../../ui/time.tsx'
import { diffLines } from './diff.ts'

const KINDS: Readonly<Record<Attempt['kind'], string>> = {
  error: 'threw an error',
  timeout: 'ran out of time',
  lost: 'lost its worker',
  snooze: 'was put off',
  cancel: 'was cancelled',
  bury: 'was buried',
}

/** The runs that ended badly, and in what two of them differ. */
export function Attempts({
  attempts,
  job,
}: {
  readonly attempts: readonly Attempt[]
  readonly job: JobDetail['job']
}): ReactNode {
  if (attempts.length === 0) {
    return (
      <EmptyState title="No run of it ended badly" icon="check">
        {job.starts === 0
          ? 'It has not been started yet.'
          : `It was started ${job.starts === 1 ? 'once' : `${job.starts} times`}.`}
      </EmptyState>
    )
  }
  return (
    <div className="stack">
      {attempts.length > 1 && <Compare attempts={attempts} />}
      {attempts.toReversed().map((attempt) => (
        <Card
          key={`${attempt.n} ${attempt.at}`}
          title={
            <span className="row wraps">
              Run {attempt.n}{' '}
              <Badge tone={attempt.kind === 'snooze' ? 'special' : 'bad'}>{KINDS[attempt.kind]}</Badge>
            </span>
          }
          actions={
            <span className="small faint">
              <TimeAgo at={attempt.at} />
            </span>
          }
        >
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
      Run {n}
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
        <p className="soft">Both runs ended with the very same error.</p>
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

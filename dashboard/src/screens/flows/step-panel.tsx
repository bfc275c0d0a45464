import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { to } from '../../router.ts'
import { Button } from '../../ui/button.tsx'
import { Card, Facts } from '../../ui/card.tsx'
import { TimeAgo } from '../../ui/time.tsx'
import { aboutText, KIND_WORDS, MARK_WORDS } from './marks.tsx'
import type { TreeStep } from './step-tree.ts'

/** Finds a step anywhere in the tree. */
export function stepOf(steps: readonly TreeStep[], id: string): TreeStep | null {
  for (const step of steps) {
    if (step.id === id) return step
    for (const way of step.ways) {
      const found = stepOf(way.steps, id)
      if (found) return found
    }
  }
  return null
}

/** What is known about one step. */
export function StepPanel({
  step,
  onRetry,
}: {
  readonly step: TreeStep
  /** Null: it cannot be begun again from here, or not by whoever looks. */
  readonly onRetry: ((name: string) => void) | null
}): ReactNode {
  return (
    <Card
      title={step.name}
      actions={
        onRetry && (
          <Button small icon="retry" onClick={() => onRetry(step.name)}>
            Retry from here
          </Button>
        )
      }
    >
      <Facts
        facts={[
          ['What it is', KIND_WORDS[step.kind]],
          step.mark !== null && ['How it stands', MARK_WORDS[step.mark]],
          step.members !== null && ['Members', aboutText(step)],
          step.queue !== null && [
            'Queue',
            <Link key="queue" to={to.queue(step.queue)} className="link">
              {step.queue}
            </Link>,
          ],
          step.flow !== null && ['Flow', step.flow],
          step.runId !== null && [
            'Run',
            <Link key="run" to={to.run(step.runId)} className="link">
              …{step.runId.slice(-8)}
            </Link>,
          ],
          step.jobId !== null && [
            'Job',
            <Link key="job" to={to.job(step.jobId)} className="link">
              …{step.jobId.slice(-8)}
            </Link>,
          ],
          step.until !== null && ['Until', <TimeAgo key="until" at={step.until} />],
          step.note !== null && step.members === null && ['More', step.note],
          step.join !== null && ['Join', step.join],
          step.undo !== null && ['Taken back by', step.undo],
          step.isCritical && step.mark !== 'done' && ['Longest way', 'It decides when the run ends.'],
        ]}
      />
    </Card>
  )
}

import { type ReactNode, useEffect, useRef } from 'react'
import { Link } from 'wouter'
import { to } from '../../router.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { Facts } from '../../ui/card.tsx'
import { TimeAgo } from '../../ui/time.tsx'
import { aboutText, KIND_LABELS, MARK_LABELS } from './step-labels.tsx'
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

/** Details of one step, beside the graph or below it on narrow screens. Scrolls into view when opened. */
export function StepPanel({
  step,
  onRetry,
  onClose,
}: {
  readonly step: TreeStep
  /** Null if the run cannot be retried from this step, or not by this user. */
  readonly onRetry: ((name: string) => void) | null
  readonly onClose: () => void
}): ReactNode {
  const panel = useRef<HTMLElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another step can have a taller panel
  useEffect(() => {
    panel.current?.scrollIntoView({ block: 'nearest' })
  }, [step.id])
  return (
    <section className="step-panel" ref={panel} aria-label={`Step ${step.name}`}>
      <header className="step-panel-head">
        <h3 className="wrap-anywhere">{step.name}</h3>
        <IconButton label="Close" icon="close" small onClick={onClose} />
      </header>
      {onRetry && (
        <Button small icon="retry" onClick={() => onRetry(step.name)}>
          Retry from here
        </Button>
      )}
      <Facts
        facts={[
          ['Type', KIND_LABELS[step.kind]],
          step.mark !== null && ['Status', MARK_LABELS[step.mark]],
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
          step.note !== null && step.members === null && ['Details', step.note],
          step.join !== null && ['Join', step.join],
          step.undo !== null && ['Undone by', step.undo],
          step.isCritical &&
            step.mark !== 'done' && ['Critical path', 'This step decides when the run ends.'],
        ]}
      />
    </section>
  )
}

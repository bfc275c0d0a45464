import type { ReactNode } from 'react'
import { useUrlParam } from '../../router.ts'
import { Card } from '../../ui/card.tsx'
import { classes } from '../../ui/classes.ts'
import { Skeleton } from '../../ui/page-states.tsx'
import { Segments } from '../../ui/tabs.tsx'
import { useGraph } from './lazy-graph.ts'
import { MARK_LABELS, MarkShape } from './step-labels.tsx'
import { StepList } from './step-list.tsx'
import { StepPanel, stepOf } from './step-panel.tsx'
import type { Mark, TreeStep } from './step-tree.ts'
import './flows.css'

const SHOWN_MARKS: readonly Mark[] = ['done', 'current', 'waits', 'failed', 'todo', 'skipped']

/** The steps as a graph and a list, with details of the selected step. */
export function FlowDiagram({
  steps,
  onRetry,
}: {
  readonly steps: readonly TreeStep[]
  readonly onRetry: ((name: string) => void) | null
}): ReactNode {
  const [view, setView] = useUrlParam<'both' | 'list'>('view', 'both')
  const [chosen, setChosen] = useUrlParam<string>('step', '')
  const Graph = useGraph()
  const step = chosen === '' ? null : stepOf(steps, chosen)
  const hasRun = steps.some(({ mark }) => mark !== null)
  return (
    <Card
      flush
      title="Steps"
      actions={
        <Segments
          label="View"
          value={view}
          onChange={setView}
          options={[
            { value: 'both', label: 'Graph' },
            { value: 'list', label: 'List' },
          ]}
        />
      }
    >
      <div
        className={classes(
          'flow-diagram',
          view === 'list' && 'flow-diagram-list',
          step && 'flow-diagram-panel',
        )}
      >
        <StepList steps={steps} selected={chosen || null} onSelect={setChosen} />
        {view === 'both' && (
          <div className="flow-place">
            {Graph === null ? (
              <Skeleton height={320} />
            ) : (
              <Graph steps={steps} selected={chosen || null} onSelect={(id) => setChosen(id ?? '')} />
            )}
          </div>
        )}
        {step && <StepPanel step={step} onRetry={onRetry} onClose={() => setChosen('')} />}
      </div>
      {hasRun && (
        <div className="flow-legend small soft">
          {SHOWN_MARKS.map((mark) => (
            <span key={mark} className={`row step-${mark}`}>
              <span className="step-sign">
                <MarkShape mark={mark} />
              </span>
              {MARK_LABELS[mark]}
            </span>
          ))}
          <span className="row">
            <span className="flow-legend-line" /> critical path
          </span>
        </div>
      )}
    </Card>
  )
}

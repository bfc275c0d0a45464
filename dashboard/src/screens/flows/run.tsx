import { replaceEqualDeep } from '@tanstack/react-query'
import { type ReactNode, useMemo, useRef, useState } from 'react'
import { Link, useParams } from 'wouter'
import type { RunDetail } from '../../../../src/operations/schema/wire-types.ts'
import { useCan } from '../../api/me.ts'
import { useApi } from '../../api/query.ts'
import { durationText } from '../../format/times.ts'
import { to } from '../../router.ts'
import { Page } from '../../shell/page.tsx'
import { Card, Facts } from '../../ui/card.tsx'
import { Id } from '../../ui/code.tsx'
import { JsonView } from '../../ui/json.tsx'
import { EmptyState, Loaded } from '../../ui/page-states.tsx'
import { Progress } from '../../ui/progress.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { Badge, StateBadge } from '../../ui/state.tsx'
import { Duration, TimeAgo } from '../../ui/time.tsx'
import { causeLinks } from '../shared/cause-links.ts'
import { Notice } from '../shared/notice.tsx'
import { FlowDiagram } from './flow-diagram.tsx'
import { useGraph } from './lazy-graph.ts'
import type { StepOutline } from './outline.ts'
import { RunActions } from './run-actions.tsx'
import { RunMembersCard } from './run-members.tsx'
import { type TreeStep, treeOf } from './step-tree.ts'
import './flows.css'

/** One run of a flow: its current step, state and result. */
export function RunScreen(): ReactNode {
  const { id } = useParams<{ id: string }>()
  const request = useApi('runs.get', { id }, { every: 5_000 })
  const [retryFrom, setRetryFrom] = useState<string | null>(null)
  useGraph()
  return (
    <Loaded request={request}>
      {(detail) => (
        <Page
          title={
            <span className="row wraps">
              {detail.run.flow} <StateBadge state={detail.run.status} />
              {detail.run.position.isUndoing && <Badge tone="warn">compensating</Badge>}
            </span>
          }
          name={`${detail.run.flow} run`}
          above={{ to: '/flows', text: 'Flows' }}
          actions={<RunActions detail={detail} retryFrom={retryFrom} onRetryFrom={setRetryFrom} />}
        >
          <Body detail={detail} onRetryFrom={setRetryFrom} />
        </Page>
      )}
    </Loaded>
  )
}

/** The steps of a run: of its flow, or of its branch. */
export function stepsOf({ flow, run }: Pick<RunDetail, 'flow' | 'run'>): readonly StepOutline[] | null {
  if (!flow?.outline) return null
  return flow.name === run.flow ? flow.outline.steps : (branchSteps(flow.outline.steps, run.flow) ?? null)
}

function branchSteps(steps: readonly StepOutline[], name: string): readonly StepOutline[] | undefined {
  for (const step of steps) {
    const works =
      step.kind === 'parallel'
        ? step.branches.map(({ work }) => work)
        : step.kind === 'step' || step.kind === 'each'
          ? [step.work]
          : []
    for (const work of works) {
      if (!('branch' in work)) continue
      if (work.branch === name) return work.steps
      const found = branchSteps(work.steps, name)
      if (found) return found
    }
    const inside = step.kind === 'when' ? [...step.yes, ...step.no] : step.kind === 'repeat' ? step.body : []
    const found = branchSteps(inside, name)
    if (found) return found
  }
  return undefined
}

function Body({
  detail,
  onRetryFrom,
}: {
  readonly detail: RunDetail
  readonly onRetryFrom: (step: string) => void
}): ReactNode {
  const { run, explanation } = detail
  const canOperate = useCan('operate')
  const before = useRef<readonly TreeStep[] | null>(null)
  const tree = useMemo((): readonly TreeStep[] | null => {
    const steps = stepsOf(detail)
    // Unchanged steps keep their identity, so that only changed ones re-render. There may be a thousand.
    before.current = replaceEqualDeep(before.current, steps && treeOf(steps, detail, durationText))
    return before.current
  }, [detail])
  return (
    <>
      <Notice
        tone={run.status === 'failed' ? 'bad' : 'plain'}
        icon={run.status === 'failed' ? 'errors' : run.status === 'done' ? 'check' : 'info'}
      >
        <Sentence text={explanation.summary} links={causeLinks(explanation.causes)} />
      </Notice>
      {run.progress !== null && run.status === 'running' && (
        <Progress label="Run progress" value={run.progress} />
      )}
      {tree === null ? (
        <Card title="Steps">
          <EmptyState title="No worker has published this flow" icon="flows">
            A worker publishes the steps of its flows when it starts.
          </EmptyState>
        </Card>
      ) : (
        <FlowDiagram steps={tree} onRetry={canOperate && run.status !== 'done' ? onRetryFrom : null} />
      )}
      <RunMembersCard detail={detail} />
      <div className="run-columns">
        <Card title="Run state">
          <JsonView value={run.state} label="State" open={1} />
        </Card>
        <div className="stack loose">
          <Card title="Details">
            <RunFacts detail={detail} />
          </Card>
          {run.status === 'done' && (
            <Card title="Result">
              <JsonView value={run.result} label="Result" open={1} />
            </Card>
          )}
        </div>
      </div>
    </>
  )
}

function RunFacts({ detail: { run, branches } }: { readonly detail: RunDetail }): ReactNode {
  return (
    <Facts
      facts={[
        [
          'Flow',
          <Link key="flow" to={`/flows/${encodeURIComponent(run.flow)}`} className="link">
            {run.flow} v{run.version}
          </Link>,
        ],
        ['Current step', run.position.step ?? (run.endedAt === null ? 'not started' : 'completed')],
        ['Started', <TimeAgo key="started" at={run.startedAt} />],
        run.endedAt === null
          ? ['Running for', <Duration key="takes" since={run.startedAt} />]
          : ['Took', <Duration key="took" ms={Date.parse(run.endedAt) - Date.parse(run.startedAt)} />],
        run.attributes.length > 0 && [
          'Attributes',
          <span key="attributes" className="row wraps">
            {run.attributes.map((attribute) => (
              <Link
                key={attribute}
                to={`/flows?attribute=${encodeURIComponent(attribute.replace(':', '='))}`}
              >
                <Badge>{attribute}</Badge>
              </Link>
            ))}
          </span>,
        ],
        run.branchOf !== null && [
          'Branch of',
          <Link key="root" to={to.run(run.branchOf.root)} className="link">
            root run
          </Link>,
        ],
        branches.length > 0 && [
          'Branches',
          <span key="branches" className="row wraps">
            {branches.map(({ id, name, status }) => (
              <Link key={id} to={to.run(id)} className="row" title={`${name} is ${status}`}>
                <StateBadge state={status} bare /> <span className="link">{name}</span>
              </Link>
            ))}
          </span>,
        ],
        ['Run', <Id key="id" text={run.id} />],
      ]}
    />
  )
}

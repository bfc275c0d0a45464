import { type ReactNode, useMemo } from 'react'
import { Link, useParams } from 'wouter'
import { useApi } from '../../api/query.ts'
import { capitalized } from '../../format/capitalized.ts'
import { durationText } from '../../format/times.ts'
import { useUrlParam } from '../../router.ts'
import { Page } from '../../shell/page.tsx'
import { Figure } from '../../ui/card.tsx'
import { Count } from '../../ui/count.tsx'
import { Choice } from '../../ui/field.tsx'
import { EmptyState, Loaded } from '../../ui/page-states.tsx'
import { FlowDiagram } from './flow-diagram.tsx'
import { useGraph } from './lazy-graph.ts'
import { type FlowView, RUN_STATUSES } from './outline.ts'
import { treeOf } from './step-tree.ts'

/** The definition of a flow and its run counts. */
export function FlowScreen(): ReactNode {
  const { name } = useParams<{ name: string }>()
  const flows = useApi('flows.list', {})
  useGraph()
  return (
    <Loaded request={flows}>
      {({ flows: all }) => {
        const versions = all.filter((flow) => flow.name === name)
        return versions.length === 0 ? (
          <Page title={name} name={name} above={{ to: '/flows', text: 'Flows' }}>
            <EmptyState title="Flow not found" icon="flows">
              No worker has published this flow, and it has no runs.
            </EmptyState>
          </Page>
        ) : (
          <FlowBody name={name} versions={versions} />
        )
      }}
    </Loaded>
  )
}

function FlowBody({
  name,
  versions,
}: {
  readonly name: string
  readonly versions: readonly FlowView[]
}): ReactNode {
  const newest = versions.at(-1) as FlowView
  const [version, setVersion] = useUrlParam('version', String(newest.version))
  const flow = versions.find((one) => String(one.version) === version) ?? newest
  const tree = useMemo(() => flow.outline && treeOf(flow.outline.steps, null, durationText), [flow])
  return (
    <Page
      title={name}
      name={name}
      above={{ to: '/flows', text: 'Flows' }}
      actions={
        versions.length > 1 && (
          <Choice
            label="Version"
            bare
            value={String(flow.version)}
            onChange={(event) => setVersion(event.target.value)}
          >
            {versions.map((one) => (
              <option key={one.version} value={String(one.version)}>
                Version {one.version}
              </option>
            ))}
          </Choice>
        )
      }
    >
      <div className="figures">
        {RUN_STATUSES.map((status) => (
          <Figure
            key={status}
            label={capitalized(status)}
            {...(status === 'failed' && flow.runs.failed > 0 ? { tone: 'bad' as const } : {})}
          >
            <Link to={`/flows?flow=${encodeURIComponent(name)}&status=${status}`}>
              <Count value={flow.runs[status]} />
            </Link>
          </Figure>
        ))}
      </div>
      {tree ? (
        <FlowDiagram steps={tree} onRetry={null} />
      ) : (
        <EmptyState title="No worker has published this version" icon="flows">
          A worker publishes the steps of its flows when it starts.
        </EmptyState>
      )}
    </Page>
  )
}

import { type ReactNode, useMemo } from 'react'
import { Link, useParams } from 'wouter'
import { useApi } from '../../api/query.ts'
import { durationText } from '../../format/times.ts'
import { useWord } from '../../router.ts'
import { Page } from '../../shell/page.tsx'
import { Figure } from '../../ui/card.tsx'
import { Count } from '../../ui/count.tsx'
import { Choice } from '../../ui/field.tsx'
import { EmptyState, Loaded } from '../../ui/states-of-page.tsx'
import { FlowPicture } from './flow-picture.tsx'
import { useGraph } from './lazy-graph.ts'
import { type FlowView, RUN_STATUSES } from './outline.ts'
import { treeOf } from './step-tree.ts'

/** How a flow looks, and how many runs it has. */
export function FlowScreen(): ReactNode {
  const { name } = useParams<{ name: string }>()
  const flows = useApi('flows.list', {})
  useGraph()
  return (
    <Loaded asked={flows}>
      {({ flows: all }) => {
        const versions = all.filter((flow) => flow.name === name)
        return versions.length === 0 ? (
          <Page title={name} name={name} above={{ to: '/flows', text: 'Flows' }}>
            <EmptyState title="There is no such flow" icon="flows">
              Nobody has told how it looks, and it has no runs.
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
  const [version, setVersion] = useWord('version', String(newest.version))
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
            label={status}
            {...(status === 'failed' && flow.runs.failed > 0 ? { tone: 'bad' as const } : {})}
          >
            <Link to={`/flows?flow=${encodeURIComponent(name)}&status=${status}`}>
              <Count value={flow.runs[status]} />
            </Link>
          </Figure>
        ))}
      </div>
      {tree ? (
        <FlowPicture steps={tree} onRetry={null} />
      ) : (
        <EmptyState title="No worker has published this version" icon="flows">
          A worker that has this version publishes its steps when it starts.
        </EmptyState>
      )}
    </Page>
  )
}

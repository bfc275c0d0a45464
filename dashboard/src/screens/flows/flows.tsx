import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { usePages } from '../../api/pages.ts'
import { useApi } from '../../api/query.ts'
import { capitalized } from '../../format/capitalized.ts'
import { to, useGo, useUrlParam } from '../../router.ts'
import { Page } from '../../shell/page.tsx'
import { Card } from '../../ui/card.tsx'
import { CodeBlock } from '../../ui/code.tsx'
import { Count } from '../../ui/count.tsx'
import { Choice, Field } from '../../ui/field.tsx'
import { EmptyState, Loaded } from '../../ui/page-states.tsx'
import { Pager } from '../../ui/pager.tsx'
import { StateBadge } from '../../ui/state.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Segments } from '../../ui/tabs.tsx'
import { Duration, TimeAgo } from '../../ui/time.tsx'
import { type FlowView, RUN_STATUSES, type RunStatus, type RunView } from './outline.ts'
import './flows.css'

/** Flow definitions and runs. */
export function FlowsScreen(): ReactNode {
  const flows = useApi('flows.list', {}, { every: 15_000 })
  return (
    <Page title="Flows" name="Flows">
      <Loaded request={flows}>
        {({ flows: all, isAll }) =>
          all.length === 0 ? (
            <NoFlows />
          ) : (
            <>
              <Definitions flows={all} isAll={isAll} />
              <Runs flows={all} />
            </>
          )
        }
      </Loaded>
    </Page>
  )
}

function Definitions({
  flows,
  isAll,
}: {
  readonly flows: readonly FlowView[]
  readonly isAll: boolean
}): ReactNode {
  const go = useGo()
  const columns: readonly Column<FlowView>[] = [
    {
      id: 'flow',
      title: 'Flow',
      width: 'minmax(10rem, 2fr)',
      cell: ({ name, version }) => (
        <span className="row">
          <strong className="cut">{name}</strong> <span className="faint small">v{version}</span>
        </span>
      ),
    },
    {
      id: 'steps',
      title: 'Steps',
      width: '5rem',
      align: 'end',
      wideOnly: true,
      cell: ({ outline }) =>
        outline === null ? <span className="faint">?</span> : <Count value={outline.steps.length} />,
    },
    ...RUN_STATUSES.map((status) => ({
      id: status,
      title: capitalized(status),
      width: '6rem',
      align: 'end' as const,
      wideOnly: status === 'done' || status === 'cancelled',
      cell: ({ name, runs }: FlowView) =>
        runs[status] === 0 ? (
          <Count value={0} />
        ) : (
          <Link to={`/flows?flow=${encodeURIComponent(name)}&status=${status}`} className="link">
            <Count value={runs[status]} />
          </Link>
        ),
    })),
  ]
  return (
    <Card
      flush
      title="Definitions"
      actions={isAll ? null : <span className="small faint">counted from the newest 100,000 runs</span>}
    >
      <div className="flow-table">
        <Table
          label="Flows"
          rows={flows}
          columns={columns}
          keyOf={({ name, version }) => `${name} ${version}`}
          onOpen={({ name, version }) => go(`/flows/${encodeURIComponent(name)}?version=${version}`)}
        />
      </div>
    </Card>
  )
}

const RUN_COLUMNS: readonly Column<RunView>[] = [
  { id: 'status', title: 'Status', width: '7rem', cell: ({ status }) => <StateBadge state={status} /> },
  {
    id: 'flow',
    title: 'Flow',
    width: 'minmax(7rem, 1.5fr)',
    cell: ({ flow, version }) => (
      <span>
        {flow} <span className="faint small">v{version}</span>
      </span>
    ),
  },
  {
    id: 'step',
    title: 'Current step',
    width: 'minmax(8rem, 2fr)',
    wideOnly: true,
    cell: ({ position: { step, waits }, failure }) => (
      <span title={failure?.message}>
        {step ?? <span className="faint">–</span>}
        {waits && waits.size > 1 && (
          <span className="faint num">
            {' '}
            {waits.done} of {waits.size}
          </span>
        )}
      </span>
    ),
  },
  {
    id: 'progress',
    title: 'Progress',
    width: '5.5rem',
    align: 'end',
    wideOnly: true,
    cell: ({ progress }) =>
      progress === null ? (
        <span className="faint">–</span>
      ) : (
        <span className="num">{Math.round(progress * 100)} %</span>
      ),
  },
  {
    id: 'attributes',
    title: 'Attributes',
    width: 'minmax(7rem, 1.5fr)',
    wideOnly: true,
    cell: ({ attributes }) => <span className="soft">{attributes.join(', ')}</span>,
  },
  { id: 'started', title: 'Started', width: '7rem', cell: ({ startedAt }) => <TimeAgo at={startedAt} /> },
  {
    id: 'took',
    title: 'Took',
    width: '6rem',
    align: 'end',
    wideOnly: true,
    cell: ({ startedAt, endedAt }) =>
      endedAt === null ? (
        <Duration since={startedAt} />
      ) : (
        <Duration ms={Date.parse(endedAt) - Date.parse(startedAt)} />
      ),
  },
]

function Runs({ flows }: { readonly flows: readonly FlowView[] }): ReactNode {
  const [flow, setFlow] = useUrlParam<string>('flow', '')
  const [status, setStatus] = useUrlParam<RunStatus | 'any'>('status', 'any')
  const [attribute, setAttribute] = useUrlParam<string>('attribute', '')
  const go = useGo()
  const names = [...new Set(flows.map(({ name }) => name))]
  const runs = usePages(
    'runs.list',
    {
      limit: 50,
      ...(flow === '' ? {} : { flow }),
      ...(status === 'any' ? {} : { status }),
      ...(attribute.includes('=') ? { attribute } : {}),
    },
    (output) => output.runs,
    { every: 5_000 },
  )
  return (
    <section className="stack" aria-label="Runs">
      <h2>Runs</h2>
      <div className="row wraps run-filters">
        <Choice label="Flow" bare value={flow} onChange={(event) => setFlow(event.target.value)}>
          <option value="">All flows</option>
          {names.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </Choice>
        <Segments
          label="Status"
          value={status}
          onChange={setStatus}
          options={[
            { value: 'any', label: 'All' },
            ...RUN_STATUSES.map((value) => ({ value, label: capitalized(value) })),
          ]}
        />
        <Field
          label="Attribute"
          bare
          type="search"
          placeholder="Attribute: orderId=62"
          value={attribute}
          data-search
          onChange={(event) => setAttribute(event.target.value)}
        />
      </div>
      <Loaded request={runs}>
        {(items) =>
          items.length === 0 ? (
            <EmptyState title="No matching runs" icon="flows">
              Completed runs are kept for three days.
              <CodeBlock
                code={
                  'const run = await skep.start(fulfil, { orderId: 62 }, { attributes: { orderId: 62 } })'
                }
              />
            </EmptyState>
          ) : (
            <Table
              label="Runs"
              rows={items}
              columns={RUN_COLUMNS}
              keyOf={({ id }) => id}
              onOpen={({ id }) => go(to.run(id))}
              footer={runs.hasMore && <Pager hasMore busy={runs.isBusy} onMore={runs.more} />}
            />
          )
        }
      </Loaded>
    </section>
  )
}

function NoFlows(): ReactNode {
  return (
    <EmptyState title="No flows" icon="flows">
      A flow is a durable sequence of steps that share a state. It survives crashes and can wait for days
      without occupying a worker. This page shows the progress of each run.
      <CodeBlock
        code={
          "const fulfil = flow('fulfil', (f) =>\n  f\n    .step(reserve, { undo: release })\n    .each('boxes', pack, ({ state }) => state.items)\n    .step(ship),\n)\n\nskep.worker([fulfil, …])\nawait skep.start(fulfil, { orderId: 62 })"
        }
      />
    </EmptyState>
  )
}

import { type ReactNode, useMemo, useState } from 'react'
import { Link } from 'wouter'
import type { QueueSummary } from '../../../../src/operations/schema/wire-types.ts'
import { useCan } from '../../api/me.ts'
import { useAct, useApi } from '../../api/query.ts'
import { to, useGo, useUrlParam } from '../../router.ts'
import { Page } from '../../shell/page.tsx'
import { CodeBlock } from '../../ui/code.tsx'
import { Count, Rate } from '../../ui/count.tsx'
import { Field } from '../../ui/field.tsx'
import { Menu } from '../../ui/menu.tsx'
import { EmptyState, Loaded } from '../../ui/page-states.tsx'
import { Sparkline } from '../../ui/spark.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Segments } from '../../ui/tabs.tsx'
import { Duration } from '../../ui/time.tsx'
import { HoldBadge, UnhandledBadge } from './hold-badge.tsx'
import { HoldDialog, type HoldRequest } from './hold-dialog.tsx'
import { Usage } from './usage.tsx'

type Only = 'all' | 'waiting' | 'held' | 'dead' | 'unhandled'

const ONLY: Readonly<Record<Only, (queue: QueueSummary) => boolean>> = {
  all: () => true,
  waiting: ({ counts }) => counts.ready > 0,
  held: ({ hold }) => hold !== null,
  dead: ({ counts }) => counts.dead > 0,
  unhandled: ({ unhandled }) => unhandled > 0,
}

/** All queues with their counts, rates, pauses and workers. */
export function QueuesScreen(): ReactNode {
  const request = useApi('queues.list', {})
  return (
    <Page title="Queues" name="Queues" full>
      <Loaded request={request}>
        {({ queues }) => (queues.length === 0 ? <NoQueues /> : <QueueTable queues={queues} />)}
      </Loaded>
    </Page>
  )
}

function QueueTable({ queues }: { readonly queues: readonly QueueSummary[] }): ReactNode {
  const go = useGo()
  const mayOperate = useCan('operate')
  const [find, setFind] = useUrlParam<string>('find', '')
  const [only, setOnly] = useUrlParam<Only>('only', 'all')
  const [holding, setHolding] = useState<HoldRequest | null>(null)
  const resume = useAct('holds.resume', { success: (_, { queue }) => `${queue} resumed` })
  const shown = useMemo(
    () =>
      queues
        .filter(
          (queue) =>
            queue.queue.toLowerCase().includes(find.toLowerCase()) && (ONLY[only] ?? ONLY.all)(queue),
        )
        .toSorted((a, b) => (a.queue < b.queue ? -1 : 1)),
    [queues, find, only],
  )
  const columns: readonly Column<QueueSummary>[] = [
    {
      id: 'queue',
      title: 'Queue',
      width: 'minmax(11rem, 2fr)',
      cell: ({ queue, hold, holds, unhandled }) => (
        <span className="row">
          <Link to={to.queue(queue)} className="strong cut" title={queue}>
            {queue}
          </Link>
          <HoldBadge hold={hold} holds={holds} />
          <UnhandledBadge unhandled={unhandled} />
        </span>
      ),
    },
    {
      id: 'ready',
      title: 'Waiting',
      width: '4.75rem',
      align: 'end',
      cell: ({ counts }) => <Count value={counts.ready} />,
    },
    {
      id: 'running',
      title: 'Running',
      width: '4.75rem',
      align: 'end',
      cell: ({ counts }) => <Count value={counts.running} />,
    },
    {
      id: 'delayed',
      title: 'Delayed',
      width: '5rem',
      align: 'end',
      roomyOnly: true,
      cell: ({ counts }) => <Count value={counts.delayed} />,
    },
    {
      id: 'dead',
      title: 'Dead',
      width: '4rem',
      align: 'end',
      wideOnly: true,
      cell: ({ counts }) => (
        <span className={counts.dead > 0 ? 'bad-number' : undefined}>
          <Count value={counts.dead} />
        </span>
      ),
    },
    {
      id: 'oldest',
      title: 'Oldest',
      width: '5rem',
      align: 'end',
      wideOnly: true,
      cell: ({ oldestMs }) => <Duration ms={oldestMs} />,
    },
    {
      id: 'done',
      title: 'Done',
      width: '4.75rem',
      align: 'end',
      wideOnly: true,
      cell: ({ doneRate }) => <Rate value={doneRate} />,
    },
    {
      id: 'failed',
      title: 'Failed',
      width: '4.75rem',
      align: 'end',
      roomyOnly: true,
      cell: ({ failedRate }) => <Rate value={failedRate} />,
    },
    {
      id: 'usage',
      title: 'Slots in use',
      width: '6rem',
      wideOnly: true,
      cell: ({ counts, slots, workers }) => (
        <Usage running={counts.running} slots={slots} workers={workers} />
      ),
    },
    {
      id: 'spark',
      title: 'Last 15 min',
      width: '6.5rem',
      roomyOnly: true,
      cell: ({ spark, queue }) => <Sparkline values={spark} label={`Completed jobs of ${queue}`} />,
    },
    ...(mayOperate
      ? [
          {
            id: 'act',
            title: <span className="unseen">Actions</span>,
            width: '3.5rem',
            cell: ({ queue, hold }: QueueSummary) => (
              <Menu
                label={`Actions for ${queue}`}
                icon="more"
                look="quiet"
                small
                items={[
                  hold === 'pause'
                    ? { label: 'Resume', icon: 'play', onSelect: () => resume.mutate({ queue }) }
                    : {
                        label: 'Pause …',
                        icon: 'pause',
                        onSelect: () => setHolding({ kind: 'pause', queue }),
                      },
                  { label: 'View jobs', icon: 'jobs', onSelect: () => go(to.jobs(`queue:${queue}`)) },
                ]}
              />
            ),
          },
        ]
      : []),
  ]
  return (
    <>
      <div className="row wraps">
        <div className="find">
          <Field
            bare
            label="Filter queues"
            placeholder="Filter queues"
            value={find}
            data-search
            onChange={(event) => setFind(event.target.value)}
          />
        </div>
        <Segments
          label="Show queues"
          value={only}
          onChange={setOnly}
          options={[
            { value: 'all', label: 'All' },
            { value: 'waiting', label: 'Waiting' },
            { value: 'held', label: 'Paused or blocked' },
            { value: 'dead', label: 'With dead jobs' },
            { value: 'unhandled', label: 'Unhandled' },
          ]}
        />
        <span className="faint small num">
          {shown.length} of {queues.length}
        </span>
      </div>
      <div className="fill">
        <Table
          rows={shown}
          columns={columns}
          keyOf={({ queue }) => queue}
          label="Queues"
          onOpen={({ queue }) => go(to.queue(queue))}
          rowHeight={44}
          footer={shown.length === 0 && <EmptyState title="No matching queues" icon="filter" />}
        />
      </div>
      {holding && <HoldDialog {...holding} onClose={() => setHolding(null)} />}
    </>
  )
}

const DECLARE = `const mail = queue<{ to: string }>('mail')

await skep.enqueue(mail, { to: 'ada@example.org' })`

function NoQueues(): ReactNode {
  return (
    <EmptyState title="No queues yet" icon="queues">
      <p>A queue appears with its first job or worker. No setup is needed.</p>
      <CodeBlock code={DECLARE} />
    </EmptyState>
  )
}

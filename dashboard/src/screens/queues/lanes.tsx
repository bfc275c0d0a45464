import { type ReactNode, useState } from 'react'
import type { LaneSummary } from '../../../../src/operations/schema/wire-types.ts'
import { useCan } from '../../api/me.ts'
import { usePages } from '../../api/pages.ts'
import { useAct } from '../../api/query.ts'
import { countText } from '../../format/numbers.ts'
import { to, useGo, useUrlParam } from '../../router.ts'
import { CodeBlock } from '../../ui/code.tsx'
import { Count } from '../../ui/count.tsx'
import { Field } from '../../ui/field.tsx'
import { Menu } from '../../ui/menu.tsx'
import { EmptyState, ErrorState, Skeleton } from '../../ui/page-states.tsx'
import { Pager } from '../../ui/pager.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { Badge } from '../../ui/state.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { HoldDialog, type HoldRequest } from './hold-dialog.tsx'
import { LimitDialog } from './limit-dialog.tsx'

/** The active lanes, and what each waits for. */
export function LanesTab({ queue }: { readonly queue: string }): ReactNode {
  const go = useGo()
  const [wanted, setWanted] = useUrlParam<string>('lane', '')
  const mayOperate = useCan('operate')
  const [holding, setHolding] = useState<HoldRequest | null>(null)
  const [limiting, setLimiting] = useState<string | null>(null)
  const resume = useAct('holds.resume', { success: (_, { lane }) => `Lane ${lane} resumed` })
  const request = usePages(
    'queues.lanes',
    { queue, limit: 100, ...(wanted === '' ? {} : { prefix: wanted }) },
    ({ lanes }) => lanes,
  )
  if (request.error && !request.data)
    return <ErrorState error={request.error} onRetry={() => void request.refetch()} />
  if (!request.data) return <Skeleton lines={6} />
  const lanes = request.data
  if (lanes.length === 0 && wanted === '') return <NoLanes />
  const columns: readonly Column<LaneSummary>[] = [
    {
      id: 'lane',
      title: 'Lane',
      width: 'minmax(9rem, 2fr)',
      cell: ({ lane, hold, changed }) => (
        <span className="row">
          <span className="strong cut" title={lane}>
            {lane === '' ? <em className="faint">default lane</em> : lane}
          </span>
          {hold && <Badge tone="warn">{hold === 'block' ? 'blocked' : 'paused'}</Badge>}
          {changed && <Badge tone="special">limits changed</Badge>}
        </span>
      ),
    },
    {
      id: 'running',
      title: 'Running',
      width: '6rem',
      align: 'end',
      cell: ({ running }) => <Count value={running} />,
    },
    {
      id: 'waiting',
      title: 'Waiting',
      width: '6rem',
      align: 'end',
      cell: ({ waiting, waitingIsExact }) => <Count value={waiting} isExact={waitingIsExact} />,
    },
    {
      id: 'waits',
      title: 'Waiting for',
      width: 'minmax(9rem, 3fr)',
      wideOnly: true,
      cell: ({ waitsFor }) =>
        waitsFor ? (
          <span title={waitsFor.text}>
            <Sentence text={waitsFor.text} />
          </span>
        ) : (
          <span className="faint">ready now</span>
        ),
    },
    {
      id: 'occupant',
      title: 'Next job',
      width: 'minmax(8rem, 1fr)',
      wideOnly: true,
      cell: ({ occupant }) =>
        occupant === null ? (
          <span className="faint">–</span>
        ) : (
          <button type="button" className="text-button mono" onClick={() => go(to.job(occupant))}>
            {occupant}
          </button>
        ),
    },
    ...(mayOperate
      ? [
          {
            id: 'act',
            title: '',
            width: '3.5rem',
            cell: ({ lane, hold }: LaneSummary) => (
              <Menu
                label={`Actions for lane ${lane}`}
                icon="more"
                look="quiet"
                small
                items={[
                  hold === 'pause'
                    ? { label: 'Resume', icon: 'play', onSelect: () => resume.mutate({ queue, lane }) }
                    : {
                        label: 'Pause …',
                        icon: 'pause',
                        onSelect: () => setHolding({ kind: 'pause', queue, lane }),
                      },
                  { label: 'Limits …', icon: 'edit', onSelect: () => setLimiting(lane) },
                ]}
              />
            ),
          },
        ]
      : []),
  ]
  return (
    <>
      <div className="lane-find">
        <Field
          label="Filter lanes"
          bare
          type="search"
          placeholder="Filter lanes"
          value={wanted}
          data-search
          onChange={(event) => setWanted(event.target.value)}
        />
      </div>
      {lanes.length === 0 ? (
        <EmptyState title="No matching lanes" icon="queues">
          No active lane starts with <code className="wrap-anywhere">{wanted}</code> (case-sensitive).
        </EmptyState>
      ) : (
        <Table
          rows={lanes}
          columns={columns}
          keyOf={({ lane }) => lane}
          label={`Lanes of ${queue}`}
          onOpen={({ lane }) => go(to.jobs(`queue:${queue} lane:${JSON.stringify(lane)}`))}
          footer={
            <Pager
              hasMore={request.hasMore}
              busy={request.isBusy}
              onMore={request.more}
              note={`${countText(lanes.length)} ${lanes.length === 1 ? 'lane' : 'lanes'}${request.hasMore ? ' so far' : ''}`}
            />
          }
        />
      )}
      {holding && <HoldDialog {...holding} onClose={() => setHolding(null)} />}
      {limiting !== null && <LimitDialog queue={queue} lane={limiting} onClose={() => setLimiting(null)} />}
    </>
  )
}

const LANES = `const mail = queue<{ to: string; tenant: string }>('mail', {
  lane: ({ payload }) => payload.tenant,
  lanes: { concurrency: 2, rate: { limit: 100, per: '1m' } },
})`

function NoLanes(): ReactNode {
  return (
    <EmptyState title="No active lanes" icon="queues">
      <p>
        Lanes partition a queue, for example by customer. They are served in turn, so a large backlog in one
        lane does not delay the others, and each lane can have its own limits.
      </p>
      <CodeBlock code={LANES} />
    </EmptyState>
  )
}

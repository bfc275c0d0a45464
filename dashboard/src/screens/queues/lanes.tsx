import { type ReactNode, useState } from 'react'
import type { LaneSummary } from '../../../../src/operations/schema/wire-types.ts'
import { useCan } from '../../api/me.ts'
import { usePages } from '../../api/pages.ts'
import { useAct } from '../../api/query.ts'
import { countText } from '../../format/numbers.ts'
import { to, useGo, useWord } from '../../router.ts'
import { CodeBlock } from '../../ui/code.tsx'
import { Count } from '../../ui/count.tsx'
import { Field } from '../../ui/field.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Pager } from '../../ui/pager.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { Badge } from '../../ui/state.tsx'
import { EmptyState, ErrorState, Skeleton } from '../../ui/states-of-page.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { HoldDialog, type HoldRequest } from './hold-dialog.tsx'
import { LimitDialog } from './limit-dialog.tsx'

/** Which lanes have something to do, and what each of them waits for. */
export function LanesTab({ queue }: { readonly queue: string }): ReactNode {
  const go = useGo()
  const [wanted, setWanted] = useWord<string>('lane', '')
  const mayOperate = useCan('operate')
  const [holding, setHolding] = useState<HoldRequest | null>(null)
  const [limiting, setLimiting] = useState<string | null>(null)
  const resume = useAct('holds.resume', { told: (_, { lane }) => `Lane ${lane} goes on` })
  const asked = usePages(
    'queues.lanes',
    { queue, limit: 100, ...(wanted === '' ? {} : { prefix: wanted }) },
    ({ lanes }) => lanes,
  )
  if (asked.error && !asked.data)
    return <ErrorState error={asked.error} onRetry={() => void asked.refetch()} />
  if (!asked.data) return <Skeleton lines={6} />
  const lanes = asked.data
  if (lanes.length === 0 && wanted === '') return <NoLanes />
  const columns: readonly Column<LaneSummary>[] = [
    {
      id: 'lane',
      title: 'Lane',
      width: 'minmax(9rem, 2fr)',
      cell: ({ lane, hold, changed }) => (
        <span className="row">
          <span className="strong cut" title={lane}>
            {lane === '' ? <em className="faint">without a lane</em> : lane}
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
      title: 'Waits for',
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
        <EmptyState title="No active lane" icon="queues">
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
              hasMore={asked.hasMore}
              busy={asked.isBusy}
              onMore={asked.more}
              note={`${countText(lanes.length)} ${lanes.length === 1 ? 'lane' : 'lanes'}${asked.hasMore ? ' so far' : ''}`}
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
    <EmptyState title="No lane has anything to do" icon="queues">
      <p>
        A lane is a row of its own inside of a queue, such as one per customer. Lanes take turns, so nobody
        waits behind somebody else's million jobs, and each can have limits.
      </p>
      <CodeBlock code={LANES} />
    </EmptyState>
  )
}

import { type ReactNode, useState } from 'react'
import { Link, useParams } from 'wouter'
import type { QueueDetail, Range } from '../../../../src/operations/schema/wire-types.ts'
import { useCan } from '../../api/me.ts'
import { useAct, useApi } from '../../api/query.ts'
import { to, useGo, useUrlParam } from '../../router.ts'
import { Page } from '../../shell/page.tsx'
import { Button } from '../../ui/button.tsx'
import { Menu, type MenuItem } from '../../ui/menu.tsx'
import { Loaded, Skeleton } from '../../ui/page-states.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { RangePicker } from '../overview/range.tsx'
import { HoldBadge, UnhandledBadge } from './hold-badge.tsx'
import { HoldDialog, type HoldRequest } from './hold-dialog.tsx'
import { LanesTab } from './lanes.tsx'
import { LimitsTab } from './limits.tsx'
import { PurgeDialog } from './purge.tsx'
import { QueueOverview } from './queue-overview.tsx'

type TabName = 'overview' | 'lanes' | 'limits'

/** One queue: overview, lanes and limits. */
export function QueueScreen(): ReactNode {
  const { queue } = useParams<{ queue: string }>()
  const [range, setRange] = useUrlParam<Range>('range', '1h')
  const [tab, setTab] = useUrlParam<TabName>('tab', 'overview')
  const request = useApi('queues.get', { queue, range }, { every: 10_000 })
  const detail = request.data?.queue === queue ? request.data : undefined
  return (
    <Page
      name={queue}
      above={{ to: '/queues', text: 'Queues' }}
      title={
        <span className="row wraps">
          {queue}
          {detail && <HoldBadge hold={detail.hold} holds={detail.holds} />}
          {detail && <UnhandledBadge unhandled={detail.unhandled} />}
        </span>
      }
      actions={
        <>
          {tab === 'overview' && <RangePicker value={range} onChange={setRange} />}
          <Link to={to.jobs(`queue:${queue}`)} className="button button-plain">
            View jobs
          </Link>
          {detail && <QueueActions detail={detail} />}
        </>
      }
    >
      <Tabs<TabName>
        label="Queue sections"
        value={tab}
        onChange={setTab}
        tabs={[
          { id: 'overview', label: 'Overview' },
          { id: 'lanes', label: 'Lanes' },
          { id: 'limits', label: 'Limits' },
        ]}
      />
      <Loaded request={request} skeleton={<Skeleton height={320} />}>
        {(data) => {
          if (tab === 'lanes') return <LanesTab queue={queue} />
          if (tab === 'limits') return <LimitsTab detail={data} />
          return <QueueOverview detail={data} />
        }}
      </Loaded>
    </Page>
  )
}

function QueueActions({ detail: { queue, holds } }: { readonly detail: QueueDetail }): ReactNode {
  const go = useGo()
  const mayOperate = useCan('operate')
  const mayAdmin = useCan('admin')
  const [holding, setHolding] = useState<HoldRequest | null>(null)
  const [isPurging, setPurging] = useState(false)
  const resume = useAct('holds.resume', {
    success: ({ holds: left }) =>
      left.length === 0 ? `${queue} resumed` : 'Pause removed, but another pause or block still applies',
  })
  const unblock = useAct('holds.unblock', { success: `${queue} unblocked` })
  if (!mayOperate) return null
  // Holds by a pattern, or on all queues, cannot be removed here: that would resume other queues, too.
  const has = (kind: string): boolean =>
    holds.some((hold) => hold.kind === kind && hold.queue === queue && hold.lane === null)
  const items: MenuItem[] = [
    ...(mayAdmin
      ? [
          has('block')
            ? ({
                label: 'Unblock',
                icon: 'check',
                onSelect: () => unblock.mutate({ queue }),
              } as const)
            : ({
                label: 'Block …',
                icon: 'block',
                onSelect: () => setHolding({ kind: 'block', queue }),
              } as const),
        ]
      : []),
    {
      label: 'Enqueue job …',
      icon: 'playground',
      onSelect: () => go(`/playground?queue=${encodeURIComponent(queue)}`),
    },
    'line',
    { label: 'Purge …', icon: 'trash', danger: true, onSelect: () => setPurging(true) },
  ]
  return (
    <>
      {has('pause') ? (
        <Button icon="play" busy={resume.isPending} onClick={() => resume.mutate({ queue })}>
          Resume
        </Button>
      ) : (
        <Button icon="pause" onClick={() => setHolding({ kind: 'pause', queue })}>
          Pause
        </Button>
      )}
      <Menu label="More actions" icon="more" items={items} />
      {holding && <HoldDialog {...holding} onClose={() => setHolding(null)} />}
      {isPurging && <PurgeDialog queue={queue} onClose={() => setPurging(false)} />}
    </>
  )
}

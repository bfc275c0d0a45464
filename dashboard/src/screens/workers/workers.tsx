import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import type { WorkerSummary } from '../../../../src/operations/schema/wire-types.ts'
import { useCan } from '../../api/me.ts'
import { useAct, useApi } from '../../api/query.ts'
import { bytesText, plural } from '../../format/numbers.ts'
import { durationText } from '../../format/times.ts'
import { to, useUrlParam } from '../../router.ts'
import { Page } from '../../shell/page.tsx'
import { Card, Facts } from '../../ui/card.tsx'
import { CodeBlock, Id } from '../../ui/code.tsx'
import { Confirm, Dialog } from '../../ui/dialog.tsx'
import { Menu } from '../../ui/menu.tsx'
import { EmptyState, Loaded } from '../../ui/page-states.tsx'
import { Badge } from '../../ui/state.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Segments } from '../../ui/tabs.tsx'
import { TimeAgo } from '../../ui/time.tsx'
import { Gauge } from '../shared/gauge.tsx'
import { Notice } from '../shared/notice.tsx'
import { isLagging, versionsOf } from './worker-facts.ts'
import './workers.css'

type Shown = 'live' | 'all'

/** All workers with their load, version and health. */
export function WorkersScreen(): ReactNode {
  const [shown, setShown] = useUrlParam<Shown>('show', 'live')
  const [opened, setOpened] = useUrlParam<string>('id', '')
  const request = useApi('workers.list', {}, { every: 5_000 })
  return (
    <Page
      title="Workers"
      name="Workers"
      actions={
        <Segments
          label="Show workers"
          value={shown}
          onChange={setShown}
          options={[
            { value: 'live', label: 'Live' },
            { value: 'all', label: 'All' },
          ]}
        />
      }
    >
      <Loaded request={request}>
        {({ workers }) => {
          const live = workers.filter(({ life }) => life !== 'gone')
          const chosen = workers.find(({ id }) => id === opened)
          return (
            <>
              <VersionSkew workers={live} />
              <Unhandled />
              {workers.length === 0 ? (
                <NoWorkers />
              ) : (
                <WorkerTable workers={shown === 'live' ? live : workers} onOpen={setOpened} active={opened} />
              )}
              {chosen && <WorkerDrawer worker={chosen} onClose={() => setOpened('')} />}
            </>
          )
        }}
      </Loaded>
    </Page>
  )
}

function VersionSkew({ workers }: { readonly workers: readonly WorkerSummary[] }): ReactNode {
  const versions = versionsOf(workers)
  if (versions.length < 2) return null
  return (
    <Notice tone="warn" icon="info">
      Workers run different versions:{' '}
      {versions.map(([version, count]) => `${plural(count, 'worker')} on ${version}`).join(', ')}. This is
      expected only during a deploy.
    </Notice>
  )
}

/** Further queues are behind a link. */
const MAX_LISTED = 12

/** Queues with ready jobs that no live worker handles. */
function Unhandled(): ReactNode {
  const queues = useApi('queues.list', {}).data?.queues ?? []
  const alone = queues.filter(({ unhandled }) => unhandled > 0)
  if (alone.length === 0) return null
  const shown = alone.length <= MAX_LISTED + 1 ? alone.length : MAX_LISTED
  return (
    <Notice tone="bad" icon="errors">
      <p>
        <strong>No worker for {alone.length === 1 ? 'this queue' : 'these queues'}.</strong>{' '}
        {alone.length === 1 ? 'Its' : 'Their'} jobs wait until one connects.
      </p>
      <ul className="row wraps unhandled">
        {alone.slice(0, shown).map(({ queue, unhandled }) => (
          <li key={queue}>
            <Link to={to.queue(queue)} className="link">
              {queue}
            </Link>{' '}
            <span className="num">{plural(unhandled, 'job')}</span>
          </li>
        ))}
        {shown < alone.length && (
          <li>
            <Link to="/queues?only=unhandled" className="link">
              {alone.length - shown} more
            </Link>
          </li>
        )}
      </ul>
    </Notice>
  )
}

function useColumns(): readonly Column<WorkerSummary>[] {
  const canOperate = useCan('operate')
  const columns: readonly Column<WorkerSummary>[] = [
    {
      id: 'worker',
      title: 'Worker',
      width: 'minmax(10rem, 2fr)',
      cell: (worker) => (
        <span className="worker-cell">
          <span className="row">
            <strong className="cut">{worker.host}</strong> <Life worker={worker} />
          </span>
          <span className="small faint num">PID {worker.pid}</span>
        </span>
      ),
    },
    {
      id: 'running',
      title: 'Running',
      width: 'minmax(8rem, 1fr)',
      cell: ({ running, concurrency }) => <Gauge value={running} most={concurrency} label="Slots in use" />,
    },
    {
      id: 'queues',
      title: 'Queues',
      width: 'minmax(8rem, 2fr)',
      wideOnly: true,
      cell: ({ queues }) => (
        <span title={queues.join('\n')} className="soft">
          {queues.join(', ')}
        </span>
      ),
    },
    {
      id: 'version',
      title: 'Version',
      width: '6.5rem',
      wideOnly: true,
      cell: ({ version, node }) => (
        <span title={node === null ? undefined : `Node ${node}`}>
          {version ?? <span className="faint">–</span>}
        </span>
      ),
    },
    {
      id: 'memory',
      title: 'Memory',
      width: '5.5rem',
      align: 'end',
      roomyOnly: true,
      cell: ({ memoryBytes }) =>
        memoryBytes === null ? (
          <span className="faint">–</span>
        ) : (
          <span className="num">{bytesText(memoryBytes)}</span>
        ),
    },
    {
      id: 'lag',
      title: 'Loop lag',
      width: '6rem',
      align: 'end',
      wideOnly: true,
      cell: (worker) => <Lag worker={worker} />,
    },
    {
      id: 'seen',
      title: 'Heartbeat',
      width: '6.5rem',
      wideOnly: true,
      cell: ({ seenAt }) => <TimeAgo at={seenAt} />,
    },
  ]
  return canOperate
    ? [
        ...columns,
        {
          id: 'act',
          title: <span className="unseen">Actions</span>,
          width: '3.5rem',
          cell: (worker) => <WorkerMenu worker={worker} />,
        },
      ]
    : columns
}

function WorkerTable({
  workers,
  onOpen,
  active,
}: {
  readonly workers: readonly WorkerSummary[]
  readonly onOpen: (id: string) => void
  readonly active: string
}): ReactNode {
  const columns = useColumns()
  if (workers.length === 0) {
    return (
      <EmptyState title="No live workers" icon="workers">
        All known workers have stopped sending heartbeats.
      </EmptyState>
    )
  }
  return (
    <Table
      label="Workers"
      rows={workers}
      columns={columns}
      keyOf={({ id }) => id}
      rowHeight={56}
      active={active}
      onOpen={({ id }) => onOpen(id)}
    />
  )
}

export function Life({ worker: { life, paused, command } }: { readonly worker: WorkerSummary }): ReactNode {
  if (life === 'gone') return <Badge tone="bad">gone</Badge>
  if (command === 'stop') return <Badge tone="warn">stopping</Badge>
  if (paused) return <Badge tone="warn">paused</Badge>
  if (command === 'pause') return <Badge tone="warn">pausing</Badge>
  if (life === 'unsure') {
    return (
      <Badge tone="warn" title="Its last heartbeat is overdue">
        no heartbeat
      </Badge>
    )
  }
  return null
}

function Lag({ worker }: { readonly worker: WorkerSummary }): ReactNode {
  if (worker.lagMs === null) return <span className="faint">–</span>
  const text = <span className="num">{durationText(worker.lagMs)}</span>
  return isLagging(worker) ? (
    <Badge tone="warn" title="A handler blocks the event loop. Run it in threads.">
      {text}
    </Badge>
  ) : (
    text
  )
}

function WorkerMenu({ worker }: { readonly worker: WorkerSummary }): ReactNode {
  const [isStopping, setStopping] = useState(false)
  const send = useAct('workers.command', {
    success: (_, { command }) =>
      ({
        pause: 'Worker paused',
        stop: 'Worker is stopping',
        resume: 'Worker resumed',
      })[command],
    onDone: () => setStopping(false),
  })
  const { id, life } = worker
  const isPaused = worker.paused || worker.command === 'pause'
  if (life === 'gone') return null
  return (
    <>
      <Menu
        label={`Actions for worker ${worker.host} ${worker.pid}`}
        look="quiet"
        small
        icon="more"
        items={[
          isPaused
            ? { label: 'Resume', icon: 'play', onSelect: () => send.mutate({ id, command: 'resume' }) }
            : {
                label: 'Pause',
                icon: 'pause',
                onSelect: () => send.mutate({ id, command: 'pause' }),
              },
          { label: 'Stop …', icon: 'stop', danger: true, onSelect: () => setStopping(true) },
        ]}
      />
      {isStopping && (
        <Confirm
          title={`Stop ${worker.host} ${worker.pid}`}
          action="Stop worker"
          danger
          busy={send.isPending}
          onClose={() => setStopping(false)}
          onConfirm={() => send.mutate({ id, command: 'stop' })}
        >
          <p>
            The worker claims no more jobs, finishes its {plural(worker.running, 'running job')} and exits.
            Its process manager decides whether it is started again.
          </p>
        </Confirm>
      )}
    </>
  )
}

function WorkerDrawer({
  worker,
  onClose,
}: {
  readonly worker: WorkerSummary
  readonly onClose: () => void
}): ReactNode {
  const jobs = useApi('jobs.list', { query: `worker:${JSON.stringify(worker.id)} state:running`, limit: 20 })
  return (
    <Dialog title={`${worker.host}, PID ${worker.pid}`} size="drawer" onClose={onClose}>
      <div className="stack loose">
        <Card title="Details" actions={<Life worker={worker} />}>
          <Facts
            facts={[
              ['Running', `${worker.running} of ${worker.concurrency}`],
              ['Started', <TimeAgo key="started" at={worker.startedAt} />],
              ['Last heartbeat', <TimeAgo key="seen" at={worker.seenAt} />],
              ['Version', worker.version ?? '–'],
              ['Node', worker.node ?? '–'],
              ['Memory', worker.memoryBytes === null ? '–' : bytesText(worker.memoryBytes)],
              ['Event-loop lag', worker.lagMs === null ? '–' : durationText(worker.lagMs)],
              ['ID', <Id key="id" text={worker.id} />],
            ]}
          />
        </Card>
        <Card title="Queues">
          <ul className="row wraps">
            {worker.queues.map((queue) => (
              <li key={queue}>
                <Link to={to.queue(queue)} className="link">
                  {queue}
                </Link>
              </li>
            ))}
          </ul>
        </Card>
        {jobs.data && jobs.data.jobs.length > 0 && (
          <Card title="Running jobs">
            <ul className="stack tight">
              {jobs.data.jobs.map(({ id, queue, startedAt }) => (
                <li key={id} className="row spread">
                  <Link to={to.job(id)} className="link cut">
                    {queue} …{id.slice(-8)}
                  </Link>
                  <TimeAgo at={startedAt} />
                </li>
              ))}
            </ul>
          </Card>
        )}
      </div>
    </Dialog>
  )
}

function NoWorkers(): ReactNode {
  return (
    <EmptyState title="No workers" icon="workers">
      A worker claims jobs and runs your handlers, in your own process or with the CLI.
      <CodeBlock
        code={
          'const worker = skep.worker([sendMail.handle(async ({ payload }) => …)])\n\n# or from the command line\nnpx skep worker jobs.ts'
        }
      />
    </EmptyState>
  )
}

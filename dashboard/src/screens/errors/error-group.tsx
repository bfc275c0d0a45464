import { type ReactNode, useState } from 'react'
import { Link, useParams } from 'wouter'
import type { ErrorGroup } from '../../../../src/operations/schema/wire-types.ts'
import { useCan } from '../../api/me.ts'
import { useAct, useApi } from '../../api/query.ts'
import { countText, fullCountText, plural } from '../../format/numbers.ts'
import { to } from '../../router.ts'
import { Page } from '../../shell/page.tsx'
import { Button } from '../../ui/button.tsx'
import { Card, Figure } from '../../ui/card.tsx'
import { Count } from '../../ui/count.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { Icon } from '../../ui/icon.tsx'
import { Menu } from '../../ui/menu.tsx'
import { EmptyState, Loaded } from '../../ui/page-states.tsx'
import { Progress } from '../../ui/progress.tsx'
import { Sparkline } from '../../ui/spark.tsx'
import { Stack } from '../../ui/stack.tsx'
import { TimeAgo } from '../../ui/time.tsx'
import { BulkDialog } from '../jobs/action-dialog.tsx'
import { useExactCount } from '../jobs/exact-count.ts'
import { quoted } from '../jobs/query-text.ts'
import { JobLines } from '../shared/job-lines.tsx'
import { Notice } from '../shared/notice.tsx'
import './errors.css'

/** One error group: message, counts, versions, a stack and the affected jobs. */
export function ErrorGroupScreen(): ReactNode {
  const { id } = useParams<{ id: string }>()
  const request = useApi('errors.get', { id })
  return (
    <Loaded request={request}>
      {(group) => (
        <Page
          title={group.name}
          name={group.name}
          above={{ to: '/errors', text: 'Errors' }}
          actions={<Actions group={group} />}
        >
          <GroupBody group={group} />
        </Page>
      )}
    </Loaded>
  )
}

function GroupBody({ group }: { readonly group: ErrorGroup }): ReactNode {
  const { muted } = group
  return (
    <>
      <p className="error-message wrap-anywhere">{group.message}</p>
      {muted && (
        <Notice icon="pause">
          Muted by <strong>{muted.by}</strong>
          {muted.until === null ? (
            ' until unmuted'
          ) : (
            <>
              ; unmutes <TimeAgo at={muted.until} />
            </>
          )}
          . Muted errors do not appear under “Needs attention”.
        </Notice>
      )}
      <div className="figures">
        <Figure label="Occurrences" note="including retried attempts">
          <Count value={group.count} />
        </Figure>
        <Figure label="Dead jobs" {...(group.dead > 0 ? { tone: 'bad' as const } : {})}>
          <Count value={group.dead} />
        </Figure>
        <Figure label="Last seen">
          <TimeAgo at={group.lastAt} />
        </Figure>
        <Figure label="First seen">
          <TimeAgo at={group.firstAt} />
        </Figure>
        <Figure label="Queue">
          <Link to={to.queue(group.queue)} className="link error-queue wrap-anywhere">
            {group.queue}
          </Link>
        </Figure>
      </div>
      <Card title="Last 24 hours" actions={<span className="small faint">one bar per hour</span>}>
        <div className="error-bars">
          <Sparkline values={group.spark} label="Errors per hour" bars width={720} height={64} />
        </div>
      </Card>
      {group.versions.length > 0 && <Versions group={group} />}
      <Card
        title="Latest occurrence"
        actions={
          <Link to={to.job(group.sampleJob)} className="link small">
            View job
          </Link>
        }
      >
        {group.sampleStack === null ? (
          <p className="soft">No stack: the attempt ended without a thrown error.</p>
        ) : (
          <Stack stack={group.sampleStack} />
        )}
      </Card>
      <GroupJobs group={group} />
    </>
  )
}

/** The application versions on which it occurred. */
function Versions({ group }: { readonly group: ErrorGroup }): ReactNode {
  const { versions, firstAt, count } = group
  const first = versions.find((one) => one.firstAt === firstAt)
  const known = versions.reduce((sum, one) => sum + one.count, 0)
  return (
    <Card title="By version">
      <div className="stack">
        {first && (
          <p>
            First seen on version <strong>{first.version}</strong>, <TimeAgo at={firstAt} />.
          </p>
        )}
        <ul className="bullets">
          {versions.map(({ version, count: times, lastAt }) => (
            <li key={version}>
              <Link
                to={to.jobs(`${queryOf(group)} version:${quoted(version)}`)}
                className="link wrap-anywhere"
              >
                {version}
              </Link>
              : {fullCountText(times)} of {fullCountText(count)}, last <TimeAgo at={lastAt} />
            </li>
          ))}
          {known < count && <li className="soft">No version: {fullCountText(count - known)}</li>}
        </ul>
      </div>
    </Card>
  )
}

const queryOf = ({ id }: ErrorGroup): string => `error.group:${id}`

function GroupJobs({ group }: { readonly group: ErrorGroup }): ReactNode {
  const query = queryOf(group)
  const jobs = useApi('jobs.list', { query, limit: 10 })
  return (
    <Card
      flush
      title="Affected jobs"
      actions={
        <Link to={to.jobs(query)} className="link small">
          View all jobs <Icon name="right" size={12} />
        </Link>
      }
    >
      <Loaded request={jobs}>
        {({ jobs: some }) =>
          some.length === 0 ? (
            <EmptyState title="No jobs left" icon="jobs">
              They succeeded on a later attempt, or their retention expired.
            </EmptyState>
          ) : (
            <JobLines jobs={some} />
          )
        }
      </Loaded>
    </Card>
  )
}

function Actions({ group }: { readonly group: ErrorGroup }): ReactNode {
  const { id } = group
  const [isAsking, setAsking] = useState(false)
  const [bulk, setBulk] = useState<string | null>(null)
  const mute = useAct('errors.mute', { success: 'Error group muted' })
  const unmute = useAct('errors.unmute', { success: 'Error group unmuted' })
  const retry = useAct('errors.retry', {
    onDone: (view) => {
      setAsking(false)
      setBulk(view.id)
    },
  })
  if (!useCan('operate')) return null
  const muteFor = (time: string | null): void => mute.mutate(time === null ? { id } : { id, for: time })
  return (
    <>
      {bulk !== null && <BulkDialog id={bulk} onClose={() => setBulk(null)} />}
      {group.muted ? (
        <Button icon="play" busy={unmute.isPending} onClick={() => unmute.mutate({ id })}>
          Unmute
        </Button>
      ) : (
        <Menu
          label="Mute"
          icon="pause"
          busy={mute.isPending}
          items={[
            { label: 'For 1 hour', onSelect: () => muteFor('1h') },
            { label: 'For 1 day', onSelect: () => muteFor('1d') },
            { label: 'For 7 days', onSelect: () => muteFor('7d') },
            'line',
            { label: 'Until unmuted', onSelect: () => muteFor(null) },
          ]}
        >
          Mute
        </Menu>
      )}
      <Button look="main" icon="retry" onClick={() => setAsking(true)}>
        Retry group
      </Button>
      {isAsking && (
        <ConfirmRetry
          group={group}
          busy={retry.isPending}
          onClose={() => setAsking(false)}
          onConfirm={() => retry.mutate({ id })}
        />
      )}
    </>
  )
}

function ConfirmRetry({
  group,
  ...rest
}: {
  readonly group: ErrorGroup
  readonly busy: boolean
  readonly onClose: () => void
  readonly onConfirm: () => void
}): ReactNode {
  const count = useExactCount(`${queryOf(group)} state:dead,failed`, 'retry', true)
  return (
    <Confirm
      title="Retry group"
      action={count.isComplete ? `Retry ${plural(count.count, 'job')}` : 'Retry jobs'}
      disabled={!count.isComplete || count.count === 0}
      {...rest}
    >
      {count.error ? (
        <p className="field-error" role="alert">
          {count.error.message}
        </p>
      ) : count.isComplete ? (
        <p>
          {count.count === 0
            ? 'No job of this group is dead or failed.'
            : 'Retries each dead or failed job of this group from attempt 1. You can follow the progress and stop it.'}
        </p>
      ) : (
        <Progress
          value={null}
          label="Counting jobs"
          note={`Counting: ${fullCountText(count.count)} found, ${countText(count.searched)} scanned`}
        />
      )}
    </Confirm>
  )
}

import { type ReactNode, useState } from 'react'
import { Link, useParams } from 'wouter'
import type { ErrorGroup } from '../../../../src/operations/schema/wire-types.ts'
import { useCan } from '../../api/me.ts'
import { useAct, useApi } from '../../api/query.ts'
import { countText, plural, wholeText } from '../../format/numbers.ts'
import { to } from '../../router.ts'
import { Page } from '../../shell/page.tsx'
import { Button } from '../../ui/button.tsx'
import { Card, Figure } from '../../ui/card.tsx'
import { Count } from '../../ui/count.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { Icon } from '../../ui/icon.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Progress } from '../../ui/progress.tsx'
import { Sparkline } from '../../ui/spark.tsx'
import { Stack } from '../../ui/stack.tsx'
import { EmptyState, Loaded } from '../../ui/states-of-page.tsx'
import { TimeAgo } from '../../ui/time.tsx'
import { BulkDialog } from '../jobs/action-dialog.tsx'
import { quoted } from '../jobs/query-text.ts'
import { useWholeCount } from '../jobs/whole-count.ts'
import { JobLines } from '../shared/job-lines.tsx'
import { Notice } from '../shared/notice.tsx'
import './errors.css'

/** One group of errors: what it is, since when, and what to do about it. */
export function ErrorGroupScreen(): ReactNode {
  const { id } = useParams<{ id: string }>()
  const asked = useApi('errors.get', { id })
  return (
    <Loaded asked={asked}>
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
            ' until somebody unmutes it'
          ) : (
            <>
              {' '}
              for now: it is back <TimeAgo at={muted.until} />
            </>
          )}
          . It does not ask for attention meanwhile.
        </Notice>
      )}
      <div className="figures">
        <Figure label="Times" note="retried runs included">
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
      <Card title="Last day" actions={<span className="small faint">one bar for each hour</span>}>
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
          <p className="soft">It has no stack: the run ended without an error that was thrown.</p>
        ) : (
          <Stack stack={group.sampleStack} />
        )}
      </Card>
      <GroupJobs group={group} />
    </>
  )
}

/** On which versions of the program it happened, and since which one. */
function Versions({ group }: { readonly group: ErrorGroup }): ReactNode {
  const { versions, firstAt, count } = group
  const first = versions.find((one) => one.firstAt === firstAt)
  const told = versions.reduce((sum, one) => sum + one.count, 0)
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
              : {wholeText(times)} of {wholeText(count)}, last <TimeAgo at={lastAt} />
            </li>
          ))}
          {told < count && <li className="soft">without a version: {wholeText(count - told)}</li>}
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
          All in the list of jobs <Icon name="right" size={12} />
        </Link>
      }
    >
      <Loaded asked={jobs}>
        {({ jobs: some }) =>
          some.length === 0 ? (
            <EmptyState title="None is kept any more" icon="jobs">
              Its jobs went on and were done, or their retention is over.
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
  const mute = useAct('errors.mute', { told: 'Muted. It does not ask for attention.' })
  const unmute = useAct('errors.unmute', { told: 'Unmuted.' })
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
            { label: 'For an hour', onSelect: () => muteFor('1h') },
            { label: 'For a day', onSelect: () => muteFor('1d') },
            { label: 'For a week', onSelect: () => muteFor('7d') },
            'line',
            { label: 'Until I unmute it', onSelect: () => muteFor(null) },
          ]}
        >
          Mute
        </Menu>
      )}
      <Button look="main" icon="retry" onClick={() => setAsking(true)}>
        Retry the group
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
  const count = useWholeCount(`${queryOf(group)} state:dead,failed`, 'retry', true)
  return (
    <Confirm
      title="Retry the group"
      action={count.isWhole ? `Retry ${plural(count.count, 'job')}` : 'Retry jobs'}
      disabled={!count.isWhole || count.count === 0}
      {...rest}
    >
      {count.error ? (
        <p className="field-error" role="alert">
          {count.error.message}
        </p>
      ) : count.isWhole ? (
        <p>
          {count.count === 0
            ? 'None of its jobs is dead or failed now: there is nothing to retry.'
            : 'Runs each dead or failed job of this group again from attempt 1. You can watch it and stop it.'}
        </p>
      ) : (
        <Progress
          value={null}
          label="Counting jobs"
          note={`Counting: ${wholeText(count.count)} found, ${countText(count.searched)} scanned`}
        />
      )}
    </Confirm>
  )
}

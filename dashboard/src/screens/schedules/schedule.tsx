import { type ReactNode, useState } from 'react'
import { Link, useParams } from 'wouter'
import type { ScheduleSummary, SlotPreview } from '../../../../src/operations/schema/wire-types.ts'
import { useCan } from '../../api/me.ts'
import { useAct, useApi } from '../../api/query.ts'
import { capitalized } from '../../format/capitalized.ts'
import { fullCountText } from '../../format/numbers.ts'
import { durationText, exactText } from '../../format/times.ts'
import { to, useGo } from '../../router.ts'
import { Page } from '../../shell/page.tsx'
import { Button } from '../../ui/button.tsx'
import { Card, Facts } from '../../ui/card.tsx'
import { Id } from '../../ui/code.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import { JsonView } from '../../ui/json.tsx'
import { Menu } from '../../ui/menu.tsx'
import { EmptyState, Loaded } from '../../ui/page-states.tsx'
import { TimeAgo, useNow } from '../../ui/time.tsx'
import { Notice } from '../shared/notice.tsx'
import { LastRuns } from './last-runs.tsx'
import { ScheduleForm } from './schedule-form.tsx'
import { isLate, ScheduleOrigin, ScheduleStatus } from './schedules.tsx'
import { Slots } from './slots.tsx'
import './schedules.css'

export function ScheduleScreen(): ReactNode {
  const { id } = useParams<{ id: string }>()
  const request = useApi('schedules.get', { id }, { every: 15_000 })
  return (
    <Loaded request={request}>
      {({ schedule, next }) => (
        <Page
          title={
            <span className="row wraps">
              {schedule.id} <ScheduleStatus schedule={schedule} /> <ScheduleOrigin schedule={schedule} />
            </span>
          }
          name={schedule.id}
          above={{ to: '/schedules', text: 'Schedules' }}
          actions={<Actions schedule={schedule} />}
        >
          <Body schedule={schedule} next={next} />
        </Page>
      )}
    </Loaded>
  )
}

function Body({
  schedule,
  next,
}: {
  readonly schedule: ScheduleSummary
  readonly next: readonly SlotPreview[]
}): ReactNode {
  const now = useNow()
  const { paused } = schedule
  return (
    <>
      <p className="schedule-headline">{capitalized(schedule.words)}</p>
      {paused && (
        <Notice tone="warn" icon="pause">
          Paused <TimeAgo at={paused.at} />
          {paused.by && <> by {paused.by}</>}: {paused.reason ?? 'no reason given'}. It fires no slot until
          resumed.
        </Notice>
      )}
      {isLate(schedule, now) && (
        <Notice tone="bad" icon="errors">
          The slot of <span title={exactText(schedule.nextAt ?? '')}>{<TimeAgo at={schedule.nextAt} />}</span>{' '}
          has not been fired. Check that a worker for{' '}
          <Link to={to.queue(schedule.queue)} className="link">
            {schedule.queue}
          </Link>{' '}
          is running.{' '}
          <Link to="/workers" className="link">
            View workers
          </Link>
        </Notice>
      )}
      <div className="schedule-columns">
        <div className="stack loose">
          <Card title="Next slots" flush>
            {next.length === 0 ? (
              <EmptyState title="No more slots" icon="schedules" />
            ) : (
              <Slots slots={next} zone={schedule.cron?.timeZone ?? null} />
            )}
          </Card>
          <LastRuns schedule={schedule} />
        </div>
        <div className="stack loose">
          <Card title="Details">
            <ScheduleFacts schedule={schedule} />
          </Card>
          <Card title="Payload">
            {schedule.dynamic ? (
              <p className="soft">Computed by a function in code for each slot.</p>
            ) : (
              <JsonView value={schedule.payload} label="Payload" />
            )}
          </Card>
        </div>
      </div>
    </>
  )
}

const MISSED = { skip: 'skip', once: 'one job for all', all: 'one job for each' } as const
const OVERLAP = {
  allow: 'enqueue another',
  skip: 'skip the slot',
  replace: 'cancel it and enqueue another',
} as const

function ScheduleFacts({ schedule }: { readonly schedule: ScheduleSummary }): ReactNode {
  return (
    <Facts
      facts={[
        [
          'Queue',
          <Link key="queue" to={to.queue(schedule.queue)} className="link">
            {schedule.queue}
          </Link>,
        ],
        schedule.cron !== null && ['Cron', <code key="cron">{schedule.cron.expression}</code>],
        schedule.cron !== null && ['Time zone', schedule.cron.timeZone],
        schedule.every !== null && [
          'Every',
          `${durationText(schedule.every.ms)}${schedule.every.from === 'last-run' ? ' after the last job completes' : ''}`,
        ],
        [
          'Last fired',
          schedule.lastJob === null ? (
            'never'
          ) : (
            <span key="last">
              <TimeAgo at={schedule.lastFiredAt} />{' '}
              <Link to={to.job(schedule.lastJob)} className="link">
                View job
              </Link>
            </span>
          ),
        ],
        ['Jobs enqueued', fullCountText(schedule.fired)],
        ['Skipped slots', fullCountText(schedule.skipped)],
        ['Missed slots', MISSED[schedule.missed]],
        ['If the last job is still running', OVERLAP[schedule.overlap]],
        schedule.jitterMs > 0 && ['Jitter', `up to ${durationText(schedule.jitterMs)}`],
        schedule.startAt !== null && ['Starts', exactText(schedule.startAt)],
        schedule.endAt !== null && ['Ends', exactText(schedule.endAt)],
        [
          'Defined',
          schedule.declared
            ? `in code${schedule.owner === null ? '' : `, owner ${schedule.owner}`}`
            : 'at run time',
        ],
        ['Updated', <TimeAgo key="changed" at={schedule.updatedAt} />],
        ['ID', <Id key="id" text={schedule.id} />],
      ]}
    />
  )
}

function Actions({ schedule }: { readonly schedule: ScheduleSummary }): ReactNode {
  const { id, declared } = schedule
  const [open, setOpen] = useState<'edit' | 'pause' | 'remove' | null>(null)
  const [reason, setReason] = useState('')
  const go = useGo()
  const close = (): void => setOpen(null)
  const run = useAct('schedules.run', {
    success: 'Job enqueued',
    onDone: ({ id: job }) => go(to.job(job)),
  })
  const pause = useAct('schedules.pause', { success: 'Schedule paused', onDone: close })
  const resume = useAct('schedules.resume', { success: 'Schedule resumed' })
  const remove = useAct('schedules.remove', { success: 'Schedule removed', onDone: () => go('/schedules') })
  if (!useCan('operate')) return null
  return (
    <>
      {schedule.paused ? (
        <Button icon="play" busy={resume.isPending} onClick={() => resume.mutate({ id })}>
          Resume
        </Button>
      ) : (
        <Button icon="pause" onClick={() => setOpen('pause')}>
          Pause
        </Button>
      )}
      <Button look="main" icon="play" busy={run.isPending} onClick={() => run.mutate({ id })}>
        Run now
      </Button>
      <Menu
        label="More actions"
        icon="more"
        items={[
          {
            label: declared ? 'Edit (defined in code)' : 'Edit …',
            icon: 'edit',
            disabled: declared,
            hint: declared
              ? 'Edit the code instead: the next deploy would overwrite a change made here.'
              : '',
            onSelect: () => setOpen('edit'),
          },
          'line',
          { label: 'Remove …', icon: 'trash', danger: true, onSelect: () => setOpen('remove') },
        ]}
      />
      {open === 'edit' && <ScheduleForm schedule={schedule} onClose={close} />}
      {open === 'pause' && (
        <Confirm
          title={`Pause ${id}`}
          action="Pause"
          busy={pause.isPending}
          onClose={close}
          onConfirm={() => pause.mutate({ id, ...(reason.trim() === '' ? {} : { reason: reason.trim() }) })}
        >
          <p className="soft">The schedule fires no slot until resumed. Jobs already enqueued still run.</p>
          <Field
            label="Reason"
            value={reason}
            autoFocus
            onChange={(event) => setReason(event.target.value)}
            hint="Shown on the schedule."
          />
        </Confirm>
      )}
      {open === 'remove' && (
        <Confirm
          title={`Remove ${id}`}
          action="Remove"
          danger
          busy={remove.isPending}
          onClose={close}
          onConfirm={() => remove.mutate({ id, ...(declared ? { force: true } : {}) })}
        >
          <p>
            {declared
              ? 'This schedule is defined in code: the next worker that starts restores it. Remove it from the code, too, or pause it instead.'
              : 'It enqueues no more jobs. Existing jobs are kept.'}
          </p>
        </Confirm>
      )}
    </>
  )
}

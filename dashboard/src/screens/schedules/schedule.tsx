import { type ReactNode, useState } from 'react'
import { Link, useParams } from 'wouter'
import type { ScheduleSummary, SlotPreview } from '../../../../src/operations/schema/wire-types.ts'
import { useCan } from '../../api/me.ts'
import { useAct, useApi } from '../../api/query.ts'
import { wholeText } from '../../format/numbers.ts'
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
import { EmptyState, Loaded } from '../../ui/states-of-page.tsx'
import { TimeAgo, useNow } from '../../ui/time.tsx'
import { Notice } from '../shared/notice.tsx'
import { LastRuns } from './last-runs.tsx'
import { ScheduleForm } from './schedule-form.tsx'
import { isLate, ScheduleOrigin, ScheduleStatus } from './schedules.tsx'
import { Slots } from './slots.tsx'
import './schedules.css'

export function ScheduleScreen(): ReactNode {
  const { id } = useParams<{ id: string }>()
  const asked = useApi('schedules.get', { id }, { every: 15_000 })
  return (
    <Loaded asked={asked}>
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
      <p className="schedule-headline">{schedule.words}</p>
      {paused && (
        <Notice tone="warn" icon="pause">
          Paused <TimeAgo at={paused.at} />
          {paused.by && <> by {paused.by}</>}: {paused.reason ?? 'no reason was given'}. No slot is fired
          until somebody resumes it.
        </Notice>
      )}
      {isLate(schedule, now) && (
        <Notice tone="bad" icon="errors">
          The slot of <span title={exactText(schedule.nextAt ?? '')}>{<TimeAgo at={schedule.nextAt} />}</span>{' '}
          has not been fired. Workers that handle{' '}
          <Link to={to.queue(schedule.queue)} className="link">
            {schedule.queue}
          </Link>{' '}
          fire it: is one running?{' '}
          <Link to="/workers" className="link">
            Workers
          </Link>
        </Notice>
      )}
      <div className="schedule-columns">
        <div className="stack loose">
          <Card title="Next runs" flush>
            {next.length === 0 ? (
              <EmptyState title="It has no slot any more" icon="schedules" />
            ) : (
              <Slots slots={next} zone={schedule.cron?.timeZone ?? null} />
            )}
          </Card>
          <LastRuns schedule={schedule} />
        </div>
        <div className="stack loose">
          <Card title="About it">
            <ScheduleFacts schedule={schedule} />
          </Card>
          <Card title="Payload">
            {schedule.dynamic ? (
              <p className="soft">A function in the code makes it, for each slot anew.</p>
            ) : (
              <JsonView value={schedule.payload} label="Payload" />
            )}
          </Card>
        </div>
      </div>
    </>
  )
}

const MISSED = { skip: 'are left out', once: 'get one job together', all: 'get one job each' } as const
const OVERLAP = { allow: 'starts another', skip: 'leaves the slot out', replace: 'cancels it first' } as const

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
          `${durationText(schedule.every.ms)}${schedule.every.from === 'last-run' ? ' after the end of the last job' : ''}`,
        ],
        [
          'Last run',
          schedule.lastJob === null ? (
            'never'
          ) : (
            <span key="last">
              <TimeAgo at={schedule.lastFiredAt} />{' '}
              <Link to={to.job(schedule.lastJob)} className="link">
                its job
              </Link>
            </span>
          ),
        ],
        ['Jobs made', wholeText(schedule.fired)],
        ['Slots left out', wholeText(schedule.skipped)],
        ['Missed slots', MISSED[schedule.missed]],
        ['While the last one runs', OVERLAP[schedule.overlap]],
        schedule.jitterMs > 0 && ['Spread', `up to ${durationText(schedule.jitterMs)}`],
        schedule.startAt !== null && ['From', exactText(schedule.startAt)],
        schedule.endAt !== null && ['Until', exactText(schedule.endAt)],
        [
          'Made',
          schedule.declared
            ? `in code${schedule.owner === null ? '' : `, owner ${schedule.owner}`}`
            : 'by hand',
        ],
        ['Changed', <TimeAgo key="changed" at={schedule.updatedAt} />],
        ['Id', <Id key="id" text={schedule.id} />],
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
    told: 'Its job is enqueued.',
    onDone: ({ id: job }) => go(to.job(job)),
  })
  const pause = useAct('schedules.pause', { told: 'Paused.', onDone: close })
  const resume = useAct('schedules.resume', { told: 'It goes on.' })
  const remove = useAct('schedules.remove', { told: 'Removed.', onDone: () => go('/schedules') })
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
            label: declared ? 'Change (declared in code)' : 'Change …',
            icon: 'edit',
            disabled: declared,
            hint: declared
              ? 'Change it where it is declared: the next deploy would undo a change made here.'
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
          <p className="soft">
            No slot is fired until somebody resumes it. Jobs that are enqueued already run.
          </p>
          <Field
            label="Why"
            value={reason}
            autoFocus
            onChange={(event) => setReason(event.target.value)}
            hint="Shown to whoever looks."
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
              ? 'It is declared in code: a worker that starts with this code brings it back. Take it out of the code too, or pause it instead.'
              : 'It makes no more jobs. Those that it made stay.'}
          </p>
        </Confirm>
      )}
    </>
  )
}

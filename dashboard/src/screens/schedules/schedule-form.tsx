import { type ReactNode, useEffect, useState } from 'react'
import type { ScheduleInput, ScheduleSummary } from '../../../../src/operations/schema/wire-types.ts'
import { stringifyExact } from '../../api/exact.ts'
import { useAct, useApi } from '../../api/query.ts'
import { capitalized } from '../../format/capitalized.ts'
import { durationWord } from '../../format/durations.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Choice, Field } from '../../ui/field.tsx'
import { JsonEditor, readJson } from '../../ui/json-editor.tsx'
import { Segments } from '../../ui/tabs.tsx'
import { Slots, viewerZone } from './slots.tsx'

const ZONES: readonly string[] = [
  'UTC',
  ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC'),
]

interface Draft {
  readonly id: string
  readonly queue: string
  readonly timing: 'cron' | 'every'
  readonly cron: string
  readonly timeZone: string
  readonly every: string
  readonly payload: string
  readonly missed: 'skip' | 'once' | 'all'
  readonly overlap: 'allow' | 'skip' | 'replace'
  readonly jitter: string
}

function draftOf(schedule: ScheduleSummary | undefined): Draft {
  return {
    id: schedule?.id ?? '',
    queue: schedule?.queue ?? '',
    timing: schedule?.every ? 'every' : 'cron',
    cron: schedule?.cron?.expression ?? '30 9 * * *',
    timeZone: schedule?.cron?.timeZone ?? viewerZone,
    every: schedule?.every ? durationWord(schedule.every.ms) : '15m',
    payload: schedule === undefined ? '{}' : stringifyExact(schedule.payload ?? null, 2),
    missed: schedule?.missed ?? 'once',
    overlap: schedule?.overlap ?? 'allow',
    jitter: schedule === undefined || schedule.jitterMs === 0 ? '' : durationWord(schedule.jitterMs),
  }
}

function timingOf({
  timing,
  cron,
  timeZone,
  every,
}: Draft): Pick<ScheduleInput, 'cron' | 'timeZone' | 'every'> {
  return timing === 'cron' ? { cron: cron.trim(), timeZone } : { every: every.trim() }
}

/** Creates or edits a schedule, with a preview of its next slots. */
export function ScheduleForm({
  schedule,
  onClose,
  onSaved,
}: {
  readonly schedule?: ScheduleSummary
  readonly onClose: () => void
  readonly onSaved?: (saved: ScheduleSummary) => void
}): ReactNode {
  const [draft, setDraft] = useState(() => draftOf(schedule))
  const put = useAct('schedules.put', {
    quiet: true,
    success: schedule ? 'Schedule saved' : 'Schedule created',
    onDone: (saved) => {
      onClose()
      onSaved?.(saved)
    },
  })
  const queues = useApi('queues.list', {}).data?.queues ?? []
  const change = (part: Partial<Draft>): void => setDraft({ ...draft, ...part })
  const read = readJson(draft.payload)
  const isReady = 'value' in read && draft.id.trim() !== '' && draft.queue.trim() !== ''
  const save = (): void => {
    if (!isReady) return
    put.mutate({
      id: draft.id.trim(),
      queue: draft.queue.trim(),
      ...timingOf(draft),
      payload: read.value,
      missed: draft.missed,
      overlap: draft.overlap,
      ...(draft.jitter.trim() === '' ? {} : { jitter: draft.jitter.trim() }),
    })
  }
  return (
    <Dialog
      title={schedule ? `Edit ${schedule.id}` : 'New schedule'}
      size="l"
      onClose={onClose}
      onSubmit={save}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="main" disabled={!isReady} busy={put.isPending}>
            {schedule ? 'Save' : 'Create'}
          </Button>
        </>
      }
    >
      <div className="schedule-form">
        <div className="stack">
          <Field
            label="Name"
            value={draft.id}
            disabled={schedule !== undefined}
            autoFocus={schedule === undefined}
            placeholder="report.daily"
            onChange={(event) => change({ id: event.target.value })}
          />
          <Field
            label="Queue"
            value={draft.queue}
            list="schedule-queues"
            placeholder="report.build"
            onChange={(event) => change({ queue: event.target.value })}
          />
          <datalist id="schedule-queues">
            {queues.map(({ queue }) => (
              <option key={queue} value={queue} />
            ))}
          </datalist>
          <Segments
            label="Timing"
            value={draft.timing}
            onChange={(timing) => change({ timing })}
            options={[
              { value: 'cron', label: 'Cron' },
              { value: 'every', label: 'Interval' },
            ]}
          />
          {draft.timing === 'cron' ? (
            <div className="schedule-pair">
              <Field
                label="Cron expression"
                className="mono"
                value={draft.cron}
                hint="minute hour day month weekday"
                onChange={(event) => change({ cron: event.target.value })}
              />
              <Choice
                label="Time zone"
                value={draft.timeZone}
                onChange={(event) => change({ timeZone: event.target.value })}
              >
                {(ZONES.includes(draft.timeZone) ? ZONES : [draft.timeZone, ...ZONES]).map((zone) => (
                  <option key={zone}>{zone}</option>
                ))}
              </Choice>
            </div>
          ) : (
            <Field
              label="Every"
              value={draft.every}
              hint="A duration such as 30s, 15m, 2h or 1d."
              onChange={(event) => change({ every: event.target.value })}
            />
          )}
          <div className="schedule-pair">
            <Choice
              label="Missed slots"
              value={draft.missed}
              onChange={(event) => change({ missed: event.target.value as Draft['missed'] })}
            >
              <option value="once">Enqueue one job for all</option>
              <option value="all">Enqueue one job for each</option>
              <option value="skip">Skip</option>
            </Choice>
            <Choice
              label="If the last job is still running"
              value={draft.overlap}
              onChange={(event) => change({ overlap: event.target.value as Draft['overlap'] })}
            >
              <option value="allow">Enqueue another job</option>
              <option value="skip">Skip the slot</option>
              <option value="replace">Cancel it and enqueue another</option>
            </Choice>
          </div>
          <Field
            label="Jitter"
            value={draft.jitter}
            placeholder="none"
            hint="Maximum random delay, such as 30s or 5m."
            onChange={(event) => change({ jitter: event.target.value })}
          />
          <JsonEditor
            label="Payload"
            rows={6}
            value={draft.payload}
            onChange={(payload) => change({ payload })}
          />
          {put.error && (
            <p className="field-error wrap-anywhere" role="alert">
              {put.error.message}
            </p>
          )}
        </div>
        <Preview draft={draft} />
      </div>
    </Dialog>
  )
}

/** Debounces a value. */
function useDebounced<Value>(value: Value, ms: number): Value {
  const [debounced, setDebounced] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return debounced
}

function Preview({ draft }: { readonly draft: Draft }): ReactNode {
  const timing = useDebounced(JSON.stringify(timingOf(draft)), 250)
  const preview = useApi('schedules.preview', {
    ...(JSON.parse(timing) as ReturnType<typeof timingOf>),
    count: 10,
  })
  return (
    <aside className="schedule-preview" aria-label="Preview" aria-live="polite">
      {preview.error ? (
        <p className="field-error wrap-anywhere">{preview.error.message}</p>
      ) : (
        preview.data && (
          <>
            <p className="schedule-words">{capitalized(preview.data.words)}</p>
            <Slots slots={preview.data.next} zone={draft.timing === 'cron' ? draft.timeZone : null} />
          </>
        )
      )}
    </aside>
  )
}

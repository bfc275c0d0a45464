import { type ReactNode, useEffect, useState } from 'react'
import type { ScheduleInput, ScheduleSummary } from '../../../../src/operations/schema/wire-types.ts'
import { stringifyExact } from '../../api/exact.ts'
import { useAct, useApi } from '../../api/query.ts'
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

/** Makes a schedule, or changes one. What is written is said in words while it is written. */
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
    told: schedule ? 'Saved.' : 'The schedule is there.',
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
      title={schedule ? `Change ${schedule.id}` : 'New schedule'}
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
            label="When"
            value={draft.timing}
            onChange={(timing) => change({ timing })}
            options={[
              { value: 'cron', label: 'By the clock' },
              { value: 'every', label: 'Every so often' },
            ]}
          />
          {draft.timing === 'cron' ? (
            <div className="schedule-pair">
              <Field
                label="Cron"
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
              hint="A number with a unit: 30s, 15m, 2h, 1d."
              onChange={(event) => change({ every: event.target.value })}
            />
          )}
          <div className="schedule-pair">
            <Choice
              label="Slots that were missed"
              value={draft.missed}
              onChange={(event) => change({ missed: event.target.value as Draft['missed'] })}
            >
              <option value="once">one job for all of them</option>
              <option value="all">one job for each</option>
              <option value="skip">none</option>
            </Choice>
            <Choice
              label="While the last job still runs"
              value={draft.overlap}
              onChange={(event) => change({ overlap: event.target.value as Draft['overlap'] })}
            >
              <option value="allow">start another</option>
              <option value="skip">leave the slot out</option>
              <option value="replace">cancel it and start another</option>
            </Choice>
          </div>
          <Field
            label="Spread"
            value={draft.jitter}
            placeholder="none"
            hint="Up to so long after the slot, by chance: 30s, 5m."
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

/** Waits until nobody types any more. */
function useSettled<Value>(value: Value, ms: number): Value {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms)
    return () => clearTimeout(timer)
  }, [value, ms])
  return settled
}

function Preview({ draft }: { readonly draft: Draft }): ReactNode {
  const timing = useSettled(JSON.stringify(timingOf(draft)), 250)
  const preview = useApi('schedules.preview', {
    ...(JSON.parse(timing) as ReturnType<typeof timingOf>),
    count: 10,
  })
  return (
    <aside className="schedule-preview" aria-label="What that means" aria-live="polite">
      {preview.error ? (
        <p className="field-error wrap-anywhere">{preview.error.message}</p>
      ) : (
        preview.data && (
          <>
            <p className="schedule-words">{preview.data.words}</p>
            <Slots slots={preview.data.next} zone={draft.timing === 'cron' ? draft.timeZone : null} />
          </>
        )
      )}
    </aside>
  )
}

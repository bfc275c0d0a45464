import { type ReactNode, useState } from 'react'
import { useAct } from '../../api/query.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import type { LimitSettings, RateSetting } from './describe-limits.ts'

interface LimitInput {
  readonly concurrency: string
  readonly limit: string
  readonly per: string
  readonly burst: string
}

/** Overrides the limits of a queue or lane at run time. An empty field means no limit. */
export function LimitDialog({
  queue,
  lane,
  current = {},
  onClose,
}: {
  readonly queue: string
  readonly lane?: string
  readonly current?: LimitSettings
  readonly onClose: () => void
}): ReactNode {
  const [own, setOwn] = useState(inputOf(current))
  const [each, setEach] = useState(inputOf(current.lanes ?? {}))
  const [weight, setWeight] = useState(current.weight === undefined ? '' : String(current.weight))
  const isLane = lane !== undefined
  const act = useAct('queues.limit', { success: 'Limits set', onDone: onClose, quiet: true })
  const submit = (): void => {
    const changes = isLane
      ? { ...changesOf(own, inputOf(current)), ...(weight.trim() === '' ? {} : { weight: Number(weight) }) }
      : { ...changesOf(own, inputOf(current)), ...lanesOf(each, inputOf(current.lanes ?? {})) }
    if (Object.keys(changes).length === 0) onClose()
    else act.mutate({ queue, ...(isLane ? { lane } : {}), limits: changes })
  }
  return (
    <Dialog
      title={isLane ? `Limits of lane ${lane || '(none)'}` : `Limits of ${queue}`}
      onClose={onClose}
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" type="submit" busy={act.isPending}>
            Set limits
          </Button>
        </>
      }
    >
      <div className="stack loose">
        <p className="soft">
          Applies to all workers and overrides the limits in code until reset. Leave a field empty for no
          limit.
        </p>
        <Fields title={isLane ? 'This lane' : 'Whole queue'} value={own} onChange={setOwn} />
        {isLane ? (
          <Field
            label="Weight"
            type="number"
            min={1}
            max={1000}
            hint="Its share compared with other lanes."
            value={weight}
            onChange={(event) => setWeight(event.target.value)}
          />
        ) : (
          <Fields title="Each lane" value={each} onChange={setEach} />
        )}
        {act.error && (
          <p className="field-error" role="alert">
            {act.error.message}
          </p>
        )}
      </div>
    </Dialog>
  )
}

function Fields({
  title,
  value,
  onChange,
}: {
  readonly title: string
  readonly value: LimitInput
  readonly onChange: (input: LimitInput) => void
}): ReactNode {
  const set = (name: keyof LimitInput) => (event: { readonly target: { readonly value: string } }) =>
    onChange({ ...value, [name]: event.target.value })
  return (
    <fieldset className="group">
      <legend>{title}</legend>
      <Field
        label="Concurrency"
        type="number"
        min={1}
        value={value.concurrency}
        onChange={set('concurrency')}
      />
      <div className="field-row">
        <Field label="Rate (jobs)" type="number" min={1} value={value.limit} onChange={set('limit')} />
        <Field label="Per" placeholder="1s" value={value.per} onChange={set('per')} />
        <Field label="Burst" type="number" min={1} value={value.burst} onChange={set('burst')} />
      </div>
    </fieldset>
  )
}

function inputOf({
  concurrency,
  rate,
}: {
  readonly concurrency?: number | null
  readonly rate?: RateSetting | null
}): LimitInput {
  return {
    concurrency: concurrency == null ? '' : String(concurrency),
    limit: rate ? String(rate.limit) : '',
    per: rate ? `${rate.per}ms` : '',
    burst: rate ? String(rate.burst) : '',
  }
}

/** Only changed limits are sent; the rest stay as declared in code. */
function changesOf(now: LimitInput, before: LimitInput): Record<string, unknown> {
  const isOtherRate = now.limit !== before.limit || now.per !== before.per || now.burst !== before.burst
  return {
    ...(now.concurrency === before.concurrency
      ? {}
      : { concurrency: now.concurrency === '' ? null : Number(now.concurrency) }),
    ...(isOtherRate ? { rate: rateOf(now) } : {}),
  }
}

function rateOf({ limit, per, burst }: LimitInput): unknown {
  if (limit.trim() === '') return null
  return {
    limit: Number(limit),
    per: per.trim() === '' ? '1s' : per.trim(),
    ...(burst.trim() === '' ? {} : { burst: Number(burst) }),
  }
}

function lanesOf(now: LimitInput, before: LimitInput): Record<string, unknown> {
  const lanes = changesOf(now, before)
  return Object.keys(lanes).length === 0 ? {} : { lanes }
}

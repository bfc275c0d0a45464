import { type ReactNode, useState } from 'react'
import { useAct } from '../../api/query.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Field } from '../../ui/field.tsx'
import type { LimitsSaid, RateSaid } from './limit-words.ts'

interface Texts {
  readonly concurrency: string
  readonly limit: string
  readonly per: string
  readonly burst: string
}

/** Changes limits at run time. An empty field means that there is no such limit. */
export function LimitDialog({
  queue,
  lane,
  current = {},
  onClose,
}: {
  readonly queue: string
  readonly lane?: string
  readonly current?: LimitsSaid
  readonly onClose: () => void
}): ReactNode {
  const [own, setOwn] = useState(textsOf(current))
  const [each, setEach] = useState(textsOf(current.lanes ?? {}))
  const [weight, setWeight] = useState(current.weight === undefined ? '' : String(current.weight))
  const isLane = lane !== undefined
  const act = useAct('queues.limit', { told: 'The limits hold from now on', onDone: onClose, quiet: true })
  const submit = (): void => {
    const changes = isLane
      ? { ...changesOf(own, textsOf(current)), ...(weight.trim() === '' ? {} : { weight: Number(weight) }) }
      : { ...changesOf(own, textsOf(current)), ...lanesOf(each, textsOf(current.lanes ?? {})) }
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
          They hold for all workers on all machines, and count more than what code says until somebody takes
          them back. An empty field means no limit.
        </p>
        <Fields title={isLane ? 'This lane' : 'The whole queue'} value={own} onChange={setOwn} />
        {isLane ? (
          <Field
            label="Weight"
            type="number"
            min={1}
            max={1000}
            hint="Its share beside other lanes."
            value={weight}
            onChange={(event) => setWeight(event.target.value)}
          />
        ) : (
          <Fields title="Each of its lanes" value={each} onChange={setEach} />
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
  readonly value: Texts
  readonly onChange: (texts: Texts) => void
}): ReactNode {
  const set = (name: keyof Texts) => (event: { readonly target: { readonly value: string } }) =>
    onChange({ ...value, [name]: event.target.value })
  return (
    <fieldset className="group">
      <legend>{title}</legend>
      <Field
        label="Running at a time"
        type="number"
        min={1}
        value={value.concurrency}
        onChange={set('concurrency')}
      />
      <div className="field-row">
        <Field label="Starts" type="number" min={1} value={value.limit} onChange={set('limit')} />
        <Field label="per" placeholder="1s" value={value.per} onChange={set('per')} />
        <Field label="At once" type="number" min={1} value={value.burst} onChange={set('burst')} />
      </div>
    </fieldset>
  )
}

function textsOf({
  concurrency,
  rate,
}: {
  readonly concurrency?: number | null
  readonly rate?: RateSaid | null
}): Texts {
  return {
    concurrency: concurrency == null ? '' : String(concurrency),
    limit: rate ? String(rate.limit) : '',
    per: rate ? `${rate.per}ms` : '',
    burst: rate ? String(rate.burst) : '',
  }
}

/** Only what was changed is said: the rest stays as code declares it. */
function changesOf(now: Texts, before: Texts): Record<string, unknown> {
  const isOtherRate = now.limit !== before.limit || now.per !== before.per || now.burst !== before.burst
  return {
    ...(now.concurrency === before.concurrency
      ? {}
      : { concurrency: now.concurrency === '' ? null : Number(now.concurrency) }),
    ...(isOtherRate ? { rate: rateOf(now) } : {}),
  }
}

function rateOf({ limit, per, burst }: Texts): unknown {
  if (limit.trim() === '') return null
  return {
    limit: Number(limit),
    per: per.trim() === '' ? '1s' : per.trim(),
    ...(burst.trim() === '' ? {} : { burst: Number(burst) }),
  }
}

function lanesOf(now: Texts, before: Texts): Record<string, unknown> {
  const lanes = changesOf(now, before)
  return Object.keys(lanes).length === 0 ? {} : { lanes }
}

import { type ReactNode, useState } from 'react'
import type { ChangeOutput, CountOutput } from '../../../../src/server/api.ts'
import { useAct } from '../../api/query.ts'
import { countText, plural } from '../../format/numbers.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { Choice } from '../../ui/field.tsx'
import { BulkProgress } from '../shared/bulk-progress.tsx'

/** How fast all of them come back: a flood would only kill them again. */
const SPEEDS = [
  { value: '10', label: '10 a second' },
  { value: '100', label: '100 a second' },
  { value: '1000', label: '1,000 a second' },
  { value: '', label: 'as fast as it goes' },
] as const

export function changeText({ changed, requested, refused }: ChangeOutput, done: string): string {
  if (refused.length === 0) return `${plural(changed, 'job')} ${done}.`
  return `${countText(changed)} of ${plural(requested, 'job')} ${done}. ${refused[0]?.reason ?? ''}`
}

/** What can be done to those that are chosen, or to all that fit. */
export function DeadActions({
  query,
  total,
  selected,
  onDone,
}: {
  readonly query: string
  readonly total: CountOutput | null
  readonly selected: readonly string[]
  readonly onDone: () => void
}): ReactNode {
  const [asking, setAsking] = useState<'redrive-all' | 'remove' | 'remove-all' | null>(null)
  const [bulk, setBulk] = useState<string | null>(null)
  const change = useAct('jobs.change', {
    told: (output, { action }) => changeText(output, action === 'remove' ? 'removed' : 'started anew'),
    onDone: () => {
      setAsking(null)
      onDone()
    },
  })
  const start = useAct('bulk.start', {
    onDone: ({ id }) => {
      setAsking(null)
      onDone()
      setBulk(id)
    },
  })
  const some = selected.length
  const all = total === null ? '' : `${total.isExact ? '' : 'at least '}${plural(total.count, 'dead job')}`
  const isNone = total !== null && total.count === 0
  return (
    <>
      {some > 0 ? (
        <>
          <Button icon="trash" onClick={() => setAsking('remove')}>
            Remove {countText(some)}
          </Button>
          <Button
            look="main"
            icon="retry"
            busy={change.isPending}
            onClick={() => change.mutate({ action: 'retry', ids: selected })}
          >
            Redrive {countText(some)}
          </Button>
        </>
      ) : (
        !isNone && (
          <>
            <Button icon="trash" onClick={() => setAsking('remove-all')}>
              Remove all …
            </Button>
            <Button look="main" icon="retry" onClick={() => setAsking('redrive-all')}>
              Redrive all …
            </Button>
          </>
        )
      )}
      {asking === 'redrive-all' && (
        <RedriveAll
          all={all}
          busy={start.isPending}
          onClose={() => setAsking(null)}
          onConfirm={(perSecond) =>
            start.mutate({ action: 'retry', query, ...(perSecond === null ? {} : { perSecond }) })
          }
        />
      )}
      {asking === 'remove-all' && (
        <Confirm
          title="Remove all that fit"
          action="Remove them"
          danger
          typed="remove"
          busy={start.isPending}
          onClose={() => setAsking(null)}
          onConfirm={() => start.mutate({ action: 'remove', query })}
        >
          <p>This removes {all} with payloads, errors and logs. It cannot be taken back.</p>
          <code className="small wrap-anywhere">{query}</code>
        </Confirm>
      )}
      {asking === 'remove' && (
        <Confirm
          title={`Remove ${plural(some, 'dead job')}`}
          action="Remove"
          danger
          busy={change.isPending}
          onClose={() => setAsking(null)}
          onConfirm={() => change.mutate({ action: 'remove', ids: selected })}
        >
          <p>They are removed with payloads, errors and logs. It cannot be taken back.</p>
        </Confirm>
      )}
      {bulk !== null && <BulkProgress id={bulk} onClose={() => setBulk(null)} />}
    </>
  )
}

function RedriveAll({
  all,
  onConfirm,
  ...rest
}: {
  readonly all: string
  readonly busy: boolean
  readonly onClose: () => void
  readonly onConfirm: (perSecond: number | null) => void
}): ReactNode {
  const [speed, setSpeed] = useState('100')
  return (
    <Confirm
      title="Redrive all that fit"
      action="Redrive them"
      onConfirm={() => onConfirm(speed === '' ? null : Number(speed))}
      {...rest}
    >
      <p>This starts {all} anew, with all tries. You can watch it and stop it.</p>
      <Choice
        label="How fast"
        hint="Slowly, if you are not sure that the cause is mended."
        value={speed}
        onChange={(event) => setSpeed(event.target.value)}
      >
        {SPEEDS.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </Choice>
    </Confirm>
  )
}

import { type ReactNode, useState } from 'react'
import type { JobDetail } from '../../../../src/operations/schema/wire-types.ts'
import { parseExact, stringifyExact } from '../../api/exact.ts'
import { useAct, useApi } from '../../api/query.ts'
import { to, useGo } from '../../router.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Checkbox, Choice } from '../../ui/field.tsx'
import { JsonEditor, problemOf } from '../../ui/json-editor.tsx'

/**
 * Makes a new job like this one, perhaps with another payload or in another queue. The old one stays as it is, unless it is dead and
 * has found its heir in the new one.
 */
export function CopyDialog({
  job,
  onClose,
}: {
  readonly job: JobDetail['job']
  readonly onClose: () => void
}): ReactNode {
  const go = useGo()
  const before = stringifyExact(job.payload, 2)
  const [text, setText] = useState(before)
  const [queue, setQueue] = useState(job.queue)
  const queues = useApi('queues.list', {}).data?.queues ?? []
  const schema = useApi('queues.get', { queue }).data?.card?.schema
  const problem = problemOf(text)
  const isDead = job.state === 'dead'
  const [isRemoved, setRemoved] = useState(isDead)
  const remove = useAct('jobs.change')
  const again = useAct('jobs.copy', {
    told: 'The new job is on its way',
    quiet: true,
    onDone: ({ id }) => {
      if (isDead && isRemoved) remove.mutate({ action: 'remove', ids: [job.id] })
      onClose()
      go(to.job(id))
    },
  })
  const submit = (): void => {
    if (problem !== null) return
    again.mutate({
      id: job.id,
      ...(text === before ? {} : { payload: parseExact(text) }),
      ...(queue === job.queue ? {} : { queue }),
    })
  }
  return (
    <Dialog
      title="Edit and run again"
      onClose={onClose}
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" type="submit" icon="play" busy={again.isPending} disabled={problem !== null}>
            Run again
          </Button>
        </>
      }
    >
      <div className="stack">
        <p className="soft">
          This makes a new job{isDead ? '' : '. The old one stays as it is'}, and the new one says that it is
          a copy of the old.
        </p>
        <Choice label="Queue" value={queue} onChange={(event) => setQueue(event.target.value)}>
          {[...new Set([job.queue, ...queues.map((one) => one.queue)])].map((name) => (
            <option key={name}>{name}</option>
          ))}
        </Choice>
        <JsonEditor label="Payload" value={text} onChange={setText} schema={schema} />
        {isDead && (
          <Checkbox
            label="Remove the dead job afterwards"
            checked={isRemoved}
            onChange={(event) => setRemoved(event.target.checked)}
          />
        )}
        {again.error && (
          <p className="field-error" role="alert">
            {again.error.message}
          </p>
        )}
      </div>
    </Dialog>
  )
}

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
 * Copies a job, optionally with another payload or queue. The original is kept; a dead one can be removed.
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
  const copy = useAct('jobs.copy', {
    success: 'Copy enqueued',
    quiet: true,
    onDone: ({ id }) => {
      if (isDead && isRemoved) remove.mutate({ action: 'remove', ids: [job.id] })
      onClose()
      go(to.job(id))
    },
  })
  const submit = (): void => {
    if (problem !== null) return
    copy.mutate({
      id: job.id,
      ...(text === before ? {} : { payload: parseExact(text) }),
      ...(queue === job.queue ? {} : { queue }),
    })
  }
  return (
    <Dialog
      title="Edit and copy"
      onClose={onClose}
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" type="submit" icon="copy" busy={copy.isPending} disabled={problem !== null}>
            Enqueue copy
          </Button>
        </>
      }
    >
      <div className="stack">
        <p className="soft">
          Enqueues a new job that links to this one.{isDead ? '' : ' This job is not changed.'}
        </p>
        <Choice label="Queue" value={queue} onChange={(event) => setQueue(event.target.value)}>
          {[...new Set([job.queue, ...queues.map((one) => one.queue)])].map((name) => (
            <option key={name}>{name}</option>
          ))}
        </Choice>
        <JsonEditor label="Payload" value={text} onChange={setText} schema={schema} />
        {isDead && (
          <Checkbox
            label="Remove the dead job"
            checked={isRemoved}
            onChange={(event) => setRemoved(event.target.checked)}
          />
        )}
        {copy.error && (
          <p className="field-error" role="alert">
            {copy.error.message}
          </p>
        )}
      </div>
    </Dialog>
  )
}

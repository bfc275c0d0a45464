import { type ReactNode, useState } from 'react'
import { stringifyExact } from '../../api/exact.ts'
import { useAct, useApi } from '../../api/query.ts'
import { to, useGo } from '../../router.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Checkbox, Field } from '../../ui/field.tsx'
import { JsonEditor, readJson } from '../../ui/json-editor.tsx'
import type { DeadJob } from './dead.tsx'

/** A new job with what is mended: another payload, or another queue. */
export function RedriveEdited({
  job,
  onClose,
}: {
  readonly job: DeadJob
  readonly onClose: () => void
}): ReactNode {
  const [text, setText] = useState(() => stringifyExact(job.payload, 2))
  const [queue, setQueue] = useState(job.queue)
  const [isRemoved, setRemoved] = useState(true)
  const queues = useApi('queues.list', {}).data?.queues ?? []
  const go = useGo()
  const remove = useAct('jobs.change')
  const again = useAct('jobs.again', {
    told: 'The new job is enqueued.',
    onDone: ({ id }) => {
      if (isRemoved) remove.mutate({ action: 'remove', ids: [job.id] })
      onClose()
      go(to.job(id))
    },
  })
  const read = readJson(text)
  const isReady = 'value' in read && queue.trim() !== ''
  return (
    <Dialog
      title="Edit and run again"
      onClose={onClose}
      onSubmit={() => {
        if (isReady) again.mutate({ id: job.id, payload: read.value, queue: queue.trim() })
      }}
      footer={
        <>
          <Button onClick={onClose}>Keep as it is</Button>
          <Button type="submit" look="main" icon="play" disabled={!isReady} busy={again.isPending}>
            Run again
          </Button>
        </>
      }
    >
      <div className="stack">
        <p className="soft">
          A new job with the options of <code>…{job.id.slice(-8)}</code> and what you change here.
        </p>
        <Field
          label="Queue"
          value={queue}
          list="redrive-queues"
          onChange={(event) => setQueue(event.target.value)}
        />
        <datalist id="redrive-queues">
          {queues.map(({ queue: name }) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <JsonEditor label="Payload" value={text} onChange={setText} />
        <Checkbox
          label="Remove the dead job then"
          checked={isRemoved}
          onChange={(event) => setRemoved(event.target.checked)}
        />
      </div>
    </Dialog>
  )
}

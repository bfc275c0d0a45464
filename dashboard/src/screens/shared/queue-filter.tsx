import type { ReactNode } from 'react'
import { useApi } from '../../api/query.ts'
import { Choice } from '../../ui/field.tsx'

/** Selects one queue or all. */
export function QueueFilter({
  value,
  onChange,
}: {
  readonly value: string
  readonly onChange: (queue: string) => void
}): ReactNode {
  const names = (useApi('queues.list', {}).data?.queues ?? []).map(({ queue }) => queue)
  const all = value === '' || names.includes(value) ? names : [value, ...names]
  return (
    <div className="queue-filter">
      <Choice label="Queue" bare value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="">All queues</option>
        {all.map((queue) => (
          <option key={queue} value={queue}>
            {queue}
          </option>
        ))}
      </Choice>
    </div>
  )
}

import type { ReactNode } from 'react'
import { useApi } from '../../api/query.ts'
import { classes } from '../../ui/classes.ts'
import { Count } from '../../ui/count.tsx'

/** Dead jobs by queue and error. Selecting an error filters the list below. */
export function DeadGroups({
  queue,
  chosen,
  onChoose,
}: {
  readonly queue: string
  readonly chosen: string
  readonly onChoose: (id: string) => void
}): ReactNode {
  const request = useApi('errors.list', { limit: 100, ...(queue === '' ? {} : { queue }) })
  const groups = (request.data?.groups ?? []).filter(({ dead, id }) => dead > 0 || id === chosen)
  if (groups.length === 0) return null
  const byQueue = new Map<string, typeof groups>()
  for (const group of groups) byQueue.set(group.queue, [...(byQueue.get(group.queue) ?? []), group])
  return (
    <section className="dead-groups" aria-label="By error">
      {[...byQueue].map(([name, some]) => (
        <div key={name} className="dead-queue">
          <h2 className="small soft cut mono">{name}</h2>
          <ul>
            {some.map(({ id, name: error, message, dead }) => (
              <li key={id}>
                <button
                  type="button"
                  className={classes('dead-group', id === chosen && 'dead-group-on')}
                  aria-pressed={id === chosen}
                  title={`${error}: ${message}`}
                  onClick={() => onChoose(id === chosen ? '' : id)}
                >
                  <span className="cut grow">
                    <strong>{error}</strong> {message}
                  </span>
                  <span className="num" title="All deaths so far, including removed jobs">
                    <Count value={dead} brief /> ×
                  </span>
                </button>
              </li>
            ))}
          </ul>
        </div>
      ))}
    </section>
  )
}

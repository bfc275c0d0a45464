import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useApi } from '../../api/query.ts'
import { to } from '../../router.ts'
import { Card } from '../../ui/card.tsx'
import { TimeAgo } from '../../ui/time.tsx'
import { Usage } from './usage.tsx'

/** Further workers are on the workers page. */
const SHOWN = 8

/** The workers of a queue, with version and load. */
export function QueueWorkers({ queue }: { readonly queue: string }): ReactNode {
  const request = useApi('workers.list', {}, { every: 10_000 })
  if (!request.data) return null
  const serving = request.data.workers.filter(({ queues, life }) => life !== 'gone' && queues.includes(queue))
  return (
    <Card
      title="Workers"
      actions={
        <Link to="/workers" className="link small">
          View all workers
        </Link>
      }
    >
      {serving.length === 0 ? (
        <p className="soft">No worker handles this queue.</p>
      ) : (
        <ul className="queue-workers">
          {serving.slice(0, SHOWN).map(({ id, host, pid, version, running, concurrency, seenAt }) => (
            <li key={id}>
              <Link to={to.worker(id)} className="link">
                {host} · {pid}
              </Link>
              <span className="soft cut" title={version ?? undefined}>
                {version ?? ''}
              </span>
              <Usage running={running} slots={concurrency} workers={1} />
              <span className="small faint">
                <TimeAgo at={seenAt} />
              </span>
            </li>
          ))}
        </ul>
      )}
      {serving.length > SHOWN && <p className="small faint">and {serving.length - SHOWN} more</p>}
    </Card>
  )
}

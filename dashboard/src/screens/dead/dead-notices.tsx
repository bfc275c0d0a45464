import { Fragment, type ReactNode } from 'react'
import { Link } from 'wouter'
import type { DeadNotice } from '../../../../src/operations/schema/wire-types.ts'
import { usePages } from '../../api/pages.ts'
import { plural } from '../../format/numbers.ts'
import { to } from '../../router.ts'
import { Pager } from '../../ui/pager.tsx'
import { TimeAgo } from '../../ui/time.tsx'

/** Job ids shown per notice. */
const SHOWN = 3

/** NATS notices that exceeded their delivery limit. Renders nothing without NATS or without such notices. */
export function DeadNotices({ queue }: { readonly queue: string }): ReactNode {
  const request = usePages('deadNotices.list', { limit: 50 }, ({ notices }) => notices, { every: 10_000 })
  const notices = request.items.filter((notice) => queue === '' || notice.queue === queue)
  if (notices.length === 0) return null
  return (
    <details className="dead-notices">
      <summary>
        <h2>
          {plural(notices.length, 'undelivered NATS notice')}
          {request.hasMore && ' and more'}
        </h2>{' '}
        <span className="small soft">
          The delivery limit was reached without an acknowledgement. No job is lost: polling finds the waiting
          jobs in the store.
        </span>
      </summary>
      <ul>
        {notices.map((notice) => (
          <li key={`${notice.buriedAt} ${notice.queue} ${notice.ids[0] ?? notice.reason}`}>
            <NoticeLine notice={notice} />
          </li>
        ))}
      </ul>
      {request.hasMore && <Pager hasMore busy={request.isBusy} onMore={request.more} />}
    </details>
  )
}

function NoticeLine({
  notice: { queue, ids, deliveries, reason, buriedAt },
}: {
  readonly notice: DeadNotice
}): ReactNode {
  const more = ids.length - SHOWN
  return (
    <>
      <span className="wrap-anywhere">
        <Link to={to.queue(queue)} className="link mono">
          {queue}
        </Link>{' '}
        {ids.slice(0, SHOWN).map((id) => (
          <Fragment key={id}>
            <Link to={to.job(id)} className="link mono" title={id}>
              …{id.slice(-8)}
            </Link>{' '}
          </Fragment>
        ))}
        {more > 0 && <span className="soft">and {more} more</span>}
        {ids.length === 0 && <span className="soft">no job id</span>}
      </span>
      <span className="small soft wrap-anywhere">
        Delivered {plural(deliveries, 'time')}, given up <TimeAgo at={buriedAt} />: {reason}
      </span>
    </>
  )
}

import { Fragment, type ReactNode } from 'react'
import { Link } from 'wouter'
import type { DeadNotice } from '../../../../src/operations/schema/wire-types.ts'
import { usePages } from '../../api/pages.ts'
import { plural } from '../../format/numbers.ts'
import { to } from '../../router.ts'
import { Pager } from '../../ui/pager.tsx'
import { TimeAgo } from '../../ui/time.tsx'

/** Jobs of one notice that are shown by their ids. */
const SHOWN = 3

/** Notices of NATS that were delivered too often. Nothing is here with another notifier, and while there are none. */
export function DeadNotices({ queue }: { readonly queue: string }): ReactNode {
  const asked = usePages('deadNotices.list', { limit: 50 }, ({ notices }) => notices, { every: 10_000 })
  const notices = asked.items.filter((notice) => queue === '' || notice.queue === queue)
  if (notices.length === 0) return null
  return (
    <details className="dead-notices">
      <summary>
        <h2>
          {plural(notices.length, 'dead notice')} of NATS{asked.hasMore && ', and more'}
        </h2>{' '}
        <span className="small soft">
          Delivered too often without an answer. The jobs are in the store, and a sweep finds those that wait.
        </span>
      </summary>
      <ul>
        {notices.map((notice) => (
          <li key={`${notice.buriedAt} ${notice.queue} ${notice.ids[0] ?? notice.reason}`}>
            <NoticeLine notice={notice} />
          </li>
        ))}
      </ul>
      {asked.hasMore && <Pager hasMore busy={asked.isBusy} onMore={asked.more} />}
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
        {ids.length === 0 && <span className="soft">names no job</span>}
      </span>
      <span className="small soft wrap-anywhere">
        Delivered {plural(deliveries, 'time')}, dead since <TimeAgo at={buriedAt} />: {reason}
      </span>
    </>
  )
}

import type { ReactNode } from 'react'
import { Button } from './button.tsx'

/** Loads the next page. Keyset pagination keeps pages stable while jobs are added and removed. */
export function Pager({
  hasMore,
  busy,
  onMore,
  note,
}: {
  readonly hasMore: boolean
  readonly busy: boolean
  readonly onMore: () => void
  readonly note?: ReactNode
}): ReactNode {
  return (
    <div className="pager">
      <span className="small faint">{note}</span>
      {hasMore && (
        <Button small busy={busy} onClick={onMore}>
          Show more
        </Button>
      )}
    </div>
  )
}

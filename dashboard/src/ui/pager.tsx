import type { ReactNode } from 'react'
import { Button } from './button.tsx'

/** Asks for the next page. Pages go on by a key, so a page never shifts while jobs come and go. */
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

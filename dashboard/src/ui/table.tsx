import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, type ReactNode, useRef, useState } from 'react'
import { classes } from './classes.ts'

export interface Column<Row> {
  readonly id: string
  readonly title: ReactNode
  readonly cell: (row: Row) => ReactNode
  /** A `grid-template-columns` value: `minmax(8rem, 2fr)`. @default 'minmax(6rem, 1fr)' */
  readonly width?: string
  readonly align?: 'end'
  /** Hidden on phones. */
  readonly wideOnly?: boolean
  /** Hidden on tablets, too. */
  readonly roomyOnly?: boolean
}

export interface TableProps<Row> {
  readonly rows: readonly Row[]
  readonly columns: readonly Column<Row>[]
  readonly keyOf: (row: Row) => string
  /** The accessible name of the table. */
  readonly label: string
  /** Called on click and Enter. */
  readonly onOpen?: (row: Row) => void
  readonly selected?: ReadonlySet<string>
  readonly onSelect?: (keys: ReadonlySet<string>) => void
  /** The key of the row that is open, such as in a drawer. */
  readonly active?: string | null
  readonly footer?: ReactNode
  /** The height of every row in pixels. @default 40 */
  readonly rowHeight?: number
}

/**
 * A virtualized table. Keys: j and k or the arrows move, Enter opens, x or Space selects, Shift-x selects the
 * range from the last selected row.
 */
export function Table<Row>({
  rows,
  columns,
  keyOf,
  label,
  onOpen,
  selected,
  onSelect,
  active,
  footer,
  rowHeight = 40,
}: TableProps<Row>): ReactNode {
  const scroller = useRef<HTMLDivElement>(null)
  const [at, setAt] = useState(0)
  const lastPicked = useRef<number | null>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    getItemKey: (index) => (rows[index] === undefined ? index : keyOf(rows[index])),
  })
  const templateOf = (some: readonly Column<Row>[]): string =>
    [...(onSelect ? ['2.25rem'] : []), ...some.map(({ width = 'minmax(6rem, 1fr)' }) => width)].join(' ')
  const middle = columns.filter(({ roomyOnly }) => !roomyOnly)
  const narrow = middle.filter(({ wideOnly }) => !wideOnly)
  const templates = {
    '--columns': templateOf(columns),
    '--columns-middle': templateOf(middle),
    // On phones columns may shrink to any width: names are truncated, and no column is out of view.
    '--columns-narrow': templateOf(narrow).replaceAll(/minmax\([^,]+,/g, 'minmax(0,'),
  }

  const pick = (index: number, isRange: boolean): void => {
    const row = rows[index]
    if (!onSelect || row === undefined) return
    const next = new Set(selected)
    const from = isRange && lastPicked.current !== null ? lastPicked.current : index
    const isOn = !next.has(keyOf(row))
    for (let each = Math.min(from, index); each <= Math.max(from, index); each += 1) {
      const key = keyOf(rows[each] as Row)
      if (isOn) next.add(key)
      else next.delete(key)
    }
    lastPicked.current = index
    onSelect(next)
  }

  const go = (to: number): void => {
    const index = Math.max(0, Math.min(rows.length - 1, to))
    setAt(index)
    virtual.scrollToIndex(index)
    requestAnimationFrame(() => {
      scroller.current?.querySelector<HTMLElement>(`[data-index="${index}"]`)?.focus({ preventScroll: true })
    })
  }

  const press = (event: KeyboardEvent<HTMLDivElement>): void => {
    if (event.metaKey || event.ctrlKey || event.altKey) return
    const target = event.target as HTMLElement
    // Buttons and links in a row handle their own keys, except for moving between rows.
    const isControl = target.closest('a, button, input') !== null
    const steps: Readonly<Record<string, number>> = {
      j: at + 1,
      ArrowDown: at + 1,
      k: at - 1,
      ArrowUp: at - 1,
      Home: 0,
      End: rows.length - 1,
      PageDown: at + 10,
      PageUp: at - 10,
    }
    const to = steps[event.key]
    if (to !== undefined) {
      event.preventDefault()
      go(to)
    } else if (isControl) {
      return
    } else if (event.key === 'Enter') {
      const row = rows[at]
      if (row !== undefined) onOpen?.(row)
    } else if (onSelect && (event.key === 'x' || event.key === 'X' || event.key === ' ')) {
      event.preventDefault()
      pick(at, event.shiftKey)
    }
  }

  const isAll = rows.length > 0 && rows.every((row) => selected?.has(keyOf(row)))
  return (
    <div
      className="table"
      ref={scroller}
      role="grid"
      aria-label={label}
      aria-rowcount={rows.length}
      aria-multiselectable={onSelect ? true : undefined}
      onKeyDown={press}
      style={templates as never}
    >
      <div className="table-head" role="row" tabIndex={-1}>
        {onSelect && (
          <span role="columnheader" className="table-pick" tabIndex={-1}>
            <input
              type="checkbox"
              aria-label="Select all loaded"
              checked={isAll}
              onChange={() => onSelect(isAll ? new Set() : new Set(rows.map(keyOf)))}
            />
          </span>
        )}
        {columns.map(({ id, title, align, ...when }) => (
          <span
            key={id}
            role="columnheader"
            tabIndex={-1}
            className={classes('table-cell', align === 'end' && 'table-end', whenOf(when))}
          >
            {title}
          </span>
        ))}
      </div>
      <div className="table-rows" role="rowgroup" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start, key }) => {
          const row = rows[index] as Row
          const id = keyOf(row)
          return (
            <div
              key={key}
              role="row"
              data-index={index}
              data-key={id}
              aria-rowindex={index + 1}
              aria-selected={onSelect ? (selected?.has(id) ?? false) : undefined}
              tabIndex={index === at ? 0 : -1}
              className={classes(
                'table-row',
                onOpen && 'table-row-open',
                (selected?.has(id) || active === id) && 'table-row-on',
              )}
              style={{ transform: `translateY(${start}px)`, height: rowHeight }}
              onFocus={() => setAt(index)}
              onKeyDown={() => undefined}
              onClick={(event) => {
                if ((event.target as HTMLElement).closest('a, button, input, label')) return
                setAt(index)
                if (event.metaKey || event.ctrlKey || event.shiftKey) pick(index, event.shiftKey)
                else onOpen?.(row)
              }}
            >
              {onSelect && (
                <span role="gridcell" className="table-pick" tabIndex={-1}>
                  <input
                    type="checkbox"
                    tabIndex={-1}
                    aria-label={`Select ${id}`}
                    checked={selected?.has(id) ?? false}
                    onChange={() => undefined}
                    onClick={(event) => pick(index, event.shiftKey)}
                  />
                </span>
              )}
              {columns.map(({ id: column, cell, align, ...when }) => (
                <span
                  key={column}
                  role="gridcell"
                  tabIndex={-1}
                  className={classes('table-cell', align === 'end' && 'table-end', whenOf(when))}
                >
                  {cell(row)}
                </span>
              ))}
            </div>
          )
        })}
      </div>
      {footer}
    </div>
  )
}

/** The class that hides a column on smaller screens. */
function whenOf({ wideOnly, roomyOnly }: Pick<Column<never>, 'wideOnly' | 'roomyOnly'>): string | false {
  return roomyOnly ? 'roomy-only' : wideOnly ? 'wide-only' : false
}

import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { Button, type ButtonProps } from './button.tsx'
import { classes } from './classes.ts'
import { Icon, type IconName } from './icon.tsx'

export type MenuItem =
  | {
      readonly label: string
      readonly icon?: IconName
      readonly onSelect: () => void
      readonly danger?: boolean
      readonly disabled?: boolean
      readonly hint?: string
      readonly checked?: boolean
      /** The menu stays open, for selecting several items. */
      readonly stays?: boolean
    }
  | 'line'

/** A button that opens a list of actions. */
export function Menu({
  label,
  items,
  children,
  ...button
}: Omit<ButtonProps, 'onClick'> & {
  readonly label: string
  readonly items: readonly MenuItem[]
  readonly children?: ReactNode
}): ReactNode {
  const [isOpen, setOpen] = useState(false)
  const root = useRef<HTMLDivElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const id = useId()

  useEffect(() => {
    if (!isOpen) return
    const follow = (): void => {
      if (list.current && root.current) place(list.current, root.current)
    }
    list.current?.showPopover()
    follow()
    root.current
      ?.querySelector<HTMLElement>('[role^=menuitem]:not(:disabled)')
      ?.focus({ preventScroll: true })
    const away = (event: Event): void => {
      if (!root.current?.contains(event.target as Node)) setOpen(false)
    }
    document.addEventListener('pointerdown', away)
    window.addEventListener('resize', follow)
    document.addEventListener('scroll', follow, true)
    return () => {
      document.removeEventListener('pointerdown', away)
      window.removeEventListener('resize', follow)
      document.removeEventListener('scroll', follow, true)
    }
  }, [isOpen])

  const move = (event: KeyboardEvent<HTMLDivElement>): void => {
    if (!isOpen) return
    const all = [...event.currentTarget.querySelectorAll<HTMLElement>('[role^=menuitem]:not(:disabled)')]
    const at = all.indexOf(document.activeElement as HTMLElement)
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key]
    if (to !== undefined) {
      event.preventDefault()
      all[(to + all.length) % all.length]?.focus()
    }
    if (event.key === 'Escape') {
      event.preventDefault()
      event.stopPropagation()
      setOpen(false)
      root.current?.querySelector<HTMLElement>('button')?.focus()
    }
  }

  return (
    <div className="menu" ref={root} onKeyDown={move}>
      <Button
        {...button}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        aria-label={children ? undefined : label}
        title={children ? undefined : label}
        onClick={() => setOpen(!isOpen)}
      >
        {children && (
          <span className="row">
            {children} <Icon name="down" size={12} />
          </span>
        )}
      </Button>
      {isOpen && (
        <div className="menu-list" role="menu" id={id} aria-label={label} ref={list} popover="manual">
          {items.map((item, index) =>
            item === 'line' ? (
              // biome-ignore lint/suspicious/noArrayIndexKey: separators have no identity
              <hr key={`line-${index}`} />
            ) : (
              <button
                key={item.label}
                type="button"
                role={item.checked === undefined ? 'menuitem' : 'menuitemcheckbox'}
                aria-checked={item.checked}
                tabIndex={-1}
                disabled={item.disabled}
                className={classes('menu-item', item.danger && 'menu-item-danger')}
                title={item.hint}
                onClick={() => {
                  if (!item.stays) {
                    setOpen(false)
                    // A dialog opened by the item returns the focus here when it closes.
                    root.current?.querySelector<HTMLElement>('button')?.focus()
                  }
                  item.onSelect()
                }}
              >
                {item.checked === undefined ? (
                  item.icon && <Icon name={item.icon} />
                ) : (
                  <span className="menu-check">{item.checked && <Icon name="check" />}</span>
                )}
                <span className="grow">{item.label}</span>
              </button>
            ),
          )}
        </div>
      )}
    </div>
  )
}

const GAP_PX = 4

/** Positions the menu below its button, or above it if there is no room below. */
function place(list: HTMLElement, button: HTMLElement): void {
  const at = button.getBoundingClientRect()
  const { width, height } = list.getBoundingClientRect()
  const right = document.documentElement.clientWidth
  const bottom = document.documentElement.clientHeight
  const isBelow = at.bottom + GAP_PX + height <= bottom || at.top < height
  list.style.left = `${Math.max(GAP_PX, Math.min(at.right - width, right - width - GAP_PX))}px`
  list.style.top = `${isBelow ? at.bottom + GAP_PX : at.top - GAP_PX - height}px`
}

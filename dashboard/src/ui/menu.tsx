import {
  type KeyboardEvent,
  type ReactNode,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
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

  // In the top layer, so that no table, card or dialog around it cuts it off.
  useLayoutEffect(() => {
    const [button, menu] = [root.current?.firstElementChild, list.current]
    if (!isOpen || !button || !menu) return
    menu.showPopover()
    const close = (event: Event): void => {
      if (event.target !== menu) setOpen(false)
    }
    placeBeside(menu, button.getBoundingClientRect())
    addEventListener('resize', close)
    document.addEventListener('scroll', close, { capture: true, passive: true })
    return () => {
      removeEventListener('resize', close)
      document.removeEventListener('scroll', close, { capture: true })
    }
  }, [isOpen])

  useEffect(() => {
    if (!isOpen) return
    root.current?.querySelector<HTMLElement>('[role^=menuitem]:not(:disabled)')?.focus()
    const away = (event: Event): void => {
      if (!root.current?.contains(event.target as Node)) setOpen(false)
    }
    document.addEventListener('pointerdown', away)
    return () => document.removeEventListener('pointerdown', away)
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
              // biome-ignore lint/suspicious/noArrayIndexKey: lines have nothing else
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
                  if (item.checked === undefined) setOpen(false)
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

/** Below the button and at its right edge; above it, or further to the right, where there is no room. */
function placeBeside(menu: HTMLElement, button: DOMRect): void {
  const { offsetWidth: width, offsetHeight: height } = menu
  const fits = button.bottom + 4 + height <= innerHeight || button.top < height
  menu.style.top = `${fits ? button.bottom + 4 : button.top - 4 - height}px`
  menu.style.left = `${Math.max(8, Math.min(button.right, innerWidth - 8) - width)}px`
}

import type { KeyboardEvent, ReactNode } from 'react'
import { classes } from './classes.ts'

export interface Tab<Id extends string> {
  readonly id: Id
  readonly label: ReactNode
}

/** Tabs by the ARIA authoring practices: arrow keys move between them. */
export function Tabs<Id extends string>({
  tabs,
  value,
  onChange,
  label,
}: {
  readonly tabs: readonly Tab<Id>[]
  readonly value: Id
  readonly onChange: (id: Id) => void
  readonly label: string
}): ReactNode {
  const move = (event: KeyboardEvent<HTMLDivElement>): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const at = tabs.findIndex(({ id }) => id === value)
    const next = tabs[(at + step + tabs.length) % tabs.length]
    if (!next) return
    onChange(next.id)
    const buttons = event.currentTarget.querySelectorAll<HTMLElement>('[role=tab]')
    buttons[tabs.indexOf(next)]?.focus()
  }
  return (
    <div className="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {tabs.map(({ id, label: text }) => (
        <button
          key={id}
          type="button"
          role="tab"
          aria-selected={id === value}
          tabIndex={id === value ? 0 : -1}
          className={classes('tab', id === value && 'tab-on')}
          onClick={() => onChange(id)}
        >
          {text}
        </button>
      ))}
    </div>
  )
}

/** A segmented control: a few options side by side, one of which is selected. */
export function Segments<Value extends string>({
  options,
  value,
  onChange,
  label,
}: {
  readonly options: readonly { readonly value: Value; readonly label: ReactNode; readonly title?: string }[]
  readonly value: Value
  readonly onChange: (value: Value) => void
  readonly label: string
}): ReactNode {
  return (
    <fieldset className="segments" aria-label={label}>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          title={option.title}
          onClick={() => onChange(option.value)}
        >
          {option.label}
        </button>
      ))}
    </fieldset>
  )
}

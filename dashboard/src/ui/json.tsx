import { type ReactNode, useState } from 'react'
import { ExactNumber, stringifyExact } from '../api/exact.ts'
import { CopyButton } from './copy.tsx'

/** Entries of an object or array shown initially. */
const SHOWN = 100
/** Longer strings are truncated until expanded. */
const STRING_SHOWN = 2_000

/** A read-only JSON tree: collapsible, with exact numbers. */
export function JsonView({
  value,
  open = 2,
  label = 'JSON',
}: {
  readonly value: unknown
  /** The number of levels expanded initially. */
  readonly open?: number
  readonly label?: string
}): ReactNode {
  return (
    <div className="json" role="group" aria-label={label}>
      <div className="json-copy">
        <CopyButton text={() => stringifyExact(value, 2)} label={`Copy ${label}`} />
      </div>
      <Value value={value} open={open} />
    </div>
  )
}

function Value({
  value,
  open,
  name,
}: {
  readonly value: unknown
  readonly open: number
  readonly name?: string
}): ReactNode {
  const isTree = value !== null && typeof value === 'object' && !(value instanceof ExactNumber)
  const isEmpty = isTree && Object.keys(value).length === 0
  if (isTree && !isEmpty) return <Tree value={value} open={open} {...(name === undefined ? {} : { name })} />
  return (
    <div className="json-line">
      {name !== undefined && <Key name={name} />}
      <Leaf value={value} />
    </div>
  )
}

function Key({ name }: { readonly name: string }): ReactNode {
  return <span className="json-key">{name}: </span>
}

function Tree({
  value,
  open,
  name,
}: {
  readonly value: object
  readonly open: number
  readonly name?: string
}): ReactNode {
  const [isOpen, setOpen] = useState(open > 0)
  const [shown, setShown] = useState(SHOWN)
  const entries = Object.entries(value)
  const [left, right] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  return (
    <div>
      <button type="button" className="json-fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span className="json-arrow" aria-hidden="true" />
        {name !== undefined && <Key name={name} />}
        <span className="json-mark">{left}</span>
        {!isOpen && (
          <span className="json-mark">
            <span className="faint"> {entries.length} </span>
            {right}
          </span>
        )}
      </button>
      {isOpen && (
        <>
          <div className="json-inside">
            {entries.slice(0, shown).map(([key, item]) => (
              <Value key={key} name={key} value={item} open={open - 1} />
            ))}
            {entries.length > shown && (
              <button type="button" className="json-more" onClick={() => setShown(shown + SHOWN * 10)}>
                {entries.length - shown} more
              </button>
            )}
          </div>
          <div className="json-mark json-end">{right}</div>
        </>
      )}
    </div>
  )
}

function Leaf({ value }: { readonly value: unknown }): ReactNode {
  const [isExpanded, setExpanded] = useState(false)
  if (typeof value === 'string') {
    const isCut = !isExpanded && value.length > STRING_SHOWN
    return (
      <>
        <span className="json-text">"{isCut ? value.slice(0, STRING_SHOWN) : value}"</span>
        {isCut && (
          <button type="button" className="json-more" onClick={() => setExpanded(true)}>
            … {value.length - STRING_SHOWN} more characters
          </button>
        )}
      </>
    )
  }
  if (typeof value === 'number' || value instanceof ExactNumber)
    return <span className="json-number">{String(value)}</span>
  if (value === undefined) return <span className="faint">undefined</span>
  if (typeof value === 'object' && value !== null)
    return <span className="json-mark">{Array.isArray(value) ? '[]' : '{}'}</span>
  return <span className="json-word">{JSON.stringify(value)}</span>
}

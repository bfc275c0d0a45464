import { type ReactNode, useState } from 'react'
import { ExactNumber, stringifyExact } from '../api/exact.ts'
import { CopyButton } from './copy.tsx'

/** Entries of one object or list that are shown at first. */
const SHOWN = 100
/** Texts longer than this are cut until somebody asks for the rest. */
const TEXT_SHOWN = 2_000

/** JSON to look at: foldable, numbers as they were written, everything as text. */
export function JsonView({
  value,
  open = 2,
  label = 'JSON',
}: {
  readonly value: unknown
  /** So many levels are open at first. */
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
  const [isWhole, setWhole] = useState(false)
  if (typeof value === 'string') {
    const isCut = !isWhole && value.length > TEXT_SHOWN
    return (
      <>
        <span className="json-text">"{isCut ? value.slice(0, TEXT_SHOWN) : value}"</span>
        {isCut && (
          <button type="button" className="json-more" onClick={() => setWhole(true)}>
            … {value.length - TEXT_SHOWN} more characters
          </button>
        )}
      </>
    )
  }
  if (typeof value === 'number' || value instanceof ExactNumber)
    return <span className="json-number">{String(value)}</span>
  if (value === undefined) return <span className="faint">nothing</span>
  if (typeof value === 'object' && value !== null)
    return <span className="json-mark">{Array.isArray(value) ? '[]' : '{}'}</span>
  return <span className="json-word">{JSON.stringify(value)}</span>
}

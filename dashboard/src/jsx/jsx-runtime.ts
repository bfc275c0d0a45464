/**
 * What the compiler calls for every element of the dashboard (`jsxImportSource` in tsconfig.json and vite.config.ts): React's
 * own function, after text has been made harmless. Here no screen can forget it. The values of fields stay as they are: what
 * a person edits must be what is stored.
 */
import type { ElementType, Key, ReactElement } from 'react'
import { Fragment, type JSX, jsx as reactJsx, jsxs as reactJsxs } from 'react/jsx-runtime'
import { withoutBidi } from '../format/bidi.ts'

export { Fragment, type JSX }

type Props = Readonly<Record<string, unknown>>

/** Attributes that a browser shows or reads aloud. */
const SHOWN = ['title', 'alt', 'placeholder', 'aria-label', 'aria-description', 'aria-valuetext'] as const

export function jsx(type: ElementType, props: Props, key?: Key): ReactElement {
  return reactJsx(type, harmless(props), key)
}

export function jsxs(type: ElementType, props: Props, key?: Key): ReactElement {
  return reactJsxs(type, harmless(props), key)
}

function harmless(props: Props): Props {
  let changed: Record<string, unknown> | undefined
  const put = (name: string, value: unknown): void => {
    if (value !== props[name]) changed = { ...(changed ?? props), [name]: value }
  }
  put('children', child(props['children']))
  for (const name of SHOWN) if (typeof props[name] === 'string') put(name, withoutBidi(props[name]))
  return changed ?? props
}

function child(value: unknown): unknown {
  if (typeof value === 'string') return withoutBidi(value)
  if (!Array.isArray(value)) return value
  const children = value.map(child)
  return children.every((one, index) => one === value[index]) ? value : children
}

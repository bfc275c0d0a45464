/**
 * The JSX runtime of the dashboard (`jsxImportSource` in tsconfig.json and vite.config.ts): React's own,
 * after escaping bidirectional control characters in text. Doing it here means that no screen can forget it.
 * Values of form fields are not changed, because the user edits what is stored.
 */
import type { ElementType, Key, ReactElement } from 'react'
import { Fragment, type JSX, jsx as reactJsx, jsxs as reactJsxs } from 'react/jsx-runtime'
import { withoutBidi } from '../format/bidi.ts'

export { Fragment, type JSX }

type Props = Readonly<Record<string, unknown>>

/** Attributes that a browser displays or a screen reader announces. */
const SHOWN = ['title', 'alt', 'placeholder', 'aria-label', 'aria-description', 'aria-valuetext'] as const

export function jsx(type: ElementType, props: Props, key?: Key): ReactElement {
  return reactJsx(type, escapeProps(props), key)
}

export function jsxs(type: ElementType, props: Props, key?: Key): ReactElement {
  return reactJsxs(type, escapeProps(props), key)
}

function escapeProps(props: Props): Props {
  let changed: Record<string, unknown> | undefined
  const put = (name: string, value: unknown): void => {
    if (value !== props[name]) changed = { ...(changed ?? props), [name]: value }
  }
  put('children', escapeChild(props['children']))
  for (const name of SHOWN) if (typeof props[name] === 'string') put(name, withoutBidi(props[name]))
  return changed ?? props
}

function escapeChild(value: unknown): unknown {
  if (typeof value === 'string') return withoutBidi(value)
  if (!Array.isArray(value)) return value
  const children = value.map(escapeChild)
  return children.every((one, index) => one === value[index]) ? value : children
}

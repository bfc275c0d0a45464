/** The same for Vite's development server, which calls `jsxDEV`. */
import type { ElementType, Key, ReactElement } from 'react'
import { jsx, jsxs } from './jsx-runtime.ts'

export { Fragment, type JSX } from './jsx-runtime.ts'

export function jsxDEV(
  type: ElementType,
  props: Readonly<Record<string, unknown>>,
  key: Key | undefined,
  isStatic: boolean,
): ReactElement {
  return (isStatic ? jsxs : jsx)(type, props, key)
}

import type { ReactNode } from 'react'
import { CopyButton } from './copy.tsx'

/** Code with a copy button. */
export function CodeBlock({
  code,
  label = 'Copy',
}: {
  readonly code: string
  readonly label?: string
}): ReactNode {
  return (
    <div className="code">
      <pre>
        <code>{code}</code>
      </pre>
      <CopyButton text={code} label={label} />
    </div>
  )
}

/** An id with a copy button. */
export function Id({ text, short = false }: { readonly text: string; readonly short?: boolean }): ReactNode {
  return (
    <span className="id" title={text}>
      <code>{short && text.length > 13 ? `…${text.slice(-8)}` : text}</code>
      <CopyButton text={text} label="Copy ID" />
    </span>
  )
}

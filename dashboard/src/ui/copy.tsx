import { type ReactNode, useState } from 'react'
import { IconButton } from './button.tsx'

/**
 * Copies a string to the clipboard. Falls back to `execCommand` on plain HTTP, where the clipboard API is
 * unavailable.
 */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const area = document.createElement('textarea')
    area.value = text
    area.className = 'unseen'
    // With an open dialog, only elements inside it can be selected.
    ;(document.querySelector('dialog[open]') ?? document.body).append(area)
    area.select()
    const isDone = document.execCommand('copy')
    area.remove()
    return isDone
  }
}

export function CopyButton({
  text,
  label = 'Copy',
}: {
  readonly text: string | (() => string)
  readonly label?: string
}): ReactNode {
  const [isCopied, setCopied] = useState(false)
  const copy = async (): Promise<void> => {
    setCopied(await copyText(typeof text === 'string' ? text : text()))
    setTimeout(() => setCopied(false), 1_500)
  }
  return (
    <IconButton
      label={isCopied ? 'Copied' : label}
      icon={isCopied ? 'check' : 'copy'}
      small
      onClick={(event) => {
        event.stopPropagation()
        void copy()
      }}
    />
  )
}

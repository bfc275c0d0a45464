import type { ReactNode } from 'react'
import { parseExact, stringifyExact } from '../api/exact.ts'
import { Button } from './button.tsx'
import { TextField } from './field.tsx'

/** A text that should be JSON: the value, or what is wrong with it and where. */
export function readJson(text: string): { readonly value: unknown } | { readonly error: string } {
  if (text.trim() === '') return { error: 'Write a value: {} is an empty object, null is nothing.' }
  try {
    return { value: parseExact(text) }
  } catch (error) {
    return { error: placed(text, error instanceof Error ? error.message : String(error)) }
  }
}

/** Browsers say where it is wrong as a number of characters; people count lines. */
function placed(text: string, message: string): string {
  const at = /position (\d+)/.exec(message)?.[1]
  if (at === undefined || message.includes('line ')) return message
  const before = text.slice(0, Number(at)).split('\n')
  return `${message} (line ${before.length}, column ${(before.at(-1) ?? '').length + 1})`
}

/** JSON to write. Tab leaves the field, as everywhere. */
export function JsonEditor({
  label,
  text,
  onChange,
  rows = 12,
  hint,
}: {
  readonly label: string
  readonly text: string
  readonly onChange: (text: string) => void
  readonly rows?: number
  readonly hint?: string
}): ReactNode {
  const read = readJson(text)
  const isWrong = 'error' in read
  return (
    <div className="json-editor">
      <TextField
        label={label}
        className="mono"
        rows={rows}
        value={text}
        onChange={(event) => onChange(event.target.value)}
        error={isWrong ? read.error : null}
        hint={hint}
      />
      <Button
        small
        look="quiet"
        disabled={isWrong}
        onClick={() => !isWrong && onChange(stringifyExact(read.value, 2))}
      >
        Tidy up
      </Button>
    </div>
  )
}

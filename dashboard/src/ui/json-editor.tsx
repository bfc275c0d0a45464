import type { KeyboardEvent, ReactNode } from 'react'
import { parseExact, stringifyExact } from '../api/exact.ts'
import { faultsOf } from '../format/json-schema.ts'
import { Button } from './button.tsx'
import { TextField } from './field.tsx'

/** The syntax error of a JSON string, with its position; null if it is valid. */
export function problemOf(text: string): string | null {
  try {
    parseExact(text)
    return null
  } catch (error) {
    return `Invalid JSON: ${withPosition(error instanceof Error ? error.message : String(error), text)}`
  }
}

function withPosition(message: string, text: string): string {
  const at = /position (\d+)/.exec(message)?.[1]
  if (at === undefined || /line \d/.test(message)) return message
  const before = text.slice(0, Number(at)).split('\n')
  return `${message} (line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1})`
}

/** Parses a JSON string: the value, or the syntax error with its position. */
export function readJson(text: string): { readonly value: unknown } | { readonly error: string } {
  if (text.trim() === '') return { error: 'Enter a JSON value, such as {} or null.' }
  const error = problemOf(text)
  return error === null ? { value: parseExact(text) } : { error }
}

/** A JSON editor that validates while typing, also against a schema if there is one. */
export function JsonEditor({
  label,
  value,
  onChange,
  schema,
  hint,
  rows = 12,
}: {
  readonly label: string
  readonly value: string
  readonly onChange: (text: string) => void
  /** JSON Schema, as a hint: the server or the worker decides. */
  readonly schema?: unknown
  readonly hint?: string | undefined
  readonly rows?: number
}): ReactNode {
  const problem = problemOf(value)
  const faults = problem === null && schema ? faultsOf(schema, parseExact(value)) : []
  const press = (event: KeyboardEvent<HTMLTextAreaElement>): void => {
    // Only indents new lines. Tab moves to the next field as usual.
    if (event.key !== 'Enter' || event.shiftKey || event.metaKey || event.ctrlKey) return
    const area = event.currentTarget
    const line = value.slice(0, area.selectionStart).split('\n').at(-1) ?? ''
    const depth = /^\s*/.exec(line)?.[0] ?? ''
    const deeper = /[{[]\s*$/.test(line) ? '  ' : ''
    event.preventDefault()
    area.setRangeText(`\n${depth}${deeper}`, area.selectionStart, area.selectionEnd, 'end')
    onChange(area.value)
  }
  return (
    <div className="stack tight">
      <TextField
        label={label}
        className="mono json-editor"
        rows={rows}
        value={value}
        error={problem}
        hint={hint}
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={press}
      />
      {faults.length > 0 && (
        <ul className="schema-faults" aria-live="polite">
          {faults.map((fault) => (
            <li key={fault}>{fault}</li>
          ))}
        </ul>
      )}
      <div>
        <Button
          small
          look="quiet"
          disabled={problem !== null}
          onClick={() => onChange(stringifyExact(parseExact(value), 2))}
        >
          Format
        </Button>
      </div>
    </div>
  )
}

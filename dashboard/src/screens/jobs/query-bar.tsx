import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { IconButton } from '../../ui/button.tsx'
import { classes } from '../../ui/classes.ts'
import { Icon } from '../../ui/icon.tsx'
import { termAt } from './query-text.ts'
import { type Suggestion, useSuggestions } from './suggest.ts'

/** The search field for jobs. Completes fields and values; Enter searches. */
export function QueryBar({
  query,
  onAsk,
  error,
}: {
  readonly query: string
  readonly onAsk: (query: string) => void
  readonly error: string | null
}): ReactNode {
  const [text, setText] = useState(query)
  const [caret, setCaret] = useState(query.length)
  const [isOpen, setOpen] = useState(false)
  const [at, setAt] = useState(-1)
  const input = useRef<HTMLInputElement>(null)
  const id = useId()
  const submitted = useRef(query)
  useEffect(() => {
    // Follow changes from the tabs, a view or the back button, but not the query sent from here: the user may
    // have typed on.
    if (submitted.current === query) return
    submitted.current = query
    setText(query)
  }, [query])
  const term = termAt(text, caret)
  const suggestions = useSuggestions(term.text, isOpen)

  const send = (next: string): void => {
    submitted.current = next.trim()
    onAsk(submitted.current)
  }
  const ask = (next: string): void => {
    setOpen(false)
    send(next)
  }
  const take = ({ term: taken, isOpen: isMore }: Suggestion): void => {
    const after = text.slice(term.from + term.text.length)
    const next = `${text.slice(0, term.from)}${taken}${isMore ? '' : after.startsWith(' ') ? '' : ' '}${after}`
    const place = term.from + taken.length + (isMore ? 0 : 1)
    // Synchronous, because the next key press can arrive before the next frame.
    flushSync(() => {
      setText(next)
      setCaret(place)
      setAt(-1)
    })
    input.current?.focus()
    input.current?.setSelectionRange(place, place)
    if (!isMore) send(next)
  }
  const press = (event: KeyboardEvent<HTMLInputElement>): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined && suggestions.length > 0) {
      event.preventDefault()
      setOpen(true)
      setAt(
        (at + step + suggestions.length + 1) % (suggestions.length + 1) === suggestions.length
          ? -1
          : (at + step + suggestions.length) % suggestions.length,
      )
    } else if (event.key === 'Enter') {
      event.preventDefault()
      const chosen = isOpen ? suggestions[at] : undefined
      if (chosen) take(chosen)
      else ask(text)
    } else if (event.key === 'Tab' && isOpen && !event.shiftKey) {
      const chosen = suggestions[Math.max(0, at)]
      if (chosen && term.text !== '') {
        event.preventDefault()
        take(chosen)
      }
    } else if (event.key === 'Escape') {
      if (isOpen) setOpen(false)
      else input.current?.blur()
    }
  }
  return (
    <div className="query">
      <div className={classes('query-line', error && 'query-bad')}>
        <Icon name="search" />
        <input
          ref={input}
          value={text}
          data-search
          role="combobox"
          aria-label="Query"
          aria-expanded={isOpen && suggestions.length > 0}
          aria-controls={`${id}-list`}
          aria-activedescendant={isOpen && at >= 0 ? `${id}-${at}` : undefined}
          aria-describedby={error ? `${id}-error` : undefined}
          aria-invalid={error ? true : undefined}
          autoComplete="off"
          autoCapitalize="off"
          spellCheck={false}
          placeholder="state:dead queue:mail payload.user.id:42 error:~timeout since:1h"
          onChange={(event) => {
            setText(event.target.value)
            setCaret(event.target.selectionStart ?? event.target.value.length)
            setOpen(true)
            setAt(-1)
          }}
          onSelect={(event) => setCaret(event.currentTarget.selectionStart ?? 0)}
          onFocus={() => setOpen(true)}
          onBlur={() => setTimeout(() => setOpen(false), 120)}
          onKeyDown={press}
        />
        {text !== '' && (
          <IconButton
            label="Clear search"
            icon="close"
            small
            onClick={() => {
              setText('')
              ask('')
            }}
          />
        )}
        {text.trim() !== query && <kbd>↵ to search</kbd>}
      </div>
      {isOpen && suggestions.length > 0 && (
        <div className="query-list" role="listbox" id={`${id}-list`} aria-label="Suggestions" tabIndex={-1}>
          {suggestions.map((suggestion, index) => (
            <div
              key={suggestion.term}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === at}
              className={classes('query-option', index === at && 'query-option-on')}
              onMouseDown={(event) => {
                event.preventDefault()
                take(suggestion)
              }}
            >
              <code>{suggestion.term}</code>
              <span className="faint cut">{suggestion.help}</span>
            </div>
          ))}
        </div>
      )}
      {error && (
        <p className="field-error" id={`${id}-error`} role="alert">
          {error}
        </p>
      )}
    </div>
  )
}

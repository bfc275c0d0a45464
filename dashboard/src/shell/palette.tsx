import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import type { Me } from '../../../src/operations/schema/wire-types.ts'
import { includes } from '../api/me.ts'
import { useApi } from '../api/query.ts'
import { classes } from '../ui/classes.ts'
import { Icon, type IconName } from '../ui/icon.tsx'
import { SECTIONS } from './sections.ts'
import { chooseTheme, themeOf } from './theme.ts'

interface Entry {
  readonly id: string
  readonly title: string
  readonly kind: string
  readonly icon: IconName
  readonly keywords: string
  readonly run: () => void
}

const SHOWN = 12

/** The command palette: sections, queues, a job by its id, a search. */
export function Palette({ me, onClose }: { readonly me: Me; readonly onClose: () => void }): ReactNode {
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  const entries = useEntries(me, text)
  useEffect(() => {
    const element = dialog.current
    element?.showModal()
    return () => element?.close()
  }, [])

  const choose = (entry: Entry | undefined): void => {
    if (!entry) return
    onClose()
    entry.run()
  }
  const press = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      setAt((at + step + entries.length) % Math.max(1, entries.length))
    } else if (event.key === 'Enter') {
      event.preventDefault()
      choose(entries[at])
    }
    event.stopPropagation()
  }
  return (
    <dialog
      ref={dialog}
      className="palette"
      aria-label="Search or go to"
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onKeyDown={press}
      onMouseDown={(event) => event.target === dialog.current && onClose()}
    >
      <div className="palette-inside">
        <div className="palette-input">
          <Icon name="search" />
          <input
            autoFocus
            value={text}
            onChange={(event) => {
              setText(event.target.value)
              setAt(0)
            }}
            placeholder="Search for a section, queue, job ID or query"
            aria-label="Search or go to"
            role="combobox"
            aria-expanded="true"
            aria-controls={id}
            aria-activedescendant={entries[at] ? `${id}-${at}` : undefined}
            autoComplete="off"
            spellCheck={false}
          />
          <kbd>esc</kbd>
        </div>
        <div className="palette-list" role="listbox" id={id} aria-label="Matches" tabIndex={-1}>
          {entries.map((entry, index) => (
            <div
              key={entry.id}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === at}
              className={classes('palette-entry', index === at && 'palette-entry-on')}
              onMouseMove={() => index !== at && setAt(index)}
              onClick={() => choose(entry)}
              onKeyDown={() => undefined}
            >
              <Icon name={entry.icon} />
              <span className="grow cut">{entry.title}</span>
              <span className="faint small">{entry.kind}</span>
            </div>
          ))}
        </div>
      </div>
    </dialog>
  )
}

function useEntries(me: Me, text: string): readonly Entry[] {
  const [, navigate] = useLocation()
  const queues = useApi('queues.list', {}).data?.queues ?? []
  const wanted = text.trim().toLowerCase()
  const fixed: Entry[] = [
    ...SECTIONS.flatMap(({ sections }) => sections)
      .filter(({ scope }) => scope === undefined || includes(me.scopes, scope))
      .map(({ path, title, icon, keywords = '' }) => ({
        id: `section ${path}`,
        title,
        kind: 'Go to',
        icon,
        keywords,
        run: () => navigate(path),
      })),
    {
      id: 'theme',
      title: 'Switch between light and dark',
      kind: 'Theme',
      icon: 'moon',
      keywords: 'theme dark light',
      run: () => chooseTheme(themeOf() === 'dark' ? 'light' : 'dark'),
    },
  ]
  const named: Entry[] = queues.map(({ queue }) => ({
    id: `queue ${queue}`,
    title: queue,
    kind: 'Queue',
    icon: 'queues',
    keywords: '',
    run: () => navigate(`/queues/${encodeURIComponent(queue)}`),
  }))
  if (wanted === '') return fixed.slice(0, SHOWN)
  const found = [...fixed, ...named].filter(({ title, keywords }) =>
    `${title} ${keywords}`.toLowerCase().includes(wanted),
  )
  const typed: Entry[] = [
    ...(/^[0-9a-z-]{8,}$/i.test(text.trim()) && !/\s/.test(text.trim())
      ? [
          {
            id: 'job',
            title: text.trim(),
            kind: 'Go to job',
            icon: 'jobs' as const,
            keywords: '',
            run: () => navigate(`/jobs/${encodeURIComponent(text.trim())}`),
          },
        ]
      : []),
    {
      id: 'search',
      title: text.trim(),
      kind: 'Search jobs',
      icon: 'search',
      keywords: '',
      run: () => navigate(`/jobs?q=${encodeURIComponent(text.trim())}`),
    },
  ]
  return [...found.slice(0, SHOWN), ...typed]
}

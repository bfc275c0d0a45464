import { useEffect } from 'react'
import { useLocation } from 'wouter'
import { SECTIONS } from './sections.ts'

const AFTER_G = new Map(
  SECTIONS.flatMap(({ sections }) => sections).flatMap(({ keys, path }) =>
    keys ? [[keys.slice(2), path]] : [],
  ) as [string, string][],
)

/** Whether the event comes from a field the user types into. */
export function isTyping(event: Event): boolean {
  const target = event.target as HTMLElement | null
  return target?.closest('input:not([type=checkbox]), textarea, select, [contenteditable]') != null
}

/** Focuses the list of the page, which handles j and k from then on. */
function focusList(event: KeyboardEvent): void {
  if ((event.target as HTMLElement | null)?.closest('[role=grid]')) return
  const rows = document.querySelector('main [role=grid] [role=rowgroup]')
  const row =
    rows?.querySelector<HTMLElement>('[role=row][tabindex="0"]') ??
    rows?.querySelector<HTMLElement>('[role=row]')
  row?.focus()
}

/**
 * Global keyboard shortcuts: j and k focus the list of the page, ⌘K or Ctrl K opens the palette, g and a
 * letter go to a section, / focuses the search field, ? opens the help.
 */
export function useShortcuts(openPalette: () => void, openHelp: () => void): void {
  const [, navigate] = useLocation()
  useEffect(() => {
    // `timeStamp` starts at 0 when the page loads, so 0 would look like a recent key press.
    let afterG = -Infinity
    const press = (event: KeyboardEvent): void => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        openPalette()
        return
      }
      if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event)) return
      if (document.querySelector('dialog[open]')) return
      if (event.key === '/') {
        const search = document.querySelector<HTMLElement>('[data-search]')
        event.preventDefault()
        if (search) search.focus()
        else openPalette()
      } else if (event.key === '?') openHelp()
      else if (event.key === 'g') afterG = event.timeStamp
      else if (event.timeStamp - afterG < 1_500) {
        const path = AFTER_G.get(event.key)
        afterG = -Infinity
        if (path) navigate(path)
      } else if (event.key === 'j' || event.key === 'k') focusList(event)
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [openPalette, openHelp, navigate])
}

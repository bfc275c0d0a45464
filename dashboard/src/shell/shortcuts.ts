import { useEffect } from 'react'
import { useLocation } from 'wouter'
import { SECTIONS } from './sections.ts'

const AFTER_G = new Map(
  SECTIONS.flatMap(({ sections }) => sections).flatMap(({ keys, path }) =>
    keys ? [[keys.slice(2), path]] : [],
  ) as [string, string][],
)

/** Whether keys go into a field now, and mean what they say. */
export function isTyping(event: Event): boolean {
  const target = event.target as HTMLElement | null
  return target?.closest('input:not([type=checkbox]), textarea, select, [contenteditable]') != null
}

/** The list of the page takes the keys from here on. Without it, one would have to get there by tabs first. */
function intoList(event: KeyboardEvent): void {
  if ((event.target as HTMLElement | null)?.closest('[role=grid]')) return
  const rows = document.querySelector('main [role=grid] [role=rowgroup]')
  const row =
    rows?.querySelector<HTMLElement>('[role=row][tabindex="0"]') ??
    rows?.querySelector<HTMLElement>('[role=row]')
  row?.focus()
}

/** j and k go into the list of the page. ⌘K or Ctrl K opens the palette; g and a letter go to a section; / goes to the search of the page, if it has one; ? tells them. */
export function useShortcuts(openPalette: () => void, openHelp: () => void): void {
  const [, navigate] = useLocation()
  useEffect(() => {
    // Events are counted from when the page began, so 0 would be a moment ago on a page that has just been opened.
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
      } else if (event.key === 'j' || event.key === 'k') intoList(event)
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [openPalette, openHelp, navigate])
}

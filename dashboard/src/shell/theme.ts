import { useSyncExternalStore } from 'react'

export type Theme = 'system' | 'light' | 'dark'

const KEY = 'skep.theme'
const listeners = new Set<() => void>()
let tick = 0

export function themeOf(): Theme {
  const kept = localStorage.getItem(KEY)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}

export function chooseTheme(theme: Theme): void {
  localStorage.setItem(KEY, theme)
  applyTheme()
}

/** Applies the selected theme. Called before the first render. */
export function applyTheme(): void {
  const theme = themeOf()
  if (theme === 'system') document.documentElement.removeAttribute('data-theme')
  else document.documentElement.dataset['theme'] = theme
  changed()
}

function changed(): void {
  tick += 1
  for (const listener of listeners) listener()
}

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', changed)

function listen(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** A number that changes with the theme, for canvases, which CSS does not style. */
export function useThemeTick(): number {
  return useSyncExternalStore(listen, () => tick)
}

export function useTheme(): Theme {
  return useSyncExternalStore(listen, themeOf)
}

import { useSyncExternalStore } from 'react'

/** How large everything is. Sizes are in rem, so one number scales the whole page. */
export type Density = 'normal' | 'large' | 'dense'

const KEY = 'skep.density'
const listeners = new Set<() => void>()

export function densityOf(): Density {
  const kept = localStorage.getItem(KEY)
  return kept === 'large' || kept === 'dense' ? kept : 'normal'
}

export function chooseDensity(density: Density): void {
  localStorage.setItem(KEY, density)
  applyDensity()
  for (const listener of listeners) listener()
}

/** Puts the chosen density on the page. Called before anything is drawn. */
export function applyDensity(): void {
  const density = densityOf()
  if (density === 'normal') document.documentElement.removeAttribute('data-density')
  else document.documentElement.dataset['density'] = density
}

export function useDensity(): Density {
  return useSyncExternalStore((listener) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }, densityOf)
}

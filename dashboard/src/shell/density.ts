import { useSyncExternalStore } from 'react'

/** The size of the UI. All sizes are in rem, so one number scales the page. */
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

/** Applies the selected density. Called before the first render. */
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

import { type ComponentType, useEffect, useState } from 'react'
import type { GraphProps } from './graph.tsx'

let loaded: ComponentType<GraphProps> | null = null

async function load(): Promise<ComponentType<GraphProps>> {
  loaded ??= (await import('./graph.tsx')).default
  return loaded
}

/**
 * The graph, which is in a chunk of its own; null until that is here. A screen that will show one asks at once, so that chunk and
 * steps come side by side. `lazy` would begin after the steps, and then keep its fallback for a third of a second more.
 */
export function useGraph(): ComponentType<GraphProps> | null {
  const [state, setState] = useState<{ readonly Graph: typeof loaded; readonly error: Error | null }>({
    Graph: loaded,
    error: null,
  })
  useEffect(() => {
    if (loaded !== null) return
    let isShown = true
    load().then(
      (Graph) => isShown && setState({ Graph, error: null }),
      (error: Error) => isShown && setState({ Graph: null, error }),
    )
    return () => {
      isShown = false
    }
  }, [])
  // The screen has a place for errors.
  if (state.error !== null) throw state.error
  return state.Graph
}

import { type ComponentType, useEffect, useState } from 'react'
import type { GraphProps } from './graph.tsx'

let loaded: ComponentType<GraphProps> | null = null

async function load(): Promise<ComponentType<GraphProps>> {
  loaded ??= (await import('./graph.tsx')).default
  return loaded
}

/**
 * The graph component; null until its chunk has loaded. Screens call this early, so that the chunk and the
 * steps load in parallel. `React.lazy` would start after the steps, and keep its fallback for another 300 ms.
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
  // The error boundary of the screen shows it.
  if (state.error !== null) throw state.error
  return state.Graph
}

import { useCallback } from 'react'
import { useLocation, useSearchParams } from 'wouter'

/** `push` adds a history entry, so that the back button restores the previous value. */
export type HistoryMode = 'push' | 'replace'

/** One URL search parameter as state, such as `?range=1h`. The default value is omitted from the URL. */
export function useUrlParam<Value extends string>(
  name: string,
  fallback: Value,
): readonly [Value, (value: Value, mode?: HistoryMode) => void] {
  const [params, setParams] = useSearchParams()
  const current = (params.get(name) ?? fallback) as Value
  const set = useCallback(
    (value: Value, mode: HistoryMode = 'replace') =>
      setParams(
        (before) => {
          const next = new URLSearchParams(before)
          if (value === fallback) next.delete(name)
          else next.set(name, value)
          return next
        },
        { replace: mode === 'replace' },
      ),
    [name, fallback, setParams],
  )
  return [current, set]
}

export function useGo(): (path: string) => void {
  const [, navigate] = useLocation()
  return navigate
}

/** The paths of all pages with an id. */
export const to = {
  queue: (queue: string): string => `/queues/${encodeURIComponent(queue)}`,
  job: (id: string): string => `/jobs/${encodeURIComponent(id)}`,
  jobs: (query: string): string => (query === '' ? '/jobs' : `/jobs?q=${encodeURIComponent(query)}`),
  error: (id: string): string => `/errors/${encodeURIComponent(id)}`,
  schedule: (id: string): string => `/schedules/${encodeURIComponent(id)}`,
  run: (id: string): string => `/runs/${encodeURIComponent(id)}`,
  group: (id: string): string => `/groups/${encodeURIComponent(id)}`,
  worker: (id: string): string => `/workers?id=${encodeURIComponent(id)}`,
  bulk: '/bulk',
}

import { useCallback } from 'react'
import { useLocation, useSearchParams } from 'wouter'

/** `push`: the browser's back button leads to the word before. */
export type How = 'push' | 'replace'

/** One word of the address's query, such as `?range=1h`. What is the default is left out of the address. */
export function useWord<Word extends string>(
  name: string,
  fallback: Word,
): readonly [Word, (word: Word, how?: How) => void] {
  const [params, setParams] = useSearchParams()
  const value = (params.get(name) ?? fallback) as Word
  const set = useCallback(
    (word: Word, how: How = 'replace') =>
      setParams(
        (before) => {
          const next = new URLSearchParams(before)
          if (word === fallback) next.delete(name)
          else next.set(name, word)
          return next
        },
        { replace: how === 'replace' },
      ),
    [name, fallback, setParams],
  )
  return [value, set]
}

export function useGo(): (path: string) => void {
  const [, navigate] = useLocation()
  return navigate
}

/** Addresses of things, so that nobody puts them together by hand. */
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

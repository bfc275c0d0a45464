import { useEffect, useState } from 'react'
import type { BulkAction, OutputOf } from '../../../../src/operations/schema/wire-types.ts'
import { call } from '../../api/client.ts'

export interface ExactCount {
  readonly count: number
  /** The number of jobs scanned so far. */
  readonly searched: number
  /** All jobs were scanned, so the count is exact. */
  readonly isComplete: boolean
  readonly error: Error | null
}

const INITIAL: ExactCount = { count: 0, searched: 0, isComplete: false, error: null }

/** Counts exactly how many jobs an action would change, page by page while mounted. */
export function useExactCount(query: string, action: BulkAction, isOn: boolean): ExactCount {
  const [counted, setCounted] = useState(INITIAL)
  useEffect(() => {
    if (!isOn) return
    const abort = new AbortController()
    setCounted(INITIAL)
    const count = async (): Promise<void> => {
      let cursor: string | null = null
      let sum = 0
      let searched = 0
      do {
        const page: OutputOf<'jobs.count'> = await call(
          'jobs.count',
          { query, action, ...(cursor === null ? {} : { cursor }) },
          { signal: abort.signal },
        )
        cursor = page.cursor ?? null
        sum += page.count
        searched += page.searched ?? 0
        if (!abort.signal.aborted)
          setCounted({ count: sum, searched, isComplete: cursor === null, error: null })
      } while (cursor !== null && !abort.signal.aborted)
    }
    count().catch((error: unknown) => {
      if (!abort.signal.aborted)
        setCounted((before) => ({
          ...before,
          error: error instanceof Error ? error : new Error(String(error)),
        }))
    })
    return () => abort.abort()
  }, [query, action, isOn])
  return counted
}

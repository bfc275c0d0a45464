import { useEffect, useState } from 'react'
import type { BulkAction, OutputOf } from '../../../../src/operations/schema/wire-types.ts'
import { call } from '../../api/client.ts'

export interface WholeCount {
  readonly count: number
  /** How many jobs were looked at so far. */
  readonly searched: number
  /** Every job was counted: the number is exact. */
  readonly isWhole: boolean
  readonly error: Error | null
}

const NOTHING: WholeCount = { count: 0, searched: 0, isWhole: false, error: null }

/** Counts the jobs that an action would change, to the end: page after page while this is shown. */
export function useWholeCount(query: string, action: BulkAction, isOn: boolean): WholeCount {
  const [counted, setCounted] = useState(NOTHING)
  useEffect(() => {
    if (!isOn) return
    const abort = new AbortController()
    setCounted(NOTHING)
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
        if (!abort.signal.aborted) setCounted({ count: sum, searched, isWhole: cursor === null, error: null })
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

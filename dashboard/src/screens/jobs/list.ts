import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { ApiFailure, call } from '../../api/client.ts'
import type { Job } from './columns.tsx'

const PAGE = 100
export interface ListedJobs {
  readonly jobs: readonly Job[]
  readonly searched: number
  readonly hasMore: boolean
  /** The next page is on its way. */
  readonly isMore: boolean
  /**
   * A query by content looks at many jobs that do not match. Each answer of the server is bounded, so the search goes on by itself, until
   * a page is full, all jobs were looked at, or it is stopped.
   */
  readonly isScanning: boolean
  readonly stop: () => void
  /** Nothing is here yet. */
  readonly isFirst: boolean
  readonly error: Error | null
  readonly more: () => void
  readonly again: () => void
}

/** The jobs that fit a query, page by page, kept fresh while `isLive`. */
export function useJobs(query: string, isLive: boolean): ListedJobs {
  const asked = useInfiniteQuery({
    queryKey: ['jobs.list', { query }],
    queryFn: ({ pageParam, signal }) =>
      call(
        'jobs.list',
        { query, limit: PAGE, ...(pageParam === null ? {} : { cursor: pageParam }) },
        { signal },
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ cursor }) => cursor,
    enabled: isLive,
    placeholderData: keepPreviousData,
    retry: (times, error) =>
      !(error instanceof ApiFailure && error.status >= 400 && error.status < 500) && times < 3,
  })
  const pages = asked.data?.pages ?? []
  const jobs = pages.flatMap((page) => page.jobs)
  const { hasNextPage, isFetching, fetchNextPage, error } = asked
  // Of which query so many rows are wanted; or none more, because it was stopped.
  const [wish, setWish] = useState<{ readonly query: string; readonly rows: number }>({ query, rows: PAGE })
  const rows = wish.query === query ? wish.rows : PAGE
  const isScanning = hasNextPage && !error && !asked.isPlaceholderData && jobs.length < rows
  useEffect(() => {
    if (isScanning && !isFetching) void fetchNextPage()
  }, [isScanning, isFetching, fetchNextPage])
  return {
    // The same job may be on two pages if it moved between them.
    jobs: [...new Map(jobs.map((job) => [job.id, job])).values()],
    searched: pages.reduce((sum, page) => sum + page.searched, 0),
    hasMore: hasNextPage,
    isMore: asked.isFetchingNextPage,
    isFirst: asked.isPending && !error,
    isScanning,
    stop: () => setWish({ query, rows: 0 }),
    error: asked.isError || asked.isPlaceholderData ? error : null,
    more: () => setWish({ query, rows: jobs.length + PAGE }),
    again: () => void asked.refetch(),
  }
}

import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { ApiFailure, call } from '../../api/client.ts'
import type { Job } from './columns.tsx'

const PAGE = 100
export interface ListedJobs {
  readonly jobs: readonly Job[]
  readonly searched: number
  readonly hasMore: boolean
  /** The next page is loading. */
  readonly isMore: boolean
  /**
   * A search by content scans many jobs that do not match. Each response covers a bounded number of jobs, so
   * the search continues until a page is full, all jobs were scanned, or it is stopped.
   */
  readonly isScanning: boolean
  readonly stop: () => void
  /** The first page is loading. */
  readonly isFirst: boolean
  readonly error: Error | null
  readonly more: () => void
  readonly refetch: () => void
}

/** The jobs that match a query, page by page, kept up to date while `isLive`. */
export function useJobs(query: string, isLive: boolean): ListedJobs {
  const request = useInfiniteQuery({
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
  const pages = request.data?.pages ?? []
  const jobs = pages.flatMap((page) => page.jobs)
  const { hasNextPage, isFetching, fetchNextPage, error } = request
  // The number of rows to load for a query; 0 once it was stopped.
  const [target, setTarget] = useState<{ readonly query: string; readonly rows: number }>({
    query,
    rows: PAGE,
  })
  const rows = target.query === query ? target.rows : PAGE
  const isScanning = hasNextPage && !error && !request.isPlaceholderData && jobs.length < rows
  useEffect(() => {
    if (isScanning && !isFetching) void fetchNextPage()
  }, [isScanning, isFetching, fetchNextPage])
  return {
    // A job that changed between two requests can be on two pages.
    jobs: [...new Map(jobs.map((job) => [job.id, job])).values()],
    searched: pages.reduce((sum, page) => sum + page.searched, 0),
    hasMore: hasNextPage,
    isMore: request.isFetchingNextPage,
    isFirst: request.isPending && !error,
    isScanning,
    stop: () => setTarget({ query, rows: 0 }),
    error: request.isError || request.isPlaceholderData ? error : null,
    more: () => setTarget({ query, rows: jobs.length + PAGE }),
    refetch: () => void request.refetch(),
  }
}

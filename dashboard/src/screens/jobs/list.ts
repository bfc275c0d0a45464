import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { ApiFailure, call } from '../../api/client.ts'
import type { Job } from './columns.tsx'

const PAGE = 100
/** A query by content may look at many jobs that do not fit. So many pages without a hit are asked for by themselves. */
const MOST_EMPTY = 20

export interface ListedJobs {
  readonly jobs: readonly Job[]
  readonly searched: number
  readonly hasMore: boolean
  /** The next page is on its way. */
  readonly isMore: boolean
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
  const isEmpty = jobs.length === 0 && pages.length < MOST_EMPTY
  useEffect(() => {
    if (isEmpty && hasNextPage && !isFetching && !error) void fetchNextPage()
  }, [isEmpty, hasNextPage, isFetching, error, fetchNextPage])
  return {
    // The same job may be on two pages if it moved between them.
    jobs: [...new Map(jobs.map((job) => [job.id, job])).values()],
    searched: pages.reduce((sum, page) => sum + page.searched, 0),
    hasMore: hasNextPage,
    isMore: asked.isFetchingNextPage,
    isFirst: asked.isPending && !error,
    error: asked.isError || asked.isPlaceholderData ? error : null,
    more: () => void fetchNextPage(),
    again: () => void asked.refetch(),
  }
}

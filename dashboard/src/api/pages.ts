import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import type { InputOf, OperationName, OutputOf } from '../../../src/operations/schema/wire-types.ts'
import { call } from './client.ts'

/** The operations that paginate with a cursor. */
type PagedName = {
  [Name in OperationName]: OutputOf<Name> extends { readonly cursor: string | null } ? Name : never
}[OperationName]

export interface Pages<Item> {
  readonly items: readonly Item[]
  /** Undefined until the first page has loaded. */
  readonly data: readonly Item[] | undefined
  readonly error: Error | null
  readonly refetch: () => unknown
  readonly hasMore: boolean
  readonly isBusy: boolean
  readonly more: () => void
}

/** A list with keyset pagination: the pages loaded so far, concatenated. */
export function usePages<Name extends PagedName, Item>(
  name: Name,
  input: Omit<InputOf<Name>, 'cursor'>,
  itemsOf: (output: OutputOf<Name>) => readonly Item[],
  { enabled = true, every }: { readonly enabled?: boolean; readonly every?: number } = {},
): Pages<Item> {
  const result = useInfiniteQuery({
    queryKey: [name, input, 'pages'],
    queryFn: ({ pageParam, signal }) =>
      call(name, { ...input, ...(pageParam === null ? {} : { cursor: pageParam }) } as InputOf<Name>, {
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => (last as { readonly cursor: string | null }).cursor,
    placeholderData: keepPreviousData,
    enabled,
    ...(every === undefined ? {} : { refetchInterval: every }),
  })
  const data = result.data?.pages.flatMap((page) => itemsOf(page as OutputOf<Name>))
  return {
    items: data ?? [],
    data,
    error: result.error,
    refetch: result.refetch,
    hasMore: result.hasNextPage,
    isBusy: result.isFetchingNextPage,
    more: () => void result.fetchNextPage(),
  }
}

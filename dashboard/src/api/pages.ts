import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import type { InputOf, OperationName, OutputOf } from '../../../src/operations/schema/wire-types.ts'
import { call } from './client.ts'

/** The operations whose answers go on with a cursor. */
type PagedName = {
  [Name in OperationName]: OutputOf<Name> extends { readonly cursor: string | null } ? Name : never
}[OperationName]

export interface Pages<Item> {
  readonly items: readonly Item[]
  /** Undefined until the first page is here. */
  readonly data: readonly Item[] | undefined
  readonly error: Error | null
  readonly refetch: () => unknown
  readonly hasMore: boolean
  readonly isBusy: boolean
  readonly more: () => void
}

/** A list that goes on by a key: the pages that were asked for, one after the other. */
export function usePages<Name extends PagedName, Item>(
  name: Name,
  input: Omit<InputOf<Name>, 'cursor'>,
  itemsOf: (output: OutputOf<Name>) => readonly Item[],
  { enabled = true, every }: { readonly enabled?: boolean; readonly every?: number } = {},
): Pages<Item> {
  const asked = useInfiniteQuery({
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
  const data = asked.data?.pages.flatMap((page) => itemsOf(page as OutputOf<Name>))
  return {
    items: data ?? [],
    data,
    error: asked.error,
    refetch: asked.refetch,
    hasMore: asked.hasNextPage,
    isBusy: asked.isFetchingNextPage,
    more: () => void asked.fetchNextPage(),
  }
}

import {
  keepPreviousData,
  type Query,
  QueryCache,
  QueryClient,
  type UseMutationResult,
  type UseQueryResult,
  useMutation,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import type { InputOf, OperationName, OutputOf } from '../../../src/operations/schema/wire-types.ts'
import { toast } from '../ui/toast.tsx'
import { ApiFailure, call } from './client.ts'

export const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (error, { queryKey }) => {
      // The session has expired. Refetching me.get returns 401 too, and the app shows the login form.
      if (error instanceof ApiFailure && error.status === 401 && queryKey[0] !== 'me.get') refetchMe()
    },
  }),
  defaultOptions: {
    queries: {
      // The event stream triggers refetches (live.ts); this covers the time when it is down.
      staleTime: 5_000,
      refetchOnWindowFocus: true,
      retry: (times, error) => isTransient(error) && times < 3,
      retryDelay: (times) => Math.min(500 * 2 ** times, 8_000),
    },
  },
})

/** Refetches the identity of the caller. */
export function refetchMe(): void {
  void queries.invalidateQueries({ queryKey: ['me.get'] }, { cancelRefetch: false })
}

function isTransient(error: unknown): boolean {
  return error instanceof ApiFailure && (error.status === 0 || error.status >= 502 || error.status === 429)
}

/** Why visible data could not be refetched; null while all of it is up to date. */
export function useStaleReason(): string | null {
  return useSyncExternalStore(
    (listener) => queries.getQueryCache().subscribe(listener),
    () => {
      const [stale] = staleQueries()
      return stale === undefined ? null : (refetchErrorOf(stale)?.message ?? null)
    },
  )
}

/** Refetches the queries whose last refetch failed. */
export function refetchStale(): void {
  for (const query of staleQueries())
    void queries.invalidateQueries({ queryKey: query.queryKey, exact: true })
}

function staleQueries(): Query[] {
  return queries
    .getQueryCache()
    .getAll()
    .filter(
      (query) => query.isActive() && query.state.data !== undefined && isServerError(refetchErrorOf(query)),
    )
}

/**
 * The final error, or the one it is retried for from the second failure on: a single failure may be noise.
 */
function refetchErrorOf({ state }: Query): Error | null {
  return state.error ?? (state.fetchFailureCount > 1 ? state.fetchFailureReason : null)
}

function isServerError(error: unknown): boolean {
  return error instanceof ApiFailure && (error.status === 0 || error.status >= 500)
}

export interface ApiOptions {
  readonly enabled?: boolean
  /** Poll interval in milliseconds while the page is visible, for data without events. */
  readonly every?: number
  /** Keeps showing the previous output while a new input loads. @default true */
  readonly keeps?: boolean
}

/** Reads an operation and keeps its output up to date. */
export function useApi<Name extends OperationName>(
  name: Name,
  input: InputOf<Name>,
  { enabled = true, every, keeps = true }: ApiOptions = {},
): UseQueryResult<OutputOf<Name>, Error> {
  return useQuery<OutputOf<Name>, Error>({
    queryKey: [name, input],
    queryFn: ({ signal }) => call(name, input, { signal }),
    enabled,
    ...(every === undefined ? {} : { refetchInterval: every }),
    ...(keeps ? { placeholderData: keepPreviousData as never } : {}),
  })
}

export interface ActOptions<Name extends OperationName> {
  /** The toast after success; null shows none. */
  readonly success?: ((output: OutputOf<Name>, input: InputOf<Name>) => string | null) | string
  /** Called after success. */
  readonly onDone?: (output: OutputOf<Name>, input: InputOf<Name>) => void
  /** The caller shows the error instead of a toast. */
  readonly quiet?: boolean
}

/** Calls an operation that changes something, then refetches all visible data. */
export function useAct<Name extends OperationName>(
  name: Name,
  { success, onDone, quiet = false }: ActOptions<Name> = {},
): UseMutationResult<OutputOf<Name>, Error, InputOf<Name>> {
  const client = useQueryClient()
  return useMutation<OutputOf<Name>, Error, InputOf<Name>>({
    mutationFn: (input) => call(name, input),
    onSuccess: (output, input) => {
      const text = typeof success === 'function' ? success(output, input) : success
      if (text) toast({ text, tone: 'good' })
      onDone?.(output, input)
      void client.invalidateQueries({}, { cancelRefetch: false })
    },
    onError: (error) => {
      if (!quiet) toast({ text: error.message, tone: 'bad', code: codeOf(error) })
    },
  })
}

export function codeOf(error: unknown): string | null {
  return error instanceof ApiFailure ? error.code : null
}

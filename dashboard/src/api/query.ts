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
      // The session is over: whoever asks who one is gets to know, and shows where to log in.
      if (error instanceof ApiFailure && error.status === 401 && queryKey[0] !== 'me.get') askWho()
    },
  }),
  defaultOptions: {
    queries: {
      // The stream of events says when to look again (live.ts); this is for when it is down.
      staleTime: 5_000,
      refetchOnWindowFocus: true,
      retry: (times, error) => isPassing(error) && times < 3,
      retryDelay: (times) => Math.min(500 * 2 ** times, 8_000),
    },
  },
})

/** Asks again who the caller is. */
export function askWho(): void {
  void queries.invalidateQueries({ queryKey: ['me.get'] }, { cancelRefetch: false })
}

function isPassing(error: unknown): boolean {
  return error instanceof ApiFailure && (error.status === 0 || error.status >= 502 || error.status === 429)
}

/** Why something that is shown could not be asked for again; null: all of it is fresh. */
export function useTrouble(): string | null {
  return useSyncExternalStore(
    (listener) => queries.getQueryCache().subscribe(listener),
    () => {
      const [stale] = staleQueries()
      return stale === undefined ? null : (troubleOf(stale)?.message ?? null)
    },
  )
}

/** Asks again for what is not fresh. */
export function askStale(): void {
  for (const query of staleQueries())
    void queries.invalidateQueries({ queryKey: query.queryKey, exact: true })
}

function staleQueries(): Query[] {
  return queries
    .getQueryCache()
    .getAll()
    .filter((query) => query.isActive() && query.state.data !== undefined && isServersFault(troubleOf(query)))
}

/** The error that it ended with, or for which it is tried again: one may be chance, two are not. */
function troubleOf({ state }: Query): Error | null {
  return state.error ?? (state.fetchFailureCount > 1 ? state.fetchFailureReason : null)
}

function isServersFault(error: unknown): boolean {
  return error instanceof ApiFailure && (error.status === 0 || error.status >= 500)
}

export interface AskOptions {
  readonly enabled?: boolean
  /** Asks again so often while the page is shown, in milliseconds. For what no event tells of. */
  readonly every?: number
  /** Shows the answer for the input before until the new one is here. @default true */
  readonly keeps?: boolean
}

/** What an operation answers, kept fresh. */
export function useApi<Name extends OperationName>(
  name: Name,
  input: InputOf<Name>,
  { enabled = true, every, keeps = true }: AskOptions = {},
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
  /** What is told when it is done; null: nothing. */
  readonly told?: ((output: OutputOf<Name>, input: InputOf<Name>) => string | null) | string
  /** Called when it is done. */
  readonly onDone?: (output: OutputOf<Name>, input: InputOf<Name>) => void
  /** The error is shown by whoever calls, not as a toast. */
  readonly quiet?: boolean
}

/** Does something. Whatever is shown is asked for again afterwards. */
export function useAct<Name extends OperationName>(
  name: Name,
  { told, onDone, quiet = false }: ActOptions<Name> = {},
): UseMutationResult<OutputOf<Name>, Error, InputOf<Name>> {
  const client = useQueryClient()
  return useMutation<OutputOf<Name>, Error, InputOf<Name>>({
    mutationFn: (input) => call(name, input),
    onSuccess: (output, input) => {
      const text = typeof told === 'function' ? told(output, input) : told
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

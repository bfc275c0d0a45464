import type { Query } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import type { OperationName, ServerEvent } from '../../../src/operations/schema/wire-types.ts'
import { urlOf } from './base.ts'
import { credentialHeaders } from './credential.ts'
import { queries, refetchMe } from './query.ts'
import { readEvents } from './sse.ts'

/**
 * The event stream tells the page what to refetch. Visible data is refetched at most once a second, never
 * while the page is hidden, and once in full after the page or the server returns.
 *
 *   off ── start ──▶ connecting ── first bytes ──▶ live
 *                        ▲                           │ broken
 *                        └────── after backoff ── waiting
 *   hidden: the stream is closed until the page is visible again.
 */
export type LiveStatus = 'connecting' | 'live' | 'waiting' | 'hidden'

const FLUSH_MS = 1_000
const COUNT_MS = 5_000
const MOST_LIVE_PAGES = 3
const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 15_000

type Area = OperationName extends `${infer Name}.${string}` ? Name : never

/** The operations to refetch, by what changed. */
const AFFECTED: Readonly<Record<string, readonly Area[]>> = {
  jobs: ['jobs', 'overview', 'queues', 'errors', 'series', 'groups'],
  holds: ['holds', 'queues', 'overview'],
  schedules: ['schedules'],
  workers: ['workers', 'receivers', 'overview'],
  bulk: ['bulk'],
  runs: ['runs', 'groups', 'flows'],
}

let status: LiveStatus = 'connecting'
const listeners = new Set<() => void>()
const pending = new Set<Area>()
let flushTimer: ReturnType<typeof setTimeout> | undefined
let retryTimer: ReturnType<typeof setTimeout> | undefined
let connection: AbortController | undefined
let waitMs = FIRST_WAIT_MS

function setStatus(next: LiveStatus): void {
  if (status === next) return
  status = next
  for (const listener of listeners) listener()
}

/** Opens the stream. Called by main.tsx. */
export function startLive(): void {
  document.removeEventListener('visibilitychange', followPage)
  document.addEventListener('visibilitychange', followPage)
  followPage()
}

function followPage(): void {
  connection?.abort()
  clearTimeout(retryTimer)
  if (document.hidden) {
    // Pending refetches are dropped: becoming visible refetches everything.
    clearTimeout(flushTimer)
    flushTimer = undefined
    pending.clear()
    setStatus('hidden')
    return
  }
  waitMs = FIRST_WAIT_MS
  void connect()
}

async function connect(): Promise<void> {
  const own = new AbortController()
  connection = own
  setStatus('connecting')
  try {
    const response = await fetch(urlOf('api/v1/events'), {
      headers: { accept: 'text/event-stream', ...credentialHeaders() },
      credentials: 'same-origin',
      cache: 'no-store',
      signal: own.signal,
    })
    if (response.status === 401) refetchMe()
    if (!response.ok || response.body === null) throw new Error(`Events: ${response.status}`)
    setStatus('live')
    waitMs = FIRST_WAIT_MS
    void queries.invalidateQueries({}, { cancelRefetch: false })
    await readEvents(response.body, onEvent)
  } catch {
    // Every error is handled by reconnecting below.
  }
  if (own !== connection || own.signal.aborted) return
  setStatus('waiting')
  // Jitter: many open pages must not reconnect at the same time.
  retryTimer = setTimeout(() => void connect(), waitMs * (0.5 + Math.random()))
  waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)
}

function onEvent(kind: string, data: string): void {
  if (kind !== 'counts' && kind !== 'changed') return
  const event = JSON.parse(data) as ServerEvent
  if (event.kind === 'counts') {
    queries.setQueryData(['queues.list', {}], { queues: event.queues })
    touch(['overview'])
  }
  if (event.kind === 'changed') for (const what of event.what) touch(AFFECTED[what] ?? [])
}

function touch(areas: readonly Area[]): void {
  for (const area of areas) pending.add(area)
  if (flushTimer === undefined) flushTimer = setTimeout(flush, FLUSH_MS)
}

function flush(): void {
  flushTimer = undefined
  const areas = new Set(pending)
  pending.clear()
  void queries.invalidateQueries(
    {
      predicate: (query) => areas.has(String(query.queryKey[0]).split('.')[0] as Area) && !isExpensive(query),
    },
    // Keep a slow request: restarting it would mean that a busy server never answers.
    { cancelRefetch: false },
  )
}

/** Expensive queries are refetched less often: counts by content, and lists with many loaded pages. */
function isExpensive({ queryKey, state }: Query): boolean {
  // The server records each dry run in the audit, so it is made once.
  if (queryKey[0] === 'queues.purge') return true
  const pages = (state.data as { readonly pages?: readonly unknown[] } | undefined)?.pages
  if (pages !== undefined && pages.length > MOST_LIVE_PAGES) return true
  return queryKey[0] === 'jobs.count' && Date.now() - state.dataUpdatedAt < COUNT_MS
}

export function useLiveStatus(): LiveStatus {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => status,
  )
}

import type { Query } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'
import type { OperationName, ServerEvent } from '../../../src/operations/schema/wire-types.ts'
import { urlOf } from './base.ts'
import { credentialHeaders } from './credential.ts'
import { askWho, queries } from './query.ts'
import { readEvents } from './sse.ts'

/**
 * The stream of events: says what to look at again. Shown data is asked for at most once a second, not at all while the page is
 * hidden, and once as a whole when the page or the server is back.
 *
 *   off ── start ──▶ connecting ── first bytes ──▶ live
 *                        ▲                           │ broken
 *                        └────── after a while ── waiting
 *   hidden: the stream is closed until the page is shown again.
 */
export type LiveStatus = 'connecting' | 'live' | 'waiting' | 'hidden'

const FLUSH_MS = 1_000
const COUNT_MS = 5_000
const MOST_LIVE_PAGES = 3
const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 15_000

type Area = OperationName extends `${infer Name}.${string}` ? Name : never

/** What has to be looked at again, by what changed. */
const TOUCHED: Readonly<Record<string, readonly Area[]>> = {
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

function become(next: LiveStatus): void {
  if (status === next) return
  status = next
  for (const listener of listeners) listener()
}

/** Begins to listen. Called once, by main.tsx; again after the credential changed. */
export function startLive(): void {
  document.removeEventListener('visibilitychange', followPage)
  document.addEventListener('visibilitychange', followPage)
  followPage()
}

function followPage(): void {
  connection?.abort()
  clearTimeout(retryTimer)
  if (document.hidden) {
    // What was to be looked at again is asked for with everything else when the page is shown.
    clearTimeout(flushTimer)
    flushTimer = undefined
    pending.clear()
    become('hidden')
    return
  }
  waitMs = FIRST_WAIT_MS
  void connect()
}

async function connect(): Promise<void> {
  const own = new AbortController()
  connection = own
  become('connecting')
  try {
    const response = await fetch(urlOf('api/v1/events'), {
      headers: { accept: 'text/event-stream', ...credentialHeaders() },
      credentials: 'same-origin',
      cache: 'no-store',
      signal: own.signal,
    })
    if (response.status === 401) askWho()
    if (!response.ok || response.body === null) throw new Error(`Events: ${response.status}`)
    become('live')
    waitMs = FIRST_WAIT_MS
    void queries.invalidateQueries({}, { cancelRefetch: false })
    await readEvents(response.body, hear)
  } catch {
    // Below: every end is one to come back from.
  }
  if (own !== connection || own.signal.aborted) return
  become('waiting')
  // Many pages must not come back at the same moment.
  retryTimer = setTimeout(() => void connect(), waitMs * (0.5 + Math.random()))
  waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)
}

function hear(kind: string, data: string): void {
  if (kind !== 'counts' && kind !== 'changed') return
  const event = JSON.parse(data) as ServerEvent
  if (event.kind === 'counts') {
    queries.setQueryData(['queues.list', {}], { queues: event.queues })
    touch(['overview'])
  }
  if (event.kind === 'changed') for (const what of event.what) touch(TOUCHED[what] ?? [])
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
    { predicate: (query) => areas.has(String(query.queryKey[0]).split('.')[0] as Area) && !isDear(query) },
    // A slow answer is waited for, not asked for anew: else a busy server would never answer.
    { cancelRefetch: false },
  )
}

/** What costs much is asked for less often: counts by content, and lists of which many pages are shown. */
function isDear({ queryKey, state }: Query): boolean {
  // A dry run is written down by the server, so it is done once.
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

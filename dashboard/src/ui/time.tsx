import { type ReactNode, useSyncExternalStore } from 'react'
import { agoText, durationText, exactText } from '../format/times.ts'

let now = Date.now()
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined

function listen(listener: () => void): () => void {
  listeners.add(listener)
  now = Date.now()
  timer ??= setInterval(() => {
    if (document.hidden) return
    now = Date.now()
    for (const each of listeners) each()
  }, 1_000)
  return () => {
    listeners.delete(listener)
    if (listeners.size === 0) {
      clearInterval(timer)
      timer = undefined
    }
  }
}

/** The current time with a resolution of one second, from one shared timer. */
export function useNow(): number {
  return useSyncExternalStore(listen, () => now)
}

/** "12 s ago" or "in 4m"; the exact timestamp on hover. */
export function TimeAgo({ at }: { readonly at: string | null | undefined }): ReactNode {
  const current = useNow()
  if (!at) return <span className="faint">–</span>
  return (
    <time dateTime={at} title={exactText(at)} className="num">
      {agoText(Date.parse(at), current)}
    </time>
  )
}

/** A duration, or the time elapsed since a timestamp. */
export function Duration({
  ms,
  since,
  title,
}: {
  readonly ms?: number | null
  readonly since?: string | null
  readonly title?: string
}): ReactNode {
  if (since) return <RunningDuration since={since} />
  if (ms === null || ms === undefined) return <span className="faint">–</span>
  return (
    <span className="num" title={title ?? `${ms} ms`}>
      {durationText(ms)}
    </span>
  )
}

function RunningDuration({ since }: { readonly since: string }): ReactNode {
  const current = useNow()
  const ms = Math.max(0, current - Date.parse(since))
  return (
    <span className="num" title={exactText(since)}>
      {durationText(Math.floor(ms / 1_000) * 1_000 || ms)}
    </span>
  )
}

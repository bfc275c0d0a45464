import { type ReactNode, useEffect, useRef, useState } from 'react'
import type { OutputOf } from '../../../../src/operations/schema/wire-types.ts'
import { call } from '../../api/client.ts'
import { stringifyExact } from '../../api/exact.ts'
import { useMe } from '../../api/me.ts'
import { preciseClockText } from '../../format/times.ts'
import { CodeBlock } from '../../ui/code.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { Field } from '../../ui/field.tsx'
import { EmptyState, ErrorState, Skeleton } from '../../ui/page-states.tsx'

type Line = OutputOf<'jobs.logs'>['lines'][number]

const POLL_MS = 1_500
const PAGE = 500

/** The log lines of a job, followed while it runs. */
export function Logs({ id, isRunning }: { readonly id: string; readonly isRunning: boolean }): ReactNode {
  const { lines, dropped, error, isFirst } = useLines(id, isRunning)
  const [find, setFind] = useState('')
  const isShown = useMe()?.payloads ?? true
  const end = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls on new lines
  useEffect(() => {
    if (isRunning && isAtEnd.current) end.current?.scrollIntoView({ block: 'nearest' })
  }, [lines.length])
  if (!isShown) return <p className="soft">Your token cannot read logs. Ask an administrator.</p>
  if (error && lines.length === 0) return <ErrorState error={error} />
  if (isFirst) return <Skeleton lines={5} />
  if (lines.length === 0) return <NoLines isRunning={isRunning} />
  const wanted = find.toLowerCase()
  const shown = wanted === '' ? lines : lines.filter((line) => textOf(line).toLowerCase().includes(wanted))
  return (
    <div className="stack">
      <div className="row">
        <div className="grow">
          <Field
            bare
            label="Filter logs"
            placeholder="Filter logs"
            value={find}
            onChange={(event) => setFind(event.target.value)}
          />
        </div>
        {isRunning && (
          <span className="live live-live small">
            <span className="live-dot" /> following
          </span>
        )}
        <CopyButton label="Copy logs" text={() => shown.map(textOf).join('\n')} />
      </div>
      {dropped > 0 && (
        <p className="small faint">{dropped} older lines were dropped. Only the newest are kept.</p>
      )}
      <div
        className="logs"
        role="log"
        aria-label="Job logs"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be reachable by keyboard
        tabIndex={0}
        onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
          isAtEnd.current = scrollTop + clientHeight > scrollHeight - 24
        }}
      >
        {shown.map(({ place, at, level, message, fields }) => (
          <div key={place} className={`log log-${level}`}>
            <time dateTime={at} title={at}>
              {preciseClockText(at)}
            </time>
            <span className="log-level">{level}</span>
            <span className="log-text">
              {message}
              {Object.keys(fields).length > 0 && <span className="faint"> {stringifyExact(fields)}</span>}
            </span>
          </div>
        ))}
        <div ref={end} />
      </div>
    </div>
  )
}

function textOf({ at, level, message, fields }: Line): string {
  return `${at} ${level} ${message}${Object.keys(fields).length > 0 ? ` ${stringifyExact(fields)}` : ''}`
}

/** Loads and follows the log; only new lines are requested. */
function useLines(
  id: string,
  isRunning: boolean,
): {
  readonly lines: readonly Line[]
  readonly dropped: number
  readonly error: Error | null
  readonly isFirst: boolean
} {
  const [lines, setLines] = useState<readonly Line[]>([])
  const [dropped, setDropped] = useState(0)
  const [error, setError] = useState<Error | null>(null)
  const [isFirst, setFirst] = useState(true)
  const cursor = useRef(0)
  useEffect(() => {
    const ended = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const look = async (): Promise<void> => {
      let isMore = false
      try {
        const page = await call(
          'jobs.logs',
          { id, after: cursor.current, limit: PAGE },
          { signal: ended.signal },
        )
        if (ended.signal.aborted) return
        cursor.current = page.cursor
        isMore = page.more
        setDropped(page.dropped)
        setError(null)
        if (page.lines.length > 0) setLines((before) => [...before, ...page.lines])
      } catch (failure) {
        if (ended.signal.aborted) return
        setError(failure as Error)
      }
      setFirst(false)
      if (isMore) void look()
      else if (isRunning) timer = setTimeout(() => void (document.hidden ? wait() : look()), POLL_MS)
    }
    const wait = (): void => {
      timer = setTimeout(() => void (document.hidden ? wait() : look()), POLL_MS)
    }
    void look()
    return () => {
      ended.abort()
      clearTimeout(timer)
    }
  }, [id, isRunning])
  return { lines, dropped, error, isFirst }
}

const WRITE = `mail.handle(async ({ payload, log, progress }) => {
  log.info('sending', { to: payload.to })
  progress(50, 'connected')
})`

function NoLines({ isRunning }: { readonly isRunning: boolean }): ReactNode {
  return (
    <EmptyState title={isRunning ? 'No log lines yet' : 'No log lines'} icon="audit">
      <p>Lines that a handler logs are stored with the job and shown here while it runs.</p>
      <CodeBlock code={WRITE} />
    </EmptyState>
  )
}

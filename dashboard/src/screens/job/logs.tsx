import { type ReactNode, useEffect, useRef, useState } from 'react'
import type { OutputOf } from '../../../../src/operations/schema/wire-types.ts'
import { call } from '../../api/client.ts'
import { stringifyExact } from '../../api/exact.ts'
import { useMe } from '../../api/me.ts'
import { preciseClockText } from '../../format/times.ts'
import { CodeBlock } from '../../ui/code.tsx'
import { CopyButton } from '../../ui/copy.tsx'
import { Field } from '../../ui/field.tsx'
import { EmptyState, ErrorState, Skeleton } from '../../ui/states-of-page.tsx'

type Line = OutputOf<'jobs.logs'>['lines'][number]

const AGAIN_MS = 1_500
const PAGE = 500

/** The lines that a handler wrote, followed while the job runs. */
export function Logs({ id, isRunning }: { readonly id: string; readonly isRunning: boolean }): ReactNode {
  const { lines, dropped, error, isFirst } = useLines(id, isRunning)
  const [find, setFind] = useState('')
  const isShown = useMe()?.payloads ?? true
  const end = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  // biome-ignore lint/correctness/useExhaustiveDependencies: it follows new lines
  useEffect(() => {
    if (isRunning && isAtEnd.current) end.current?.scrollIntoView({ block: 'nearest' })
  }, [lines.length])
  if (!isShown)
    return <p className="soft">Logs are not shown to you. Whoever gives out tokens can change that.</p>
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
            label="Find in the logs"
            placeholder="Find"
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
        <p className="small faint">{dropped} earlier lines are not kept: only the newest are.</p>
      )}
      <div
        className="logs"
        role="log"
        aria-label="Logs of the job"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
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

/** Only lines that are not here yet are asked for. */
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
      else if (isRunning) timer = setTimeout(() => void (document.hidden ? wait() : look()), AGAIN_MS)
    }
    const wait = (): void => {
      timer = setTimeout(() => void (document.hidden ? wait() : look()), AGAIN_MS)
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
  progress(50, 'half of it')
})`

function NoLines({ isRunning }: { readonly isRunning: boolean }): ReactNode {
  return (
    <EmptyState title={isRunning ? 'It has written nothing yet' : 'It has written nothing'} icon="audit">
      <p>A handler writes lines with its log. They are kept with the job, and shown here while it runs.</p>
      <CodeBlock code={WRITE} />
    </EmptyState>
  )
}

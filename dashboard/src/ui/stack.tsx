import { type ReactNode, useState } from 'react'
import { plural } from '../format/numbers.ts'
import { CopyButton } from './copy.tsx'

interface Frame {
  readonly text: string
  readonly place: string | null
  /** In application code, not in Node or a package. */
  readonly isOwn: boolean
}

const frame = /^\s*at (?:(.*?) \()?((?:file:\/\/|node:|\/|[A-Za-z]:\\|webpack).*?)\)?$/

/** Parses an error stack into its message and frames. */
export function framesOf(stack: string): { readonly head: string; readonly frames: readonly Frame[] } {
  const lines = stack.split('\n')
  const at = lines.findIndex((line) => /^\s+at /.test(line))
  if (at < 0) return { head: stack, frames: [] }
  const frames = lines.slice(at).flatMap((line): Frame[] => {
    if (line.trim() === '') return []
    const [, name, place = ''] = frame.exec(line) ?? []
    const isOwn = !/node_modules|^node:|\(node:|at node:|<anonymous>/.test(line)
    return [{ text: name ?? (place === '' ? line.trim() : '(anonymous)'), place: place || null, isOwn }]
  })
  return { head: lines.slice(0, at).join('\n'), frames }
}

/** An error stack that collapses the frames of packages and Node. */
export function Stack({ stack }: { readonly stack: string }): ReactNode {
  const { head, frames } = framesOf(stack)
  const [isExpanded, setExpanded] = useState(false)
  const external = frames.filter(({ isOwn }) => !isOwn).length
  const hasOwn = external < frames.length
  const shown = isExpanded || !hasOwn ? frames : frames.filter(({ isOwn }) => isOwn)
  return (
    <div className="trace">
      <div className="trace-head">
        <pre className="trace-message">{head}</pre>
        <CopyButton text={stack} label="Copy stack" />
      </div>
      <ol>
        {shown.map(({ text, place, isOwn }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the frames of one stack never move
          <li key={index} className={isOwn ? 'trace-own' : 'trace-foreign'}>
            <span>{text}</span>{' '}
            {place && <span className="trace-place">{place.replace(/^file:\/\//, '')}</span>}
          </li>
        ))}
      </ol>
      {hasOwn && external > 0 && (
        <button type="button" className="trace-more" onClick={() => setExpanded(!isExpanded)}>
          {isExpanded ? 'Hide library frames' : `Show ${plural(external, 'library frame')}`}
        </button>
      )}
    </div>
  )
}

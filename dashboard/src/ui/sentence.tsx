import { Fragment, type ReactNode } from 'react'
import { clockText, exactText } from '../format/times.ts'
import { TimeAgo } from './time.tsx'

const MOMENT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/

/** A sentence of the server, with its moments as a person here reads a clock. */
export function Sentence({ text }: { readonly text: string }): ReactNode {
  return text.split(MOMENT).map((part, index) =>
    index % 2 === 0 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a sentence stay in their places
      <Fragment key={index}>{part}</Fragment>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a sentence stay in their places
      <span key={index} title={exactText(part)} className="num">
        {clockText(part)} (<TimeAgo at={part} />)
      </span>
    ),
  )
}

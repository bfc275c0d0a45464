import { Fragment, type ReactNode } from 'react'
import { Link } from 'wouter'
import { clockText, exactText } from '../format/times.ts'
import { TimeAgo } from './time.tsx'

const TIMESTAMP = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/
const ID = /([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})/
/** Ids differ most at the end, which is the part shown. */
const SHOWN = 8

/** A sentence from the server, with timestamps in local time and ids as links. */
export function Sentence({
  text,
  links,
}: {
  readonly text: string
  /** The paths of ids in the sentence. */
  readonly links?: ReadonlyMap<string, string>
}): ReactNode {
  return text.split(TIMESTAMP).map((part, index) =>
    index % 2 === 0 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a sentence stay in their places
      <Fragment key={index}>{links ? <Linked text={part} links={links} /> : part}</Fragment>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a sentence stay in their places
      <span key={index} title={exactText(part)} className="num">
        {clockText(part)} (<TimeAgo at={part} />)
      </span>
    ),
  )
}

function Linked({
  text,
  links,
}: {
  readonly text: string
  readonly links: ReadonlyMap<string, string>
}): ReactNode {
  return text.split(ID).map((part, index) => {
    const path = index % 2 === 0 ? undefined : links.get(part)
    return path === undefined ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a sentence stay in their places
      <Fragment key={index}>{part}</Fragment>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a sentence stay in their places
      <Link key={index} to={path} className="link mono" title={part}>
        …{part.slice(-SHOWN)}
      </Link>
    )
  })
}

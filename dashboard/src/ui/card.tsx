import type { ReactNode } from 'react'
import { classes } from './classes.ts'

/** A titled section of a page. */
export function Card({
  title,
  actions,
  children,
  flush = false,
}: {
  readonly title?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
  /** Without padding around the content. */
  readonly flush?: boolean
}): ReactNode {
  return (
    <section className={classes('card', flush && 'card-flush')}>
      {(title || actions) && (
        <header className="card-head">
          {title && <h2>{title}</h2>}
          {actions && <div className="row">{actions}</div>}
        </header>
      )}
      <div className="card-body">{children}</div>
    </section>
  )
}

/** A key figure with its label. */
export function Figure({
  label,
  children,
  note,
  tone,
}: {
  readonly label: string
  readonly children: ReactNode
  readonly note?: ReactNode
  readonly tone?: 'bad' | 'warn'
}): ReactNode {
  return (
    <div className={classes('figure', tone && `figure-${tone}`)}>
      <span className="figure-label">{label}</span>
      <span className="figure-value num">{children}</span>
      {note && <span className="figure-note">{note}</span>}
    </div>
  )
}

/** A list of labels and values. */
export function Facts({
  facts,
}: {
  readonly facts: readonly (readonly [string, ReactNode] | null | false)[]
}): ReactNode {
  return (
    <dl className="facts">
      {facts.map((fact) => {
        if (!fact) return null
        const [name, value] = fact
        return (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        )
      })}
    </dl>
  )
}

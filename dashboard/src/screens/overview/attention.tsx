import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import type { Attention } from '../../../../src/operations/schema/wire-types.ts'
import { classes } from '../../ui/classes.ts'
import { Icon } from '../../ui/icon.tsx'

/** More than these are shown when somebody asks. */
const SHOWN = 6

/** What a person should know of, in words; one quiet line when there is nothing. */
export function AttentionList({ attention }: { readonly attention: readonly Attention[] }): ReactNode {
  const [isWhole, setWhole] = useState(false)
  if (attention.length === 0) {
    return (
      <p className="all-well" data-testid="all-well">
        <Icon name="check" /> Nothing needs attention.
      </p>
    )
  }
  // A line that says "1 more" would take the place of that one.
  const shown = isWhole || attention.length === SHOWN + 1 ? attention.length : SHOWN
  const sorted = attention.toSorted((a, b) => Number(b.level === 'critical') - Number(a.level === 'critical'))
  return (
    <section aria-label="Needs attention" className="attention">
      <h2 className="unseen">Needs attention</h2>
      <ul>
        {sorted.slice(0, shown).map(({ level, kind, text, link }) => (
          <li key={`${kind} ${link} ${text}`}>
            <Link to={link} className={classes('attention-item', `attention-${level}`)}>
              <Icon name={level === 'critical' ? 'errors' : 'info'} />
              <span className="grow wrap-anywhere">
                <span className="unseen">{level}: </span>
                {text}
              </span>
              <Icon name="right" size={14} />
            </Link>
          </li>
        ))}
        {sorted.length > SHOWN + 1 && (
          <li>
            <button
              type="button"
              className="attention-item attention-more"
              onClick={() => setWhole(!isWhole)}
            >
              {isWhole ? 'Show fewer' : `${sorted.length - SHOWN} more`}
            </button>
          </li>
        )}
      </ul>
    </section>
  )
}

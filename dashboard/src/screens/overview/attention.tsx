import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import type { Attention } from '../../../../src/operations/schema/wire-types.ts'
import { classes } from '../../ui/classes.ts'
import { Icon } from '../../ui/icon.tsx'

/** Further issues are collapsed. */
const SHOWN = 6

/** Open issues; one line if there are none. */
export function AttentionList({ attention }: { readonly attention: readonly Attention[] }): ReactNode {
  const [isExpanded, setExpanded] = useState(false)
  if (attention.length === 0) {
    return (
      <p className="all-well" data-testid="all-well">
        <Icon name="check" /> Nothing needs attention.
      </p>
    )
  }
  // Show the last issue instead of a line that says "1 more".
  const shown = isExpanded || attention.length === SHOWN + 1 ? attention.length : SHOWN
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
              onClick={() => setExpanded(!isExpanded)}
            >
              {isExpanded ? 'Show fewer' : `${sorted.length - SHOWN} more`}
            </button>
          </li>
        )}
      </ul>
    </section>
  )
}

import { type ReactNode, useState } from 'react'
import type { QueueDetail } from '../../../../src/operations/schema/wire-types.ts'
import { useCan } from '../../api/me.ts'
import { useAct } from '../../api/query.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Badge } from '../../ui/state.tsx'
import { LimitDialog } from './limit-dialog.tsx'
import { type Limit, limitWords, targetWords } from './limit-words.ts'

/** What limits how many jobs of a queue run and how often they start; what code says, and what was changed by hand. */
export function LimitsTab({ detail }: { readonly detail: QueueDetail }): ReactNode {
  const { queue, limits } = detail
  const mayOperate = useCan('operate')
  const [editing, setEditing] = useState<{ readonly lane?: string } | null>(null)
  const reset = useAct('queues.unlimit', { told: 'What code says holds again' })
  const laneOf = ({ target }: Limit): string | undefined => ('lane' in target ? target.lane : undefined)
  const whole = limits.find(({ target }) => 'queue' in target && target.lane === undefined)
  const current = limits.find((limit) => 'queue' in limit.target && laneOf(limit) === editing?.lane)
  return (
    <>
      <Card
        title="Limits"
        actions={
          mayOperate && (
            <Button icon="edit" small onClick={() => setEditing({})}>
              Change
            </Button>
          )
        }
      >
        {limits.length === 0 && (
          <p className="soft">
            There is no limit: workers take as many jobs as they have slots. A limit holds for all machines
            together, from the moment it is set.
          </p>
        )}
        <ul className="limit-list">
          {limits.map((limit) => (
            <li key={targetWords(limit)}>
              <div className="stack tight grow">
                <span className="row wraps">
                  <h3>{targetWords(limit)}</h3>
                  {limit.changed && <Badge tone="special">changed by hand</Badge>}
                </span>
                <Words words={limitWords(limit.limits)} />
                {limit.changed && limit.declared && (
                  <p className="small faint">
                    Code says: {limitWords(limit.declared).join('; ') || 'no limit'}
                  </p>
                )}
              </div>
              {mayOperate && 'queue' in limit.target && (
                <div className="row">
                  {limit.changed && (
                    <Button
                      small
                      look="quiet"
                      onClick={() => {
                        const lane = laneOf(limit)
                        reset.mutate({ queue, ...(lane === undefined ? {} : { lane }) })
                      }}
                    >
                      Back to code
                    </Button>
                  )}
                  {limit !== whole && (
                    <Button
                      small
                      look="quiet"
                      icon="edit"
                      onClick={() => {
                        const lane = laneOf(limit)
                        setEditing(lane === undefined ? {} : { lane })
                      }}
                    >
                      Change
                    </Button>
                  )}
                </div>
              )}
            </li>
          ))}
        </ul>
      </Card>
      {editing && (
        <LimitDialog
          queue={queue}
          {...editing}
          {...(current ? { current: current.limits } : {})}
          onClose={() => setEditing(null)}
        />
      )}
    </>
  )
}

function Words({ words }: { readonly words: readonly string[] }): ReactNode {
  if (words.length === 0) return <p className="soft">No limit</p>
  return (
    <ul className="bullets soft">
      {words.map((sentence) => (
        <li key={sentence}>{sentence}</li>
      ))}
    </ul>
  )
}

import { type ReactNode, useState } from 'react'
import type { QueueDetail } from '../../../../src/operations/schema/wire-types.ts'
import { useCan } from '../../api/me.ts'
import { useAct } from '../../api/query.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { Badge } from '../../ui/state.tsx'
import { describeLimits, describeTarget, type Limit } from './describe-limits.ts'
import { LimitDialog } from './limit-dialog.tsx'

/** The limits of a queue: those declared in code, and those overridden at run time. */
export function LimitsTab({ detail }: { readonly detail: QueueDetail }): ReactNode {
  const { queue, limits } = detail
  const mayOperate = useCan('operate')
  const [editing, setEditing] = useState<{ readonly lane?: string } | null>(null)
  const reset = useAct('queues.unlimit', { success: 'Limits reset to code' })
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
              Change limits
            </Button>
          )
        }
      >
        {limits.length === 0 && (
          <p className="soft">
            No limits: workers run as many jobs as they have slots. A limit applies across all machines as
            soon as it is set.
          </p>
        )}
        <ul className="limit-list">
          {limits.map((limit) => (
            <li key={describeTarget(limit)}>
              <div className="stack tight grow">
                <span className="row wraps">
                  <h3>{describeTarget(limit)}</h3>
                  {limit.changed && <Badge tone="special">overridden</Badge>}
                </span>
                <LimitList phrases={describeLimits(limit.limits)} />
                {limit.changed && limit.declared && (
                  <p className="small faint">
                    In code: {describeLimits(limit.declared).join('; ') || 'no limit'}
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
                      Reset to code
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

function LimitList({ phrases }: { readonly phrases: readonly string[] }): ReactNode {
  if (phrases.length === 0) return <p className="soft">No limit</p>
  return (
    <ul className="bullets soft">
      {phrases.map((phrase) => (
        <li key={phrase}>{phrase}</li>
      ))}
    </ul>
  )
}

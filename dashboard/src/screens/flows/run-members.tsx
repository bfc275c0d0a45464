import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { RunDetail } from '../../../../src/operations/schema/wire-types.ts'
import { wholeText } from '../../format/numbers.ts'
import { to } from '../../router.ts'
import { Card } from '../../ui/card.tsx'
import { Progress } from '../../ui/progress.tsx'
import { StateBadge } from '../../ui/state.tsx'
import { TimeAgo } from '../../ui/time.tsx'

type Member = RunDetail['members']['open'][number]

/** What the present step waits for: how many have ended, which failed, which are still to come. */
export function RunMembersCard({ detail }: { readonly detail: RunDetail }): ReactNode {
  const { run, members } = detail
  const { waits, step } = run.position
  if (waits === null) return null
  if (waits.kind === 'moment') {
    return (
      <Card title="Sleeps">
        <p>
          It goes on <TimeAgo at={waits.until} />.
        </p>
      </Card>
    )
  }
  if (waits.kind === 'signal') {
    return (
      <Card title={`Waits for the signal ${step ?? ''}`}>
        <p>
          {waits.until === null ? (
            'It waits as long as it takes.'
          ) : (
            <>
              Its patience ends <TimeAgo at={waits.until} />.
            </>
          )}
        </p>
      </Card>
    )
  }
  const what = waits.kind === 'jobs' ? 'jobs' : 'branches'
  return (
    <Card
      flush
      title={`${step ?? 'This step'} ${run.status === 'running' ? 'waits' : 'waited'} for ${wholeText(waits.size)} ${waits.size === 1 ? what.replace(/e?s$/, '') : what}`}
    >
      <div className="stack">
        <div className="member-progress">
          <Progress
            label="Members that are done"
            value={waits.size === 0 ? 1 : waits.done / waits.size}
            note={`${wholeText(waits.done)} of ${wholeText(waits.size)} done${waits.failed > 0 ? `, ${wholeText(waits.failed)} failed` : ''}`}
          />
        </div>
        <MemberLines
          members={[
            ...members.failed,
            ...members.open.filter(({ n }) => !members.failed.some((one) => one.n === n)),
          ]}
        />
      </div>
    </Card>
  )
}

function MemberLines({ members }: { readonly members: readonly Member[] }): ReactNode {
  return (
    <ul className="member-lines">
      {members.map((member) => (
        <li key={member.n}>
          <span className="num faint">{member.n + 1}</span>
          {member.state === null ? (
            <span className="faint">not kept</span>
          ) : (
            <StateBadge state={member.state} />
          )}
          <Link to={member.kind === 'job' ? to.job(member.id) : to.run(member.id)} className="link cut">
            {member.name ?? member.kind} …{member.id.slice(-8)}
          </Link>
          {member.failure && <span className="soft cut grow">{member.failure.message}</span>}
        </li>
      ))}
    </ul>
  )
}

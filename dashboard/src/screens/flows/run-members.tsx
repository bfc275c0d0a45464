import type { ReactNode } from 'react'
import { Link } from 'wouter'
import type { RunDetail } from '../../../../src/operations/schema/wire-types.ts'
import { fullCountText } from '../../format/numbers.ts'
import { to } from '../../router.ts'
import { Card } from '../../ui/card.tsx'
import { Progress } from '../../ui/progress.tsx'
import { StateBadge } from '../../ui/state.tsx'
import { TimeAgo } from '../../ui/time.tsx'

type Member = RunDetail['members']['open'][number]

/** What the current step waits for: its progress, and the failed and open members. */
export function RunMembersCard({ detail }: { readonly detail: RunDetail }): ReactNode {
  const { run, members } = detail
  const { waits, step } = run.position
  if (waits === null) return null
  if (waits.kind === 'moment') {
    return (
      <Card title="Sleeping">
        <p>
          Continues <TimeAgo at={waits.until} />.
        </p>
      </Card>
    )
  }
  if (waits.kind === 'signal') {
    return (
      <Card title={`Waiting for signal ${step ?? ''}`}>
        <p>
          {waits.until === null ? (
            'No timeout.'
          ) : (
            <>
              Times out <TimeAgo at={waits.until} />.
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
      title={`${step ?? 'This step'} ${run.status === 'running' ? 'is waiting' : 'waited'} for ${fullCountText(waits.size)} ${waits.size === 1 ? what.replace(/e?s$/, '') : what}`}
    >
      <div className="stack">
        <div className="member-progress">
          <Progress
            label="Completed members"
            value={waits.size === 0 ? 1 : waits.done / waits.size}
            note={`${fullCountText(waits.done)} of ${fullCountText(waits.size)} done${waits.failed > 0 ? `, ${fullCountText(waits.failed)} failed` : ''}`}
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
            <span className="faint">expired</span>
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

import { type ReactNode, useState } from 'react'
import { Link } from 'wouter'
import type { QueueDetail } from '../../../../src/operations/schema/wire-types.ts'
import { useCan } from '../../api/me.ts'
import { useAct } from '../../api/query.ts'
import { to } from '../../router.ts'
import { Button } from '../../ui/button.tsx'
import { Card } from '../../ui/card.tsx'
import { classes } from '../../ui/classes.ts'
import { Confirm } from '../../ui/dialog.tsx'
import { Icon, type IconName } from '../../ui/icon.tsx'
import { Sentence } from '../../ui/sentence.tsx'
import { TimeAgo } from '../../ui/time.tsx'
import { LimitDialog } from './limit-dialog.tsx'

type QueueCause = QueueDetail['explanation']['causes'][number]
type Hold = QueueDetail['holds'][number]

const ICONS: Readonly<Record<QueueCause['cause'], IconName>> = {
  held: 'pause',
  'no-worker': 'errors',
  'lane-full': 'queues',
  'lane-waits': 'schedules',
  occupied: 'queues',
  rate: 'schedules',
  'queue-full': 'queues',
  'shared-full': 'queues',
  'workers-busy': 'workers',
  'not-due': 'schedules',
  ready: 'play',
}

/** Why the jobs of a queue are waiting: each cause with its number of jobs and an action. */
export function WhyWaiting({ detail }: { readonly detail: QueueDetail }): ReactNode {
  const { queue, explanation, holds } = detail
  const { causes, isWhole } = explanation
  const shown = new Set(causes.flatMap(({ hold }) => (hold === null ? [] : [keyOf(hold)])))
  // Holds that affect no waiting job are listed, too.
  const idle = holds.filter((hold) => !shown.has(keyOf(hold)))
  if (causes.length === 0 && idle.length === 0) return null
  return (
    <Card title="Why jobs wait">
      <ul className="queue-causes">
        {causes.map((cause) => (
          <li
            key={`${cause.cause} ${cause.lane} ${cause.text}`}
            className={classes('queue-cause', `queue-cause-${toneOf(cause)}`)}
          >
            <Icon name={cause.hold?.kind === 'block' ? 'block' : ICONS[cause.cause]} />
            <span className="grow wrap-anywhere">
              <Sentence text={cause.text} links={jobLinks(cause.text)} />
              {/* The sentence truncates a long reason. */}
              {cause.hold?.reason && !cause.text.includes(cause.hold.reason) && (
                <span className="queue-cause-reason">{cause.hold.reason}</span>
              )}
            </span>
            <CauseAction cause={cause} queue={queue} />
          </li>
        ))}
        {idle.map((hold) => (
          <li key={keyOf(hold)} className="queue-cause queue-cause-plain">
            <Icon name={hold.kind === 'block' ? 'block' : 'pause'} />
            <span className="grow wrap-anywhere">
              {targetOf(hold, queue)} is {hold.kind === 'block' ? 'blocked' : 'paused'}
              {hold.by && ` by ${hold.by}`} <TimeAgo at={hold.since} />
              {hold.reason && `: ${hold.reason}`}. No job is waiting for it.
            </span>
            <Release hold={hold} queue={queue} />
          </li>
        ))}
      </ul>
      {!isWhole && (
        <p className="small faint">
          Only some of the lanes were inspected. More jobs may be waiting for one of these causes.
        </p>
      )}
    </Card>
  )
}

function CauseAction({ cause, queue }: { readonly cause: QueueCause; readonly queue: string }): ReactNode {
  const [isLimiting, setLimiting] = useState(false)
  const mayOperate = useCan('operate')
  const { lane } = cause
  switch (cause.cause) {
    case 'held':
      return cause.hold ? (
        <Release hold={cause.hold} queue={queue} />
      ) : (
        <ButtonLink path={`${to.queue(queue)}?tab=lanes`} text="View lanes" />
      )
    case 'lane-full':
    case 'lane-waits':
      if (lane === null || !mayOperate)
        return <ButtonLink path={`${to.queue(queue)}?tab=lanes`} text="View lanes" />
      return (
        <>
          <Button small icon="edit" onClick={() => setLimiting(true)}>
            Change limits …
          </Button>
          {isLimiting && <LimitDialog queue={queue} lane={lane} onClose={() => setLimiting(false)} />}
        </>
      )
    case 'occupied':
      return <ButtonLink path={`${to.queue(queue)}?tab=lanes`} text="View lanes" />
    case 'queue-full':
    case 'rate':
    case 'shared-full':
      return <ButtonLink path={`${to.queue(queue)}?tab=limits`} text="View limits" />
    case 'no-worker':
    case 'workers-busy':
      return <ButtonLink path="/workers" text="View workers" />
    case 'not-due':
      return <ButtonLink path={to.jobs(`queue:${queue} state:delayed`)} text="View jobs" />
    default:
      return null
  }
}

function ButtonLink({ path, text }: { readonly path: string; readonly text: string }): ReactNode {
  return (
    <Link to={path} className="button button-plain button-small">
      {text}
    </Link>
  )
}

/** Removes a hold. A hold on more than this queue asks for confirmation, because others resume, too. */
function Release({ hold, queue }: { readonly hold: Hold; readonly queue: string }): ReactNode {
  const [isAsking, setAsking] = useState(false)
  const mayOperate = useCan('operate')
  const mayAdmin = useCan('admin')
  const isBlock = hold.kind === 'block'
  const what = targetOf(hold, queue)
  const options = { success: `${isBlock ? 'Unblocked' : 'Resumed'} ${what}`, onDone: () => setAsking(false) }
  const resume = useAct('holds.resume', options)
  const unblock = useAct('holds.unblock', options)
  // A hold on all spaces cannot be removed from within one.
  if (hold.space === null || !(isBlock ? mayAdmin : mayOperate)) return null
  const act = isBlock ? unblock : resume
  const release = (): void =>
    act.mutate({
      ...(hold.queue === null ? {} : { queue: hold.queue }),
      ...(hold.lane === null ? {} : { lane: hold.lane }),
    })
  const isWider = hold.queue !== queue
  const verb = isBlock ? 'Unblock' : 'Resume'
  return (
    <>
      <Button small icon="play" busy={act.isPending} onClick={() => (isWider ? setAsking(true) : release())}>
        {verb}
        {hold.lane !== null && ` ${hold.lane === '' ? 'the default lane' : hold.lane}`}
        {isWider && ' …'}
      </Button>
      {isAsking && (
        <Confirm
          title={`${verb} ${what}`}
          action={verb}
          busy={act.isPending}
          onClose={() => setAsking(false)}
          onConfirm={release}
        >
          <p>
            This {hold.kind} applies to more than this queue. It is removed for {what}.
          </p>
        </Confirm>
      )}
    </>
  )
}

function targetOf({ queue: pattern, lane }: Hold, queue: string): string {
  if (lane !== null) return lane === '' ? 'the default lane' : `lane ${lane}`
  if (pattern === null) return 'every queue'
  return pattern === queue ? 'the queue' : pattern
}

function keyOf({ kind, space, queue, lane }: Hold): string {
  return `${kind} ${space} ${queue} ${lane}`
}

function toneOf({ cause, hold }: QueueCause): string {
  if (cause === 'no-worker' || hold?.kind === 'block') return 'bad'
  return cause === 'ready' || cause === 'not-due' ? 'plain' : 'warn'
}

const ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

/** All ids in these sentences are job ids. */
function jobLinks(text: string): ReadonlyMap<string, string> {
  return new Map((text.match(ID) ?? []).map((id) => [id, to.job(id)]))
}

/** What the API calls otherwise than the library. */
import { type Holdable, JOB_STATES, type Limitable, type QueueView, type WorkerView } from '../../index.ts'
import type { HoldTargetInput, QueueSummary, WorkerSummary } from '../../server.ts'
import { usage } from '../exit.ts'

type Named = string | { readonly name: string }

export function nameOf(one: Named): string {
  return typeof one === 'string' ? one : one.name
}

/** Its moments are dates already. */
export function queueView({ queue, counts, oldestMs, unhandled, hold, holds }: QueueSummary): QueueView {
  return { queue, ...counts, oldestMs, unhandled, hold, holds: holds as unknown as QueueView['holds'] }
}

/** A queue of which there is nothing, which is shown when it is asked for. */
export function emptyQueue(queue: string): QueueView {
  const counts = Object.fromEntries(JOB_STATES.map((state) => [state, 0])) as QueueSummary['counts']
  return { queue, ...counts, oldestMs: null, unhandled: 0, hold: null, holds: [] }
}

export function workerView({ startedAt, seenAt, ...rest }: WorkerSummary, space: string): WorkerView {
  return { ...rest, space, startedAt: Date.parse(startedAt), seenAt: Date.parse(seenAt) } as WorkerView
}

export function holdTarget(target: Holdable): HoldTargetInput {
  if (typeof target === 'string') return { queue: target }
  const { name, queue, lane, everywhere } = target as {
    readonly name?: string
    readonly queue?: Named
    readonly lane?: string
    readonly everywhere?: boolean
  }
  if (everywhere === true) throw usage('--everywhere does not go with --url: a server acts in one space.')
  const said = name ?? (queue === undefined ? undefined : nameOf(queue))
  return { ...(said === undefined ? {} : { queue: said }), ...(lane === undefined ? {} : { lane }) }
}

export function limitTarget(target: Limitable): { readonly queue: string; readonly lane?: string } {
  if (typeof target === 'string') return { queue: target }
  const { name, queue, lane } = target as { name?: string; queue?: Named; lane?: string }
  const said = name ?? queue
  if ('shared' in target || said === undefined) {
    throw usage(
      'A shared limit is of no queue, so a server does not change it.',
      'Use --db instead of --url.',
    )
  }
  return { queue: nameOf(said), ...(lane === undefined ? {} : { lane }) }
}

/** The moments that were given, as texts. */
export function iso<Name extends string>(
  moments: Readonly<Record<Name, Date | undefined>>,
): { readonly [Key in Name]?: string } {
  const given = Object.entries<Date | undefined>(moments).filter(([, moment]) => moment !== undefined)
  return Object.fromEntries(given.map(([name, moment]) => [name, (moment as Date).toISOString()])) as {
    [Key in Name]?: string
  }
}

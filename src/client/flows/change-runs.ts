import { BEGIN, type Maker } from '../../flows/next-move.ts'
import { beginning, type Position, readPosition } from '../../flows/position.ts'
import type { Notifier } from '../../notifier/notifier.ts'
import type { Store } from '../../store/store.ts'

const PAGE = 500
const KEEP_MS = 3 * 86_400_000

interface CancelEnv {
  readonly store: Store
  readonly notifier?: Notifier
  readonly space: string
  /** Of groups of jobs alone no run is ended. */
  readonly maker?: Pick<Maker, 'control'>
}

/**
 * Ends a run, and then what it waits for. False if it had ended before, or there is none. Should this process end between
 * the two, a job that comes with the first does the second.
 */
export async function cancelRun(env: CancelEnv, id: string, reason: string): Promise<boolean> {
  const { store, space, notifier, maker } = env
  for (;;) {
    const run = (await store.getRuns({ space, ids: [id] })).runs[0]
    if (run?.status !== 'running') return false
    const failure = failureOf(reason)
    const position = readPosition(run.position)
    const { waits, queue } = position
    const hasMembers = waits !== null && waits.size > 0
    const jobs =
      hasMembers && maker ? [maker.control(position, id, { event: 'cancelled', id: waits.id }, 0)] : []
    const end = { status: 'cancelled', failure, keepMs: KEEP_MS, groups: [], runs: [], jobs } as const
    const { results, enqueued } = await store.moveRuns({
      moves: [{ id, space, revision: run.revision, ...end }],
    })
    notifier?.publish(enqueued.map((one) => ({ kind: 'work', ...one })))
    // It moved on meanwhile: then it is that which is to be ended.
    if (results[0]?.status !== 'ok') continue
    // Somebody may wait for its result.
    notifier?.publish([{ kind: 'settled', space, queue }])
    if (hasMembers) await cancelMembers(env, waits.id, reason)
    return true
  }
}

/**
 * Lets a run that has ended go on: at the step at which it stands, or at another. False if it is running, if it is done and no
 * step is given, or if there is none.
 * What was undone is done again.
 */
export async function retryRun(
  env: CancelEnv & { readonly maker: Maker },
  id: string,
  from: string | undefined,
): Promise<boolean> {
  const { store, space, notifier, maker } = env
  const run = (await store.getRuns({ space, ids: [id] })).runs[0]
  if (!run || run.status === 'running') return false
  // It has no step left to run: only the caller knows which one is meant.
  if (run.status === 'done' && from === undefined) return false
  const stood = readPosition(run.position)
  const control = maker.control(stood, id, BEGIN, 0)
  const position: Position = {
    ...stood,
    waits: beginning(control.id),
    failure: null,
    undos: [],
    ...(from !== undefined && { from }),
  }
  const jobs = [control]
  const move = { id, space, revision: run.revision, status: 'running', groups: [], runs: [], jobs } as const
  const { results, enqueued } = await store.moveRuns({
    moves: [{ ...move, position: JSON.stringify(position) }],
  })
  notifier?.publish(enqueued.map((one) => ({ kind: 'work', ...one })))
  return results[0]?.status === 'ok'
}

/** Cancels the members of a group that have not ended. Repeating it is harmless. */
export async function cancelMembers(env: CancelEnv, group: string, reason: string): Promise<void> {
  const { store, space, notifier } = env
  for (let from = 0; ; ) {
    const { members } = await store.openMembers({ space, group, from, limit: PAGE })
    const ids = members.filter(({ kind }) => kind === 'job').map(({ id }) => id)
    if (ids.length > 0) {
      const call = { action: 'cancel', space, failure: failureOf(reason), keepMs: KEEP_MS } as const
      const { results } = await store.change({ ...call, target: { ids } })
      const asked = results.filter(({ status }) => status === 'requested').map(({ id }) => id)
      if (asked.length > 0) notifier?.publish([{ kind: 'cancel', space, ids: asked }])
    }
    for (const { kind, id } of members) if (kind === 'run') await cancelRun(env, id, reason)
    if (members.length < PAGE) return
    from = (members.at(-1)?.n ?? 0) + 1
  }
}

function failureOf(reason: string): string {
  return JSON.stringify({ kind: 'cancel', message: reason })
}

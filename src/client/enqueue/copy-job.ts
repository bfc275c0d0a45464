import { SkepError } from '../../core/errors.ts'
import { unchained } from '../../core/flows/chains.ts'
import type { Group } from '../../core/flows/groups.ts'
import { type Ancestry, mayRejoin, type Run } from '../../core/flows/runs.ts'
import { COPY_HEADER, type Job, type NewJob } from '../../core/jobs/job.ts'
import { encodeHeaders, encodeJson } from '../../core/json/payload.ts'
import { assertName } from '../../core/names.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import { assertOrdinaryQueue } from '../../flows/control-jobs.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { Store } from '../../store/store.ts'
import { readValue } from '../../worker/events.ts'

/** The header of a copy that tells who asked for it. */
const COPIED_BY_HEADER = 'skep-copied-by'

export interface CopyOptions {
  /** Instead of the payload of that job. */
  readonly payload?: unknown
  /** Into this queue instead of that job's own. */
  readonly queue?: string
  /** Who asked for it, kept in the header `skep-copied-by`. */
  readonly by?: string
}

const KEYS = optionKeys<CopyOptions>('jobs.copy()', { payload: true, queue: true, by: true })

/**
 * A new job like that one. It keeps headers, lane, priority, cost and its own options, and starts now. It has no unique key: the
 * other may still hold that.
 */
export function copyOf(
  job: Job,
  options: CopyOptions,
  env: { readonly runtime: Runtime; readonly payloadBytes: number },
): NewJob {
  assertOptions(KEYS, options)
  const { queue = job.queue, by } = options
  assertName('Queue', queue)
  for (const name of [queue, job.queue]) {
    assertOrdinaryQueue(name, 'its jobs cannot be copied', 'Start the flow again, or retry the run.')
  }
  const payload =
    options.payload !== undefined ? encodeJson('payload', options.payload, env.payloadBytes) : job.payload
  return {
    id: env.runtime.uuid(),
    space: job.space,
    queue,
    payload,
    headers: headersOf(job, by),
    priority: job.priority,
    delayMs: 0,
    runAt: null,
    unique: null,
    overrides: job.overrides,
    lane: job.lane,
    // Whether another queue keeps its order strictly is not known here.
    strict: job.strict && queue === job.queue,
    cost: job.cost,
    member: null,
  }
}

/**
 * Refuses the job of a run that does not wait for it any more, as a retry is refused (`mayRejoin`): the run may have undone what the
 * copy would do again. Read before the copy is made, so a run that is undone in between is as if it was undone after that.
 */
export async function assertAwaited(store: Pick<Store, 'getGroups' | 'getRuns'>, job: Job): Promise<void> {
  const { space, member } = job
  const groups = new Map<string, Group>()
  const runs = new Map<string, Run>()
  for (let id = member?.group; id !== undefined; ) {
    const group = (await store.getGroups({ space, ids: [id] })).groups[0] ?? null
    const run = group?.run ? ((await store.getRuns({ space, ids: [group.run] })).runs[0] ?? null) : null
    if (group !== null) groups.set(id, group)
    if (run !== null) runs.set(run.id, run)
    id = run?.member?.group
  }
  const ancestry: Ancestry = { groupOf: (id) => groups.get(id), runOf: (_, id) => runs.get(id) }
  if (member === null || mayRejoin(member.group, ancestry)) return
  const run = groups.get(member.group)?.run ?? null
  throw new SkepError(
    'RUN_NOT_WAITING',
    `Job "${job.id}" belongs to ${run === null ? 'a run' : `run "${run}"`} that does not wait for it any more, so it cannot be copied. Retry the run with run.retry(), or enqueue a job with the same payload apart from the run.`,
    { facts: { id: job.id, ...(run !== null && { run }) } },
  )
}

/**
 * What the job had, which was judged when it was enqueued, and where this one comes from. What would follow it in a chain has
 * followed, or will follow, that one.
 */
function headersOf({ id, headers }: Job, by: string | undefined): string {
  const text = unchained(headers)
  const kept = text === null ? {} : (readValue(text) as Record<string, string>)
  const { [COPIED_BY_HEADER]: _earlier, ...own } = kept
  const said = by === undefined ? null : encodeHeaders({ [COPIED_BY_HEADER]: by })
  const copied = said === null ? {} : (readValue(said) as Record<string, string>)
  return JSON.stringify({ ...own, ...copied, [COPY_HEADER]: id })
}

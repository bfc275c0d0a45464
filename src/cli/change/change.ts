import type { ChangeSummary, JobState, Target } from '../../index.ts'
import type { Call } from '../command.ts'
import type { Counterpart } from '../connect/backend.ts'
import { type Reached, reaching } from '../connect/connect.ts'
import { EXIT, usage } from '../exit.ts'
import { count, many } from '../format/numbers.ts'
import { Progress } from '../format/progress.ts'
import { confirm } from './confirm.ts'
import {
  type Action,
  assertMeant,
  queuesOf,
  readSelection,
  SELECTION_FLAGS,
  type Selection,
  type Tally,
  tally,
  targetIn,
} from './selection.ts'

const DONE: Readonly<Record<Action, string>> = {
  cancel: 'Cancelled',
  retry: 'Retried',
  promote: 'Promoted',
  remove: 'Removed',
  bury: 'Buried',
  prioritize: 'Prioritized',
  reschedule: 'Rescheduled',
}

const DOING: Readonly<Record<Action, string>> = {
  cancel: 'Cancelling',
  retry: 'Retrying',
  promote: 'Promoting',
  remove: 'Removing',
  bury: 'Burying',
  prioritize: 'Prioritizing',
  reschedule: 'Rescheduling',
}

const REASONS = {
  unknown: 'there is no such job in this space',
  state: 'not possible in its present state',
  unique: 'another job holds its unique key',
  run: 'its run does not wait for it any more; retry the run: skep flows retry',
} as const

/** Does the thing to some jobs. */
export type Apply = (skep: Counterpart, target: Target) => Promise<ChangeSummary>

interface ChangeOptions {
  readonly ids: readonly string[]
  /** Added to the filters; ids of jobs in other states are refused. */
  readonly state?: JobState
  /** Finds out how to do it, before anybody is asked and anything is changed. @default the method of that name */
  readonly prepare?: (opened: Reached, ids: readonly string[], selection: Selection) => Promise<Apply>
}

/** Does one thing to jobs, by their ids or by a filter, and says what became of them. */
export async function changeJobs(call: Call, action: Action, options: ChangeOptions): Promise<number> {
  const { args, out } = call
  const ids = [...new Set(options.ids)]
  const filters = readSelection(args, { maxLimit: 1_000_000_000 })
  const selection = options.state === undefined ? filters : { ...filters, state: [options.state] }
  const filter = Object.keys(SELECTION_FLAGS).find((name) => args.typed(name))
  if (ids.length > 0 && filter !== undefined) {
    throw usage(`Ids and --${filter} do not go together.`, 'Give ids or a filter.')
  }
  if (ids.length === 0) assertMeant(filters, args, action)

  return reaching(call, { create: false }, async (opened) => {
    const { skep } = opened
    const apply = (await options.prepare?.(opened, ids, selection)) ?? plainly(action)
    const found: Tally =
      ids.length > 0 ? { jobs: ids.length, exact: true } : await tally(skep, action, selection)
    const about = found.exact ? many(found.jobs, 'job') : `more than ${many(found.jobs, 'job')}`
    if (args.on('dry-run')) {
      if (out.json) out.object({ action, dryRun: true, jobs: found.jobs, exact: found.exact })
      else out.data(`Would ${action} ${about}.`)
      return EXIT.ok
    }
    if (ids.length === 0 && found.jobs > 0) await confirm(call, `${title(action)} ${about}?`)
    const summary = await new Progress(out, DOING[action]).during(
      ids.length > 0 ? changeNamed(skep, apply, ids, options.state) : changeSelected(skep, apply, selection),
    )
    return tell(call, action, summary)
  })
}

/** How a change is done of which nothing but its name has to be known. */
function plainly(action: Action): Apply {
  if (action === 'prioritize' || action === 'reschedule')
    throw new TypeError(`${action} needs to know to what.`)
  return (skep, target) => skep.jobs[action](target)
}

/** `skep dead remove <id>` must not remove a job that waits, so the state is looked at first. */
async function changeNamed(
  skep: Counterpart,
  apply: Apply,
  ids: readonly string[],
  state: JobState | undefined,
): Promise<ChangeSummary> {
  if (state === undefined) return apply(skep, ids)
  const fitting: string[] = []
  const refused: ChangeSummary['refused'][number][] = []
  for (const id of ids) {
    const job = await skep.jobs.get(id)
    if (job?.state === state) fitting.push(id)
    else refused.push({ id, reason: job === null ? 'unknown' : 'state' })
  }
  const summary = await apply(skep, fitting)
  return { ...summary, refused: [...refused, ...summary.refused] }
}

async function changeSelected(skep: Counterpart, apply: Apply, selection: Selection): Promise<ChangeSummary> {
  let changed = 0
  let requested = 0
  const refused: ChangeSummary['refused'][number][] = []
  for (const queue of await queuesOf(skep, selection)) {
    const left = (selection.limit ?? Infinity) - changed - requested
    if (left <= 0) break
    const part = await apply(skep, targetIn(queue, selection, left))
    changed += part.changed
    requested += part.requested
    refused.push(...part.refused)
  }
  return { changed, requested, refused }
}

function tell({ out }: Call, action: Action, summary: ChangeSummary): number {
  const { changed, requested, refused } = summary
  if (out.json) out.object({ action, dryRun: false, changed, requested, refused })
  else {
    const asked = requested > 0 ? ` ${count(requested)} that run were asked to stop.` : ''
    out.data(`${DONE[action]} ${many(changed, 'job')}.${asked}`)
    for (const { id, reason } of refused)
      out.complain(`${out.paintNote('red', 'refused')} ${id}: ${REASONS[reason]}`)
  }
  if (refused.some(({ reason }) => reason === 'unknown')) return EXIT.notFound
  return refused.length > 0 ? EXIT.conflict : EXIT.ok
}

function title(action: string): string {
  return action.charAt(0).toUpperCase() + action.slice(1)
}

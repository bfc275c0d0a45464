import type { JobState } from '../../index.ts'
import type { JobAction } from '../../operations/schema/inputs.ts'
import type { ChangeOutput } from '../../operations/schema/outputs.ts'
import type { InputOf } from '../../operations/table.ts'
import type { Call } from '../command.ts'
import type { Backend } from '../connect/backend.ts'
import { type Reached, reaching } from '../connect/connect.ts'
import { EXIT, usage } from '../exit.ts'
import { count, many } from '../format/numbers.ts'
import { Progress } from '../format/progress.ts'
import { confirm } from './confirm.ts'
import {
  assertMeant,
  queuesOf,
  readSelection,
  SELECTION_FLAGS,
  type Selection,
  type Tally,
  tally,
} from './selection.ts'

const DONE: Readonly<Record<JobAction, string>> = {
  cancel: 'Cancelled',
  retry: 'Retried',
  promote: 'Promoted',
  remove: 'Removed',
  bury: 'Buried',
  prioritize: 'Prioritized',
  reschedule: 'Rescheduled',
}

const DOING: Readonly<Record<JobAction, string>> = {
  cancel: 'Cancelling',
  retry: 'Retrying',
  promote: 'Promoting',
  remove: 'Removing',
  bury: 'Burying',
  prioritize: 'Prioritizing',
  reschedule: 'Rescheduling',
}

const REASONS: Readonly<Record<string, string>> = {
  unknown: 'there is no such job in this space',
  state: 'not possible in its present state',
  unique: 'another job holds its unique key',
  run: 'its run no longer waits for it; retry the run: skep flows retry',
}

type Change = InputOf<'jobs.change'>
export type ChangeTarget = Omit<Change, 'action'>

interface ChangeOptions {
  readonly ids: readonly string[]
  /** Added to the filters; jobs in other states are refused. */
  readonly state?: JobState
  /** The calls that change a target. It is prepared before the confirmation. @default one call */
  readonly prepare?: (
    reached: Reached,
    ids: readonly string[],
    selection: Selection,
  ) => Promise<(target: ChangeTarget) => readonly ChangeTarget[]>
}

/** The most ids of one call. */
const MOST_IDS = 1_000

/** Changes jobs by id or by a filter, and reports the result. */
export async function changeJobs(call: Call, action: JobAction, options: ChangeOptions): Promise<number> {
  const { args, out } = call
  const ids = [...new Set(options.ids)]
  const filters = readSelection(args, { maxLimit: 1_000_000_000 })
  const selection = options.state === undefined ? filters : { ...filters, states: [options.state] }
  const filter = Object.keys(SELECTION_FLAGS).find((name) => args.typed(name))
  if (ids.length > 0 && filter !== undefined) {
    throw usage(`Ids and --${filter} do not go together.`, 'Give ids or a filter.')
  }
  if (ids.length === 0) assertMeant(filters, args, action)

  return reaching(call, { create: false }, async (reached) => {
    const { backend } = reached
    const callsOf = (await options.prepare?.(reached, ids, selection)) ?? ((target) => [target])
    const found: Tally =
      ids.length > 0 ? { jobs: ids.length, exact: true } : await tally(backend, action, selection)
    const about = found.exact ? many(found.jobs, 'job') : `more than ${many(found.jobs, 'job')}`
    if (args.on('dry-run')) {
      if (out.json) out.object({ action, dryRun: true, jobs: found.jobs, exact: found.exact })
      else out.data(`Would ${action} ${about}.`)
      return EXIT.ok
    }
    if (ids.length === 0 && found.jobs > 0) await confirm(call, `${title(action)} ${about}?`)
    const apply = async (target: ChangeTarget): Promise<ChangeOutput> => {
      let sum = NOTHING
      for (const one of callsOf(target))
        sum = added(sum, await backend.call('jobs.change', { action, ...one }))
      return sum
    }
    const summary = await new Progress(out, DOING[action]).during(
      ids.length > 0 ? changeNamed(apply, ids, options.state) : changeSelected(backend, apply, selection),
    )
    return tell(call, action, summary)
  })
}

type Apply = (target: ChangeTarget) => Promise<ChangeOutput>

const NOTHING: ChangeOutput = { changed: 0, requested: 0, refused: [] }

function added(a: ChangeOutput, b: ChangeOutput): ChangeOutput {
  return {
    changed: a.changed + b.changed,
    requested: a.requested + b.requested,
    refused: [...a.refused, ...b.refused],
  }
}

async function changeNamed(
  apply: Apply,
  ids: readonly string[],
  state: JobState | undefined,
): Promise<ChangeOutput> {
  let sum = NOTHING
  for (let from = 0; from < ids.length; from += MOST_IDS) {
    const part = ids.slice(from, from + MOST_IDS)
    sum = added(sum, await apply({ ids: part, ...(state === undefined ? {} : { states: [state] }) }))
  }
  return sum
}

async function changeSelected(backend: Backend, apply: Apply, selection: Selection): Promise<ChangeOutput> {
  const { limit = Infinity, ...filters } = selection
  let sum = NOTHING
  for (const queue of await queuesOf(backend, selection)) {
    const left = limit - sum.changed - sum.requested
    if (left <= 0) break
    const most = Number.isFinite(left) ? { limit: left } : {}
    sum = added(sum, await apply({ ...filters, queue, ...most }))
  }
  return sum
}

function tell({ out }: Call, action: JobAction, summary: ChangeOutput): number {
  const { changed, requested, refused } = summary
  if (out.json) out.object({ action, dryRun: false, changed, requested, refused })
  else {
    const asked = requested > 0 ? ` ${count(requested)} running were asked to stop.` : ''
    out.data(`${DONE[action]} ${many(changed, 'job')}.${asked}`)
    for (const { id, reason } of refused)
      out.complain(`${out.paintNote('red', 'refused')} ${id}: ${REASONS[reason] ?? reason}`)
  }
  if (refused.some(({ reason }) => reason === 'unknown')) return EXIT.notFound
  return refused.length > 0 ? EXIT.conflict : EXIT.ok
}

function title(action: string): string {
  return action.charAt(0).toUpperCase() + action.slice(1)
}

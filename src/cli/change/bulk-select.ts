import {
  type BulkAction,
  type BulkOptions,
  type BulkView,
  type JobCount,
  type JobState,
  type PriorityMode,
  parseQuery,
} from '../../index.ts'
import type { Arguments } from '../arguments.ts'
import type { Call, Flags } from '../command.ts'
import type { Counterpart } from '../connect/backend.ts'
import { reaching } from '../connect/connect.ts'
import { listenForStop } from '../connect/stop.ts'
import { EXIT, usage } from '../exit.ts'
import { count, many } from '../format/numbers.ts'
import { Progress } from '../format/progress.ts'
import { clean, quote } from '../format/text.ts'
import { BY_FLAG, personOf } from './actor.ts'
import { confirm } from './confirm.ts'
import { readMode } from './prioritize.ts'
import { readWhen } from './reschedule.ts'
import { SELECTION_FLAGS, USUAL_STATES } from './selection.ts'

/** The flags of changes that take a query. */
export const WHERE_FLAGS: Flags = {
  where: { kind: 'text', value: 'query', help: "Jobs that fit, as in: 'state:dead error:~timeout since:1h'" },
  'per-second': { kind: 'text', value: 'n', help: 'With --where: change at most so many jobs per second' },
  detach: { kind: 'switch', help: 'With --where: leave it to the workers, and print the id of the action' },
  reason: { kind: 'text', value: 'text', help: 'With --where, for cancel and bury: kept with the jobs' },
  by: BY_FLAG,
}

const POLL_MS = 100

const DOING: Readonly<Record<BulkAction, string>> = {
  retry: 'Retrying',
  cancel: 'Cancelling',
  bury: 'Burying',
  promote: 'Promoting',
  reschedule: 'Rescheduling',
  move: 'Moving',
  remove: 'Removing',
  prioritize: 'Prioritizing',
}

export const DONE: Readonly<Record<BulkAction, string>> = {
  retry: 'Retried',
  cancel: 'Cancelled',
  bury: 'Buried',
  promote: 'Promoted',
  reschedule: 'Rescheduled',
  move: 'Moved',
  remove: 'Removed',
  prioritize: 'Prioritized',
}

/** The query of --where, read, so that a wrong one is refused before anything is opened. */
export function readWhere({ args }: Call): string | undefined {
  const where = args.text('where')
  if (where === undefined) {
    const alone = ['per-second', 'detach'].find((name) => args.typed(name))
    if (alone !== undefined) throw usage(`--${alone} goes with --where <query>.`)
    return undefined
  }
  parseQuery(where)
  const filter = Object.keys(SELECTION_FLAGS).find((name) => name !== 'limit' && args.typed(name))
  if (filter !== undefined) {
    throw usage(
      `--where and --${filter} do not go together.`,
      `Say it in the query: ${whereFor(filter, args.text(filter) ?? '')}`,
    )
  }
  return where
}

function whereFor(filter: string, text: string): string {
  const field: Readonly<Record<string, string>> = {
    queue: 'queue:',
    state: 'state:',
    after: 'since:',
    before: 'before:',
  }
  return `--where '${field[filter] ?? ''}${clean(text)}'`
}

/** Does one thing to all jobs that fit, as a bulk action that outlives this process if it has to. */
export async function changeWhere(call: Call, action: BulkAction, where: string): Promise<number> {
  const { args, out } = call
  if (args.typed('limit')) throw usage('--limit does not go with --where: it is about all that fit.')
  const options = optionsOf(call, action, where)
  return reaching(call, { create: false }, async ({ skep }) => {
    const found = await skep.jobs.count(withUsualStates(action, where), { cap: 100_000 })
    if (args.on('dry-run')) {
      if (out.json) out.object({ action, dryRun: true, jobs: found.count, exact: found.isExact })
      else out.data(`Would ${action} ${about(found)}.`)
      return EXIT.ok
    }
    if (found.count === 0 && found.isExact) {
      if (out.json) out.object({ action, dryRun: false, changed: 0, refused: 0, status: 'done' })
      else out.data(`No job fits ${quote(where)}, so nothing was changed.`)
      return EXIT.ok
    }
    await confirm(call, `${capital(action)} ${about(found)}?`)
    const bulk = await skep.bulk.start(options)
    if (args.on('detach')) {
      if (out.json) out.object(bulk)
      else out.data(bulk.id)
      out.note(
        out.paintNote('dim', `Workers and servers work it off. How far it is: skep bulk get ${bulk.id}`),
      )
      return EXIT.ok
    }
    return tell(call, await workOff(call, skep, bulk, found.isExact ? found.count : null))
  })
}

function optionsOf(call: Call, action: BulkAction, query: string): BulkOptions {
  const { args } = call
  const perSecond = args.whole('per-second', { min: 1, max: 100_000 })
  const reason = args.text('reason')
  if (reason !== undefined && action !== 'cancel' && action !== 'bury' && args.typed('reason')) {
    throw usage('--reason is for cancel and bury.')
  }
  const by = personOf(args)
  return {
    action,
    query,
    ...(by === undefined ? {} : { by }),
    ...(perSecond === undefined ? {} : { perSecond }),
    ...(reason === undefined ? {} : { reason }),
    ...(action === 'prioritize' ? priorityOf(call) : {}),
    ...(action === 'reschedule' ? { when: readWhen(args) } : {}),
    ...(action === 'move' ? { queue: readTo(args) } : {}),
  }
}

function priorityOf({ args }: Call): { readonly priority: number; readonly priorityMode?: PriorityMode } {
  const priority = args.whole('priority', { min: -100, max: 100 })
  if (priority === undefined) throw usage('Which priority?', 'skep jobs prioritize --where … --priority 10')
  const mode = readMode(args)
  return { priority, ...(mode === undefined ? {} : { priorityMode: mode }) }
}

function readTo(args: Arguments): string {
  const to = args.text('to')
  if (to !== undefined) return to
  throw usage('Which queue shall they go to?', 'skep jobs move <id…> --to <queue>')
}

/** Works it off here, together with whoever else does, and shows how far it is. Ctrl-C ends it after the present page. */
async function workOff(
  { out }: Call,
  skep: Counterpart,
  begun: BulkView,
  counted: number | null,
): Promise<BulkView> {
  const progress = new Progress(out, DOING[begun.action])
  const stop = listenForStop({
    onHurry: () => process.exit(EXIT.failure),
    onForce: () => process.exit(EXIT.failure),
  })
  const served = skep.bulk.serve()
  try {
    let bulk: BulkView = begun
    let asked = false
    while (bulk.status === 'running') {
      progress.show(bulk.changed + bulk.refused, bulk.expected ?? counted)
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
      if (stop.signal.aborted && !asked) {
        asked = true
        await skep.bulk.stop(begun.id)
      }
      bulk = (await skep.bulk.get(begun.id)) ?? bulk
    }
    // The page that was under way when it was stopped still adds what it did.
    await served.stop()
    return (await skep.bulk.get(begun.id)) ?? bulk
  } finally {
    progress.end()
    stop.release()
    await served.stop()
  }
}

function tell({ out }: Call, bulk: BulkView): number {
  const { action, status, changed, refused, error } = bulk
  if (out.json) out.object({ action, dryRun: false, changed, refused, status, id: bulk.id, error })
  else {
    const left = refused === 0 ? '' : ` ${count(refused)} were not in a state that allows it any more.`
    out.data(`${DONE[action]} ${many(changed, 'job')}.${left}`)
    if (status === 'stopped') {
      out.complain(
        `${out.paintNote('yellow', 'stopped')} The rest was left as it was. Start it again to go on.`,
      )
    }
    if (status === 'failed') out.complain(`${out.paintNote('red', 'failed')} ${clean(error ?? '')}`)
  }
  return status === 'done' ? EXIT.ok : EXIT.failure
}

/** The same query with the states that the action means when nobody names one, so that the count is of those. */
export function withUsualStates(action: BulkAction, where: string): string {
  const saysStates = parseQuery(where).terms.some(({ field }) => field === 'state')
  const like = ({ retry: 'retry', move: 'bury' } as const)[action as 'retry'] ?? action
  const states: readonly JobState[] = USUAL_STATES[like]
  return saysStates ? where : `${where} state:${states.join(',')}`
}

function about({ count: jobs, isExact }: JobCount): string {
  return isExact ? many(jobs, 'job') : `at least ${many(jobs, 'job')}`
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

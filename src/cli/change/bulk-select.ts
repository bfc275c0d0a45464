import { type BulkAction, parseQuery } from '../../index.ts'
import type { BulkView } from '../../operations/schema/outputs.ts'
import type { InputOf, OutputOf } from '../../operations/table.ts'
import { type Arguments, given } from '../arguments.ts'
import type { Call, Flags } from '../command.ts'
import type { Backend } from '../connect/backend.ts'
import { reaching } from '../connect/connect.ts'
import { listenForStop } from '../connect/stop.ts'
import { EXIT, usage } from '../exit.ts'
import { count, many } from '../format/numbers.ts'
import { Progress } from '../format/progress.ts'
import { clean, quote } from '../format/text.ts'
import { BY_FLAG } from './actor.ts'
import { confirm } from './confirm.ts'
import { readMode } from './prioritize.ts'
import { readWhen } from './reschedule.ts'
import { SELECTION_FLAGS } from './selection.ts'

/** The flags of changes that take a query. */
export const WHERE_FLAGS: Flags = {
  where: {
    kind: 'text',
    value: 'query',
    help: "Jobs that match, as in: 'state:dead error:~timeout since:1h'",
  },
  'per-second': {
    kind: 'text',
    value: 'n',
    help: 'With --where: change at most this number of jobs per second',
  },
  detach: { kind: 'switch', help: 'With --where: run it in the workers, and print the id of the action' },
  reason: { kind: 'text', value: 'text', help: 'With --where, for cancel and bury: stored with the jobs' },
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

/** Changes all jobs that match, as a bulk action, which continues if this process exits. */
export async function changeWhere(call: Call, action: BulkAction, where: string): Promise<number> {
  const { args, out } = call
  if (args.typed('limit')) throw usage('--limit does not go with --where: it changes all jobs that match.')
  const options = optionsOf(call, action, where)
  return reaching(call, { create: false }, async ({ backend }) => {
    const found = await countFor(call, backend, { action, query: where })
    if (args.on('dry-run')) {
      if (out.json) out.object({ action, dryRun: true, jobs: found.count, exact: found.isExact })
      else out.data(`Would ${action} ${about(found)}.`)
      return EXIT.ok
    }
    if (found.count === 0 && found.isExact) {
      if (out.json) out.object({ action, dryRun: false, changed: 0, refused: 0, status: 'done' })
      else out.data(`No job matches ${quote(where)}: nothing was changed.`)
      return EXIT.ok
    }
    await confirm(call, `${capital(action)} ${about(found)}?`)
    const expected = found.isExact ? { expected: found.count } : {}
    const bulk = await backend.call('bulk.start', { ...options, ...expected })
    if (args.on('detach')) {
      if (out.json) out.object(bulk)
      else out.data(bulk.id)
      out.note(
        out.paintNote('dim', `Workers and servers run it. Show its progress: skep bulk get ${bulk.id}`),
      )
      return EXIT.ok
    }
    return tell(call, await workOff(call, backend, bulk))
  })
}

/** Counting stops here, and the rest is "at least". */
const MOST_COUNTED = 1_000_000

interface Counted {
  readonly count: number
  readonly isExact: boolean
}

/** How many jobs an action would change. */
async function countFor(
  { out }: Call,
  backend: Backend,
  input: Pick<InputOf<'jobs.count'>, 'action' | 'query'>,
): Promise<Counted> {
  const progress = new Progress(out, 'Counting')
  let count = 0
  let cursor: string | null | undefined
  do {
    const page: OutputOf<'jobs.count'> = await backend.call('jobs.count', {
      ...input,
      ...(typeof cursor === 'string' ? { cursor } : {}),
    })
    count += page.count
    cursor = page.cursor ?? null
    if (cursor !== null) progress.show(count, null)
  } while (cursor !== null && count < MOST_COUNTED)
  progress.end()
  return { count, isExact: cursor === null }
}

function optionsOf({ args }: Call, action: BulkAction, query: string): InputOf<'bulk.start'> {
  const perSecond = args.whole('per-second', { min: 1, max: 100_000 })
  const reason = args.text('reason')
  if (reason !== undefined && action !== 'cancel' && action !== 'bury' && args.typed('reason')) {
    throw usage('--reason is for cancel and bury.')
  }
  return {
    action,
    query,
    ...given({ perSecond, reason }),
    ...(action === 'prioritize' ? priorityOf(args) : {}),
    ...(action === 'reschedule' ? { at: readWhen(args) } : {}),
    ...(action === 'move' ? { queue: readTo(args) } : {}),
  }
}

function priorityOf(args: Arguments): Pick<InputOf<'bulk.start'>, 'priority' | 'priorityMode'> {
  const priority = args.whole('priority', { min: -100, max: 100 })
  if (priority === undefined) throw usage('Which priority?', 'skep jobs prioritize --where … --priority 10')
  return given({ priority, priorityMode: readMode(args) })
}

function readTo(args: Arguments): string {
  const to = args.text('to')
  if (to !== undefined) return to
  throw usage('To which queue?', 'skep jobs move <id…> --to <queue>')
}

/** Runs it in this process, together with workers and servers, and shows the progress. Ctrl-C stops it after the current page. */
async function workOff({ out }: Call, backend: Backend, begun: BulkView): Promise<BulkView> {
  const progress = new Progress(out, DOING[begun.action])
  const stop = listenForStop({
    onHurry: () => process.exit(EXIT.failure),
    onForce: () => process.exit(EXIT.failure),
  })
  const served = backend.serveBulk()
  try {
    let bulk: BulkView = begun
    let asked = false
    while (bulk.status === 'running') {
      progress.show(bulk.changed + bulk.refused, bulk.expected)
      await new Promise((resolve) => setTimeout(resolve, POLL_MS))
      if (stop.signal.aborted && !asked) {
        asked = true
        await backend.call('bulk.stop', { id: begun.id })
      }
      bulk = await backend.call('bulk.get', { id: begun.id })
    }
    // The page that was under way when it was stopped still adds what it did.
    await served.stop()
    return await backend.call('bulk.get', { id: begun.id })
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
    const left = refused === 0 ? '' : ` ${count(refused)} were no longer in a state that allows it.`
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

function about({ count: jobs, isExact }: Counted): string {
  return isExact ? many(jobs, 'job') : `at least ${many(jobs, 'job')}`
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

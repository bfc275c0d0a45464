import { JOB_STATES } from '../../index.ts'
import type { InputOf } from '../../operations/table.ts'
import type { Call, Flags } from '../command.ts'
import type { Backend } from '../connect/backend.ts'
import { reaching } from '../connect/connect.ts'
import { EXIT, usage } from '../exit.ts'
import { count, many } from '../format/numbers.ts'
import { Progress } from '../format/progress.ts'
import { clean } from '../format/text.ts'
import { confirm } from './confirm.ts'
import { CHANGE_FLAGS, readSelection, SELECTION_FLAGS, type Selection } from './selection.ts'

const { state, text, after, before } = SELECTION_FLAGS

/** The flags of a purge. */
export const PURGE_FLAGS: Flags = {
  ...({ state, text, after, before } as Flags),
  older: { kind: 'text', value: '30d', help: 'Due or finished longer ago than this; short for --before' },
  'dry-run': CHANGE_FLAGS['dry-run'] as Flags[string],
}

/** Removes jobs of a queue that are not running, after a confirmation with their number. */
export async function purgeQueue(call: Call, names: readonly string[]): Promise<number> {
  const { args } = call
  const [queue, extra] = names
  if (queue === undefined) throw usage('Which queue?', 'skep queues purge <name>')
  if (extra !== undefined) throw usage('One queue at a time.')
  const filter = readFilter(call)

  return reaching(call, { create: false }, async ({ backend }) => {
    const purge = (dryRun: boolean): Promise<Summary> => purged(backend, { ...filter, queue, dryRun })
    if (args.on('dry-run')) return tell(call, await purge(true))
    if (!args.on('yes')) {
      const found = await purge(true)
      if (found.jobs === 0) return tell(call, { ...found, dryRun: false })
      await confirm(
        call,
        `Remove ${many(found.jobs, 'job')} of ${clean(queue)} (${statesText(found.states)})?`,
      )
    }
    return tell(call, await new Progress(call.out, 'Removing').during(purge(false)))
  })
}

interface Summary {
  readonly queue: string
  readonly dryRun: boolean
  readonly jobs: number
  readonly states: Readonly<Record<string, number>>
  readonly running: number
}

async function purged(backend: Backend, input: InputOf<'queues.purge'>): Promise<Summary> {
  const { queue, dryRun = false } = input
  const { counts, running } = await backend.call('queues.purge', { ...input, confirm: queue })
  const jobs = Object.values(counts).reduce((sum, one) => sum + one, 0)
  return { queue, dryRun, jobs, states: counts, running }
}

function readFilter({ args }: Call): Selection {
  const { queue: _, limit: __, ...filter } = readSelection(args, { maxLimit: 1 })
  const older = args.duration('older')
  if (older === undefined) return filter
  if (filter.before !== undefined) throw usage('--older and --before mean the same; give one of them.')
  return { ...filter, before: (args.moment('older', { ago: true }) as Date).toISOString() }
}

function tell({ out }: Call, summary: Summary): number {
  if (out.json) out.object(summary)
  else {
    const { dryRun, jobs, running } = summary
    const what = jobs === 0 ? '' : `: ${statesText(summary.states)}`
    const left = running === 0 ? '' : ` ${count(running)} running: never touched.`
    out.data(`${dryRun ? 'Would remove' : 'Removed'} ${many(jobs, 'job')}${what}.${left}`)
  }
  return EXIT.ok
}

/** "3 ready, 2 dead". */
export function statesText(states: Readonly<Record<string, number>>): string {
  const some = JOB_STATES.filter((name) => name !== 'running' && (states[name] ?? 0) > 0)
  return some.map((name) => `${count(states[name] ?? 0)} ${name}`).join(', ')
}

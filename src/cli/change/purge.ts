import { JOB_STATES, type PurgeOptions, type PurgeSummary } from '../../index.ts'
import type { Call, Flags } from '../command.ts'
import { reaching } from '../connect/connect.ts'
import { EXIT, usage } from '../exit.ts'
import { count, many } from '../format/numbers.ts'
import { Progress } from '../format/progress.ts'
import { clean } from '../format/text.ts'
import { confirm } from './confirm.ts'
import { CHANGE_FLAGS, readSelection, SELECTION_FLAGS } from './selection.ts'

const { state, text, after, before } = SELECTION_FLAGS

/** The flags of a purge: which jobs of the queue, and whether only to count them. */
export const PURGE_FLAGS: Flags = {
  ...({ state, text, after, before } as Flags),
  older: { kind: 'text', value: '30d', help: 'Due or finished longer ago than this; short for --before' },
  'dry-run': CHANGE_FLAGS['dry-run'] as Flags[string],
}

/** Removes the jobs of a queue that do not run, after somebody has seen how many they are. */
export async function purgeQueue(call: Call, names: readonly string[]): Promise<number> {
  const { args } = call
  const [queue, extra] = names
  if (queue === undefined) throw usage('Which queue?', 'skep queues purge <name>')
  if (extra !== undefined) throw usage('A purge is of one queue at a time.')
  const filter = readFilter(call)

  return reaching(call, { create: false }, async ({ skep }) => {
    if (args.on('dry-run')) return tell(call, await skep.queues.purge(queue, { ...filter, dryRun: true }))
    if (!args.on('yes')) {
      const found = await skep.queues.purge(queue, { ...filter, dryRun: true })
      if (found.jobs === 0) return tell(call, { ...found, dryRun: false })
      await confirm(call, `Remove ${many(found.jobs, 'job')} of ${clean(queue)} (${parts(found)})?`)
    }
    const purged = skep.queues.purge(queue, filter)
    return tell(call, await new Progress(call.out, 'Removing').during(purged))
  })
}

function readFilter({ args }: Call): PurgeOptions {
  const { queue: _, limit: __, ...filter } = readSelection(args, { maxLimit: 1 })
  const older = args.duration('older')
  if (older === undefined) return filter
  if (filter.before !== undefined) throw usage('--older and --before mean the same; give one of them.')
  return { ...filter, before: args.moment('older', { ago: true }) as Date }
}

function tell({ out }: Call, summary: PurgeSummary): number {
  if (out.json) out.object(summary)
  else {
    const { dryRun, jobs, running } = summary
    const what = jobs === 0 ? '' : `: ${parts(summary)}`
    const left = running === 0 ? '' : ` ${count(running)} running: never touched.`
    out.data(`${dryRun ? 'Would remove' : 'Removed'} ${many(jobs, 'job')}${what}.${left}`)
  }
  return EXIT.ok
}

/** How many in each state that has some. */
function parts({ states }: PurgeSummary): string {
  const some = JOB_STATES.filter((name) => name !== 'running' && states[name] > 0)
  return some.map((name) => `${count(states[name as keyof typeof states])} ${name}`).join(', ')
}

import type { OutputOf } from '../../operations/table.ts'
import type { Call, Flags } from '../command.ts'
import { reaching } from '../connect/connect.ts'
import { EXIT, usage } from '../exit.ts'
import { many } from '../format/numbers.ts'
import { Progress } from '../format/progress.ts'
import { clean, quote } from '../format/text.ts'
import { confirm } from './confirm.ts'
import { statesText } from './purge.ts'
import { CHANGE_FLAGS } from './selection.ts'

type DropSummary = OutputOf<'queues.drop'>

export const DROP_FLAGS: Flags = {
  force: { kind: 'switch', help: 'For drop: also remove waiting jobs' },
  'dry-run': CHANGE_FLAGS['dry-run'] as Flags[string],
}

/** Removes a queue that is not in use, once it was confirmed. */
export async function dropQueue(call: Call, names: readonly string[]): Promise<number> {
  const { args } = call
  const [queue, extra] = names
  if (queue === undefined) throw usage('Which queue?', 'skep queues drop <name>')
  if (extra !== undefined) throw usage('One queue at a time.')
  // Not from the environment: a forgotten variable must not remove jobs.
  const force = args.typed('force') && args.on('force')

  return reaching(call, { create: false }, async ({ backend }) => {
    const drop = (dryRun: boolean): Promise<DropSummary> =>
      backend.call('queues.drop', { queue, force, dryRun, confirm: queue })
    // It also refuses a queue that cannot be dropped, before the confirmation.
    const found = await drop(true)
    if (args.on('dry-run')) return report(call, found)
    if (!found.known) return report(call, { ...found, dryRun: false })
    await confirm(call, `Drop ${clean(queue)} with ${parts(found)}?`)
    return report(call, await new Progress(call.out, 'Dropping').during(drop(false)))
  })
}

function report({ out }: Call, summary: DropSummary): number {
  const { queue, dryRun, known } = summary
  if (out.json) out.object(summary)
  else if (!known)
    out.data(`${dryRun ? 'Would drop' : 'Dropped'} nothing: there is no queue ${quote(queue)}.`)
  else out.data(`${dryRun ? 'Would drop' : 'Dropped'} ${clean(queue)} with ${parts(summary)}.`)
  return EXIT.ok
}

/** What is removed with the queue: its jobs by state, its limits and its holds. */
function parts({ jobs, states, limits, holds }: DropSummary): string {
  const inStates = statesText(states)
  return [
    `${many(jobs, 'job')}${inStates === '' ? '' : ` (${inStates})`}`,
    ...(limits === 0 ? [] : [many(limits, 'limit')]),
    ...(holds === 0 ? [] : [many(holds, 'hold')]),
  ].join(', ')
}

import { type DropSummary, JOB_STATES } from '../../index.ts'
import type { Call, Flags } from '../command.ts'
import { reaching } from '../connect/connect.ts'
import { EXIT, usage } from '../exit.ts'
import { count, many } from '../format/numbers.ts'
import { Progress } from '../format/progress.ts'
import { clean, quote } from '../format/text.ts'
import { confirm } from './confirm.ts'
import { CHANGE_FLAGS } from './selection.ts'

export const DROP_FLAGS: Flags = {
  force: { kind: 'switch', help: 'drop: also remove the jobs that wait' },
  'dry-run': CHANGE_FLAGS['dry-run'] as Flags[string],
}

/** Removes a queue that is not in use, once it was confirmed. */
export async function dropQueue(call: Call, names: readonly string[]): Promise<number> {
  const { args } = call
  const [queue, extra] = names
  if (queue === undefined) throw usage('Which queue?', 'skep queues drop <name>')
  if (extra !== undefined) throw usage('A drop is of one queue at a time.')
  // Not from the environment: a variable that is left over must not remove jobs.
  const force = args.typed('force') && args.on('force')

  return reaching(call, { create: false }, async ({ skep }) => {
    // It also refuses what cannot be dropped, before any question.
    const found = await skep.queues.drop(queue, { force, dryRun: true })
    if (args.on('dry-run')) return report(call, found)
    if (!found.known) return report(call, { ...found, dryRun: false })
    await confirm(call, `Drop ${clean(queue)} with ${parts(found)}?`)
    return report(call, await new Progress(call.out, 'Dropping').during(skep.queues.drop(queue, { force })))
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

/** What goes with the queue: its jobs in each state that has some, its limits and its holds. */
function parts({ jobs, states, limits, holds }: DropSummary): string {
  const some = JOB_STATES.filter((name) => name !== 'running' && states[name] > 0)
  const inStates = some.map((name) => `${count(states[name as keyof typeof states])} ${name}`).join(', ')
  return [
    `${many(jobs, 'job')}${inStates === '' ? '' : ` (${inStates})`}`,
    ...(limits === 0 ? [] : [many(limits, 'limit')]),
    ...(holds === 0 ? [] : [many(holds, 'hold')]),
  ].join(', ')
}

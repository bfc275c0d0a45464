import type { ChangeSummary, PriorityMode } from '../../index.ts'
import type { Arguments } from '../arguments.ts'
import type { Call, Flag } from '../command.ts'
import type { Reached } from '../connect/connect.ts'
import { usage } from '../exit.ts'
import { quote } from '../format/text.ts'
import { changeJobs } from './change.ts'
import { queuesOf } from './selection.ts'

export const MODE_FLAG: Flag = {
  kind: 'text',
  value: 'mode',
  help: 'How the queue counts priorities: head-start or strict. Default: as the config declares it',
}

export function readMode(args: Arguments): PriorityMode | undefined {
  const mode = args.text('priority-mode')
  if (mode === undefined || mode === 'head-start' || mode === 'strict') return mode
  throw usage(`--priority-mode is ${quote(mode)}; use head-start or strict.`)
}

/** Gives waiting jobs another priority. What the number means is the queue's affair, so the queue has to be known. */
export async function prioritizeJobs(call: Call, ids: readonly string[]): Promise<number> {
  const priority = call.args.whole('priority', { min: -100, max: 100 })
  if (priority === undefined) throw usage('Which priority?', 'skep jobs prioritize <id…> --priority 10')
  const said = readMode(call.args)

  return changeJobs(call, 'prioritize', {
    ids,
    async prepare(opened, named, selection) {
      const { skep } = opened
      const modeOf = modes(opened, said)
      const modeOfJob = new Map<string, PriorityMode>()
      for (const id of named) {
        const job = await skep.jobs.get(id)
        // One that is not there is refused by the library, whatever the mode.
        modeOfJob.set(id, job === null ? 'head-start' : modeOf(job.queue))
      }
      if (named.length === 0) for (const queue of await queuesOf(skep, selection)) modeOf(queue)

      return async (_, target) => {
        if (typeof target === 'object' && 'queue' in target) {
          return skep.jobs.prioritize(target, priority, { priorityMode: modeOf(target.queue) })
        }
        const all = typeof target === 'string' ? [target] : target
        const parts: ChangeSummary[] = []
        for (const priorityMode of ['head-start', 'strict'] as const) {
          const part = all.filter((id) => modeOfJob.get(id) === priorityMode)
          if (part.length > 0) parts.push(await skep.jobs.prioritize(part, priority, { priorityMode }))
        }
        return {
          changed: parts.reduce((sum, { changed }) => sum + changed, 0),
          requested: 0,
          refused: parts.flatMap(({ refused }) => refused),
        }
      }
    },
  })
}

/** How a queue counts: as it was said, else as the config declares it. Guessing could put a job years behind. */
function modes(
  { handlers, server }: Reached,
  said: PriorityMode | undefined,
): (queue: string) => PriorityMode {
  return (queue) => {
    // A server knows it by itself, and takes no notice of what is said here.
    if (server !== null) return 'head-start'
    const declared = handlers.find((handler) => handler.queue.name === queue)?.queue.priorityMode
    if (said !== undefined && declared !== undefined && said !== declared) {
      throw usage(`--priority-mode is ${said}, but the config declares ${quote(queue)} as ${declared}.`)
    }
    const mode = said ?? declared
    if (mode !== undefined) return mode
    throw usage(
      `Nothing declares queue ${quote(queue)}, so it is not known how it counts priorities.`,
      'Add --priority-mode head-start or --priority-mode strict.',
    )
  }
}

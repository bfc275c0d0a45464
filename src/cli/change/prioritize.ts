import type { PriorityMode } from '../../index.ts'
import type { Arguments } from '../arguments.ts'
import type { Call, Flag } from '../command.ts'
import { callOrNull } from '../connect/backend.ts'
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

/** Changes the priority of waiting jobs. Its meaning depends on the queue, so the mode of the queue has to be known. */
export async function prioritizeJobs(call: Call, ids: readonly string[]): Promise<number> {
  const priority = call.args.whole('priority', { min: -100, max: 100 })
  if (priority === undefined) throw usage('Which priority?', 'skep jobs prioritize <id…> --priority 10')
  const said = readMode(call.args)

  return changeJobs(call, 'prioritize', {
    ids,
    async prepare(reached, named, selection) {
      // A server knows the mode of its queues.
      if (reached.server !== null) return (target) => [{ ...target, priority }]
      const { backend } = reached
      const modeOf = modes(reached, said)
      const byMode = new Map<PriorityMode, string[]>([
        ['head-start', []],
        ['strict', []],
      ])
      for (const id of named) {
        const found = await callOrNull(backend, 'jobs.get', { id })
        // The operation refuses a job that does not exist, in any mode.
        byMode.get(found === null ? 'head-start' : modeOf(found.job.queue))?.push(id)
      }
      if (named.length === 0) for (const queue of await queuesOf(backend, selection)) modeOf(queue)
      return ({ ids: some, queue, ...rest }) => {
        if (queue !== undefined) return [{ ...rest, queue, priority, priorityMode: modeOf(queue) }]
        return [...byMode].flatMap(([priorityMode, all]) => {
          const part = all.filter((id) => some?.includes(id))
          return part.length === 0 ? [] : [{ ...rest, ids: part, priority, priorityMode }]
        })
      }
    },
  })
}

/** The mode of a queue: of the flag, else as the config declares it. A wrong guess could delay a job for years. */
function modes({ handlers }: Reached, said: PriorityMode | undefined): (queue: string) => PriorityMode {
  return (queue) => {
    const declared = handlers.find((handler) => handler.queue.name === queue)?.queue.priorityMode
    if (said !== undefined && declared !== undefined && said !== declared) {
      throw usage(`--priority-mode is ${said}, but the config declares ${quote(queue)} as ${declared}.`)
    }
    const mode = said ?? declared
    if (mode !== undefined) return mode
    throw usage(
      `The config does not declare queue ${quote(queue)}, so its priority mode is not known.`,
      'Add --priority-mode head-start or --priority-mode strict.',
    )
  }
}

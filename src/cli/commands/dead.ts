import { changeJobs } from '../change.ts'
import type { Command } from '../command.ts'
import { usage } from '../exit.ts'
import { CHANGE_FLAGS, SELECTION_FLAGS } from '../selection.ts'
import { listJobs } from './jobs.ts'

const { state: _, ...FILTERS } = SELECTION_FLAGS

export const deadCommand: Command = {
  name: 'dead',
  summary: 'Jobs that failed for good: list, redrive, remove, bury',
  usage: ['dead [list] [filters]', 'dead redrive|remove <id…> | filters', 'dead bury <id…> | filters'],
  actions: {
    list: 'Show a page of dead jobs',
    redrive: 'Start them anew',
    remove: 'Delete them',
    bury: 'Put waiting jobs among the dead',
  },
  flags: {
    ...FILTERS,
    cursor: { kind: 'text', value: 'text', help: 'The page after the one that ended with this' },
    ...CHANGE_FLAGS,
  },
  examples: [
    'skep dead list --queue mail.send',
    'skep dead redrive --queue mail.send --after 2h --yes',
    'skep dead remove --all --before 30d',
  ],

  async run(call) {
    const [action = 'list', ...ids] = call.args.words
    switch (action) {
      case 'redrive':
      case 'remove':
        return changeJobs(call, action, { ids, state: 'dead' })
      case 'bury':
        return changeJobs(call, action, { ids })
      default:
        if (ids.length > 0) throw usage('skep dead list takes filters, not ids.', 'Use: skep jobs get <id…>')
        return listJobs(call, { state: ['dead'] })
    }
  },
}

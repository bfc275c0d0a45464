import { parseQuery } from '../../index.ts'
import { changeJobs } from '../change.ts'
import type { Call, Command } from '../command.ts'
import { usage } from '../exit.ts'
import { CHANGE_FLAGS, SELECTION_FLAGS } from '../selection.ts'
import { changeWhere, readWhere, WHERE_FLAGS } from '../where.ts'
import { listJobs, listWhere } from './jobs.ts'

const { state: _, ...FILTERS } = SELECTION_FLAGS

export const deadCommand: Command = {
  name: 'dead',
  summary: 'Jobs that failed for good: list, redrive, remove, bury',
  usage: [
    'dead [list] [filters | --where <query>]',
    'dead redrive|remove <id…> | filters | --where <query>',
    'dead bury <id…> | filters | --where <query>',
  ],
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
    ...WHERE_FLAGS,
  },
  examples: [
    'skep dead list --queue mail.send',
    'skep dead redrive --queue mail.send --after 2h --yes',
    "skep dead redrive --where 'error:~timeout since:1h' --per-second 20",
    'skep dead remove --all --before 30d',
  ],

  async run(call) {
    const [action = 'list', ...ids] = call.args.words
    const where = readWhere(call)
    if (where !== undefined && ids.length > 0) {
      throw usage('Ids and --where do not go together.', 'Give ids or a query.')
    }
    switch (action) {
      case 'redrive':
        if (where !== undefined) return changeWhere(call, 'retry', amongDead(where))
        return changeJobs(call, action, { ids, state: 'dead' })
      case 'remove':
        if (where !== undefined) return changeWhere(call, action, amongDead(where))
        return changeJobs(call, action, { ids, state: 'dead' })
      case 'bury':
        return where === undefined ? changeJobs(call, action, { ids }) : changeWhere(call, action, where)
      default:
        return list(call, ids, where)
    }
  },
}

function list(call: Call, ids: readonly string[], where: string | undefined): Promise<number> {
  if (ids.length > 0) throw usage('skep dead list takes filters, not ids.', 'Use: skep jobs get <id…>')
  return where === undefined ? listJobs(call, { state: ['dead'] }) : listWhere(call, amongDead(where))
}

/** A query that says another state would mean two things at once. */
function amongDead(where: string): string {
  if (parseQuery(where).terms.some(({ field }) => field === 'state')) {
    throw usage('skep dead is about dead jobs alone: leave the state out of the query.', 'See: skep jobs')
  }
  return `${where} state:dead`
}

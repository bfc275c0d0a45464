import { LIMITS, parseQuery } from '../../../index.ts'
import { given } from '../../arguments.ts'
import { changeWhere, readWhere, WHERE_FLAGS } from '../../change/bulk-select.ts'
import { changeJobs } from '../../change/change.ts'
import { CHANGE_FLAGS, SELECTION_FLAGS } from '../../change/selection.ts'
import type { Call, Command } from '../../command.ts'
import { reaching } from '../../connect/connect.ts'
import { EXIT, usage } from '../../exit.ts'
import { clean } from '../../format/text.ts'
import { listJobs, listWhere } from './jobs.ts'

const { state: _, ...FILTERS } = SELECTION_FLAGS

export const deadCommand: Command = {
  name: 'dead',
  summary: 'Jobs that failed for good: list, retry, remove, bury',
  usage: [
    'dead [list] [filters | --where <query>]',
    'dead retry|remove <id…> | filters | --where <query>',
    'dead bury <id…> | filters | --where <query>',
    'dead notices [--limit <n>] [--cursor <text>]',
  ],
  actions: {
    list: 'Show a page of dead jobs',
    retry: 'Run them again',
    remove: 'Delete them',
    bury: 'Move waiting jobs to the dead ones',
    notices: 'List dead notices of NATS: delivered too often, their jobs are in the store',
  },
  flags: {
    ...FILTERS,
    cursor: { kind: 'text', value: 'text', help: 'The cursor of the previous page' },
    ...CHANGE_FLAGS,
    ...WHERE_FLAGS,
  },
  examples: [
    'skep dead list --queue mail.send',
    'skep dead retry --queue mail.send --after 2h --yes',
    "skep dead retry --where 'error:~timeout since:1h' --per-second 20",
    'skep dead remove --all --before 30d',
  ],

  async run(call) {
    const [action = 'list', ...ids] = call.args.words
    const where = readWhere(call)
    if (where !== undefined && ids.length > 0) {
      throw usage('Ids and --where do not go together.', 'Give ids or a query.')
    }
    switch (action) {
      case 'retry':
        if (where !== undefined) return changeWhere(call, 'retry', amongDead(where))
        return changeJobs(call, action, { ids, state: 'dead' })
      case 'remove':
        if (where !== undefined) return changeWhere(call, action, amongDead(where))
        return changeJobs(call, action, { ids, state: 'dead' })
      case 'bury':
        return where === undefined ? changeJobs(call, action, { ids }) : changeWhere(call, action, where)
      case 'notices':
        return listNotices(call, ids)
      default:
        return list(call, ids, where)
    }
  },
}

function list(call: Call, ids: readonly string[], where: string | undefined): Promise<number> {
  if (ids.length > 0) throw usage('skep dead list takes filters, not ids.', 'Use: skep jobs get <id…>')
  return where === undefined ? listJobs(call, { states: ['dead'] }) : listWhere(call, amongDead(where))
}

function listNotices(call: Call, words: readonly string[]): Promise<number> {
  const { args, out } = call
  if (words.length > 0) throw usage('skep dead notices takes no ids.', 'Use: skep dead notices --limit 50')
  const limit = args.whole('limit', { min: 1, max: LIMITS.pageJobs })
  const cursor = args.text('cursor')
  return reaching(call, { create: false }, async ({ backend }) => {
    const { hasNotices, ...page } = await backend.call('deadNotices.list', given({ limit, cursor }))
    if (!hasNotices) {
      throw usage('This notifier has no notices: only natsNotifier() has.', 'Dead jobs: skep dead list')
    }
    if (out.json) out.object(page)
    else if (page.notices.length === 0) out.note('No dead notices.')
    else {
      for (const { queue, ids, deliveries, reason, buriedAt } of page.notices) {
        const more = ids.length > 1 ? ` and ${ids.length - 1} more` : ''
        const which = ids.length === 0 ? 'no job' : `${ids[0]}${more}`
        out.data(`${buriedAt}  ${clean(queue)}  ${which}  delivered ${deliveries} times: ${clean(reason)}`)
      }
    }
    if (!out.json && page.cursor !== null) out.note(`There are more. The next page: --cursor ${page.cursor}`)
    return EXIT.ok
  })
}

/** A query with another state would contradict the command. */
function amongDead(where: string): string {
  if (parseQuery(where).terms.some(({ field }) => field === 'state')) {
    throw usage('skep dead selects dead jobs only: remove the state from the query.', 'See: skep jobs')
  }
  return `${where} state:dead`
}

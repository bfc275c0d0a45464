import { type BulkAction, LIMITS } from '../../../index.ts'
import type { JobList, WireJob } from '../../../operations/schema/outputs.ts'
import type { OutputOf } from '../../../operations/table.ts'
import { given } from '../../arguments.ts'
import { changeWhere, readWhere, WHERE_FLAGS } from '../../change/bulk-select.ts'
import { changeJobs } from '../../change/change.ts'
import { onlySays } from '../../change/dry-run.ts'
import { MODE_FLAG, prioritizeJobs } from '../../change/prioritize.ts'
import { rescheduleJobs, WHEN_FLAGS } from '../../change/reschedule.ts'
import { CHANGE_FLAGS, readSelection, SELECTION_FLAGS, type Selection } from '../../change/selection.ts'
import type { Call, Command } from '../../command.ts'
import { callOrNull } from '../../connect/backend.ts'
import { reaching } from '../../connect/connect.ts'
import { EXIT, notFound, usage } from '../../exit.ts'
import { explanationPage, jobPage, jobTable } from '../../format/job-text.ts'
import { Progress } from '../../format/progress.ts'
import { clean, quote } from '../../format/text.ts'
import { flushed } from '../../output.ts'
import { readPayload } from './enqueue.ts'
import { showLogs, watchJob } from './logs.ts'

export const jobsCommand: Command = {
  name: 'jobs',
  summary: 'List, show and change jobs',
  usage: [
    'jobs [list] [filters | --where <query>]',
    'jobs get <id…>',
    'jobs explain <id…>',
    'jobs watch <id>',
    'jobs logs <id> [--follow]',
    'jobs retry|cancel|promote|remove|bury <id…> | filters | --where <query>',
    'jobs reschedule <id…> | filters | --where <query> --delay <time> | --run-at <date>',
    'jobs move <id…> | --where <query> --to <queue>',
    'jobs prioritize <id…> | filters | --where <query> --priority <n>',
    'jobs copy <id> [-d <json>] [--queue <name>] [--dry-run]',
    'jobs export [--where <query>]',
  ],
  actions: {
    list: 'Show a page of jobs',
    get: 'Show jobs in full',
    watch: 'Show the events of a job until it has ended; exit code 1 unless it is done',
    logs: 'Show the log of a job',
    explain: 'Explain why jobs, runs or groups are waiting',
    retry: 'Run finished jobs again (by filter: the dead ones)',
    cancel: 'Cancel waiting jobs, and ask running ones to stop',
    promote: 'Make delayed jobs due now',
    reschedule: 'Change when waiting jobs are due',
    move: 'Move jobs to another queue, where they get new ids',
    remove: 'Delete jobs that are not running (by filter: finished ones)',
    bury: 'Move waiting jobs to the dead ones',
    prioritize: 'Change the priority of waiting jobs',
    copy: 'Enqueue a copy of a job, optionally with another payload or queue',
    export: 'Print jobs as JSON, one per line',
  },
  flags: {
    ...SELECTION_FLAGS,
    cursor: { kind: 'text', value: 'text', help: 'The cursor of the previous page' },
    follow: { kind: 'switch', short: 'f', help: 'Show new lines until the job has ended' },
    ...CHANGE_FLAGS,
    ...WHERE_FLAGS,
    data: {
      kind: 'text',
      short: 'd',
      value: 'json',
      help: 'For copy: the new payload; @file reads a file, - reads stdin',
    },
    ...WHEN_FLAGS,
    to: { kind: 'text', value: 'queue', help: 'For move: the target queue' },
    priority: { kind: 'text', value: 'n', help: 'For prioritize: -100 to 100' },
    'priority-mode': MODE_FLAG,
  },
  examples: [
    'skep jobs list --queue mail.send --state ready,running',
    'skep jobs get 01890a5d-ac96-774b-bcce-b302099a8057',
    'skep jobs watch 01890a5d-ac96-774b-bcce-b302099a8057 && echo done',
    'skep jobs logs 01890a5d-ac96-774b-bcce-b302099a8057 --follow',
    'skep jobs explain 01890a5d-ac96-774b-bcce-b302099a8057',
    "skep jobs list --where 'state:dead,failed queue:mail.* error:~timeout since:1h'",
    "skep jobs retry --where 'queue:mail.* error:~timeout' --dry-run",
    `skep jobs copy 01890a5d-ac96-774b-bcce-b302099a8057 -d '{"to":"ada@example.com"}'`,
    "skep jobs export --where 'payload.tenant:acme' > jobs.ndjson",
    'skep jobs remove --state done --before 7d --yes',
    "skep jobs reschedule --where 'queue:mail.* state:ready' --run-at 2027-01-31T09:00Z",
    "skep jobs move --where 'state:dead queue:mail.send' --to mail.send.later",
    'skep jobs prioritize --queue mail.send --text ada@example.com --priority 10',
  ],

  async run(call) {
    const [action = 'list', ...ids] = call.args.words
    for (const [flag, only] of Object.entries(FLAG_OF)) {
      if (action !== only && call.args.typed(flag)) throw usage(`--${flag} is for skep jobs ${only}.`)
    }
    const where = readWhere(call)
    switch (action) {
      case 'retry':
        return change(call, 'retry', ids, where, () => changeJobs(call, 'retry', { ids }))
      case 'cancel':
      case 'promote':
      case 'remove':
      case 'bury':
        return change(call, action, ids, where, () => changeJobs(call, action, { ids }))
      case 'reschedule':
        return change(call, action, ids, where, () => rescheduleJobs(call, ids))
      case 'move':
        return moveJobs(call, ids, where)
      case 'prioritize':
        return change(call, action, ids, where, () => prioritizeJobs(call, ids))
      case 'copy':
        return copyJob(call, ids)
      case 'export':
        return exportJobs(call, where)
      case 'get':
        return getJobs(call, ids)
      case 'watch':
        return watchJob(call, ids)
      case 'logs':
        return showLogs(call, ids)
      case 'explain':
        return explainJobs(call, ids)
      default:
        if (ids.length > 0) throw usage('skep jobs list takes filters, not ids.', 'Use: skep jobs get <id…>')
        return where === undefined ? listJobs(call) : listWhere(call, where)
    }
  },
}

/** Flags of one action only. */
const FLAG_OF: Readonly<Record<string, string>> = {
  priority: 'prioritize',
  'priority-mode': 'prioritize',
  data: 'copy',
  delay: 'reschedule',
  'run-at': 'reschedule',
  to: 'move',
}

/** Always a bulk action: it records the jobs that are being moved. */
function moveJobs(call: Call, ids: readonly string[], where: string | undefined): Promise<number> {
  return change(call, 'move', ids, where, () => {
    const filter = Object.keys(SELECTION_FLAGS).find((name) => call.args.typed(name))
    if (ids.length === 0 || filter !== undefined) {
      throw usage(
        'Which jobs should skep move?',
        "Give ids, or a query: skep jobs move --where 'queue:mail' --to post",
      )
    }
    return changeWhere(call, 'move', `id:${ids.join(',')}`)
  })
}

/** By a query, or by ids and filters; both at once would be ambiguous. */
function change(
  call: Call,
  action: BulkAction,
  ids: readonly string[],
  where: string | undefined,
  otherwise: () => Promise<number>,
): Promise<number> {
  if (where === undefined) return otherwise()
  if (ids.length > 0) throw usage('Ids and --where do not go together.', 'Give ids or a query.')
  return changeWhere(call, action, where)
}

/** Shows one page. `preset` narrows it down further. */
export async function listJobs(call: Call, preset: Selection = {}): Promise<number> {
  const { args } = call
  for (const name of ['dry-run', 'all']) {
    if (args.typed(name)) throw usage(`--${name} is for changes; a list changes nothing.`)
  }
  const options = {
    ...readSelection(args, { maxLimit: LIMITS.pageJobs }),
    ...preset,
    ...given({ cursor: args.text('cursor') }),
  }
  return reaching(call, { create: false }, async ({ backend }) => {
    showPage(call, await backend.call('jobs.list', options))
    return EXIT.ok
  })
}

function showPage({ out }: Call, page: Pick<JobList, 'jobs' | 'cursor'>): void {
  if (out.json) out.object(page)
  else if (page.jobs.length === 0) out.note('No such jobs.')
  else if (out.quiet) out.data(page.jobs.map(({ id }) => id).join('\n'))
  else out.data(jobTable(page.jobs, out, Date.now()))
  if (!out.json && page.cursor !== null) {
    out.note(out.paintNote('dim', `There are more. The next page: --cursor ${page.cursor}`))
  }
}

/** A page of jobs that match a query. One call examines a limited number of jobs, so a page may need several. */
export async function listWhere(call: Call, query: string): Promise<number> {
  const { args, out } = call
  const limit = args.whole('limit', { min: 1, max: LIMITS.pageJobs }) ?? 50
  return reaching(call, { create: false }, async ({ backend }) => {
    const progress = new Progress(out, 'Looking at jobs:')
    const jobs: WireJob[] = []
    let searched = 0
    let cursor: string | null = args.text('cursor') ?? null
    do {
      const page: JobList = await backend.call('jobs.list', {
        query,
        limit: limit - jobs.length,
        ...(cursor === null ? {} : { cursor }),
      })
      jobs.push(...page.jobs)
      searched += page.searched
      cursor = page.cursor
      if (cursor !== null && jobs.length < limit) progress.show(searched, null)
    } while (cursor !== null && jobs.length < limit)
    progress.end()
    showPage(call, { jobs, cursor })
    return EXIT.ok
  })
}

/** All jobs that match, one object per line, page by page to bound the memory. */
async function exportJobs(call: Call, where: string | undefined): Promise<number> {
  const { args, out } = call
  if (args.words.length > 1) throw usage('skep jobs export takes --where <query>, not ids.')
  const selection = readSelection(args, { maxLimit: 1_000_000_000 })
  const { limit = Infinity, ...filters } = selection
  return reaching(call, { create: false }, async ({ backend }) => {
    const progress = new Progress(out, 'Exporting:')
    let written = 0
    let cursor: string | null = null
    do {
      const page: JobList = await backend.call('jobs.list', {
        ...(where === undefined ? filters : { query: where }),
        limit: Math.min(LIMITS.pageJobs, limit - written),
        ...(cursor === null ? {} : { cursor }),
      })
      for (const job of page.jobs) out.line(job)
      written += page.jobs.length
      cursor = page.cursor
      if (!process.stdout.isTTY) progress.show(written, null)
      await flushed()
    } while (cursor !== null && written < limit)
    progress.end()
    return EXIT.ok
  })
}

async function copyJob(call: Call, ids: readonly string[]): Promise<number> {
  const { args, out } = call
  const [id, extra] = ids
  if (id === undefined || extra !== undefined)
    throw usage('Which job? One at a time.', 'skep jobs copy <id> [-d <json>]')
  const queue = args.text('queue')
  const payload = args.typed('data') ? await readPayload(call) : undefined
  return reaching(call, { create: false }, async ({ backend }) => {
    if (args.on('dry-run')) {
      const like = await callOrNull(backend, 'jobs.get', { id })
      if (like === null) throw notFound(`There is no job ${quote(id)} in this space.`)
      const into = queue ?? like.job.queue
      onlySays(call, `enqueue a job like ${id} in ${clean(into)}`, { copyOf: id, queue: into })
      return EXIT.ok
    }
    const job = await backend.call('jobs.copy', { id, ...given({ queue, payload }) })
    if (out.json) out.object({ id: job.id, copyOf: id })
    else out.data(job.id)
    return EXIT.ok
  })
}

async function getJobs(call: Call, ids: readonly string[]): Promise<number> {
  const { out } = call
  if (ids.length === 0) throw usage('Which job?', 'skep jobs get <id…>')
  return reaching(call, { create: false }, async ({ backend }) => {
    const jobs: WireJob[] = []
    const missing: string[] = []
    for (const id of ids) {
      const found = await callOrNull(backend, 'jobs.get', { id })
      if (found === null) missing.push(id)
      else jobs.push(found.job)
    }
    if (out.json) out.object({ jobs, missing })
    else {
      const now = Date.now()
      if (jobs.length > 0) out.data(jobs.map((job) => jobPage(job, out.paint, now)).join('\n\n'))
      for (const id of missing) {
        out.complain(`${out.paintNote('red', 'not found')} ${clean(id)}: there is no such job in this space`)
      }
    }
    return missing.length > 0 ? EXIT.notFound : EXIT.ok
  })
}

async function explainJobs(call: Call, ids: readonly string[]): Promise<number> {
  const { out } = call
  if (ids.length === 0) throw usage('Which job?', 'skep jobs explain <id…>')
  return reaching(call, { create: false }, async ({ backend }) => {
    const jobs: OutputOf<'jobs.explain'>[] = []
    for (const id of ids) jobs.push(await backend.call('jobs.explain', { id }))
    if (out.json) out.object({ jobs })
    else out.data(jobs.map((job) => explanationPage(job, out.paint)).join('\n\n'))
    return jobs.some(({ kind }) => kind === null) ? EXIT.notFound : EXIT.ok
  })
}

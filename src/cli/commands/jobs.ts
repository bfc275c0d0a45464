import { type Explanation, type JobView, LIMITS } from '../../index.ts'
import { changeJobs } from '../change.ts'
import type { Call, Command } from '../command.ts'
import { EXIT, usage } from '../exit.ts'
import { explanationPage, jobPage, jobTable } from '../job-text.ts'
import { using } from '../open.ts'
import { MODE_FLAG, prioritizeJobs } from '../prioritize.ts'
import { CHANGE_FLAGS, readSelection, SELECTION_FLAGS, type Selection } from '../selection.ts'
import { clean } from '../text.ts'
import { showLogs } from './job-logs.ts'

export const jobsCommand: Command = {
  name: 'jobs',
  summary: 'List, show and change jobs',
  usage: [
    'jobs [list] [filters]',
    'jobs get <id…>',
    'jobs explain <id…>',
    'jobs logs <id> [--follow]',
    'jobs cancel|redrive|promote|remove <id…> | filters',
    'jobs prioritize <id…> | filters --priority <n>',
  ],
  actions: {
    list: 'Show a page of jobs',
    get: 'Show everything about jobs',
    logs: 'Show the lines that the handlers of a job wrote',
    explain: 'Say why jobs are not running (or runs and groups of jobs)',
    cancel: 'End waiting jobs, and ask running ones to stop',
    redrive: 'Start finished jobs anew (by filter: the dead ones)',
    promote: 'Make delayed jobs due now',
    remove: 'Delete jobs that do not run (by filter: finished ones)',
    prioritize: 'Give waiting jobs another priority',
  },
  flags: {
    ...SELECTION_FLAGS,
    cursor: { kind: 'text', value: 'text', help: 'The page after the one that ended with this' },
    follow: { kind: 'switch', short: 'f', help: 'Show new lines as they come, until the job has ended' },
    ...CHANGE_FLAGS,
    priority: { kind: 'text', value: 'n', help: 'For prioritize: -100 to 100' },
    'priority-mode': MODE_FLAG,
  },
  examples: [
    'skep jobs list --queue mail.send --state ready,running',
    'skep jobs get 01890a5d-ac96-774b-bcce-b302099a8057',
    'skep jobs logs 01890a5d-ac96-774b-bcce-b302099a8057 --follow',
    'skep jobs explain 01890a5d-ac96-774b-bcce-b302099a8057',
    'skep jobs redrive --queue mail.send --text ETIMEDOUT --dry-run',
    'skep jobs remove --state done --before 7d --yes',
    'skep jobs prioritize --queue mail.send --text ada@example.com --priority 10',
  ],

  async run(call) {
    const [action = 'list', ...ids] = call.args.words
    for (const name of ['priority', 'priority-mode']) {
      if (action !== 'prioritize' && call.args.typed(name))
        throw usage(`--${name} is for skep jobs prioritize.`)
    }
    switch (action) {
      case 'cancel':
      case 'redrive':
      case 'promote':
      case 'remove':
        return changeJobs(call, action, { ids })
      case 'prioritize':
        return prioritizeJobs(call, ids)
      case 'get':
        return getJobs(call, ids)
      case 'logs':
        return showLogs(call, ids)
      case 'explain':
        return explainJobs(call, ids)
      default:
        if (ids.length > 0) throw usage('skep jobs list takes filters, not ids.', 'Use: skep jobs get <id…>')
        return listJobs(call)
    }
  },
}

/** Shows one page. `preset` narrows it down further. */
export async function listJobs(call: Call, preset: Selection = {}): Promise<number> {
  const { args, out } = call
  for (const name of ['dry-run', 'all']) {
    if (args.typed(name)) throw usage(`--${name} is for changes; a list changes nothing.`)
  }
  const cursor = args.text('cursor')
  const options = {
    ...readSelection(args, { maxLimit: LIMITS.pageJobs }),
    ...preset,
    ...(cursor === undefined ? {} : { cursor }),
  }
  return using(call, { create: false }, async ({ skep }) => {
    const page = await skep.list(options)
    if (out.json) out.object(page)
    else if (page.jobs.length === 0) out.note('No such jobs.')
    else if (out.quiet) out.data(page.jobs.map(({ id }) => id).join('\n'))
    else out.data(jobTable(page.jobs, out, Date.now()))
    if (!out.json && page.cursor !== null) {
      out.note(out.paintNote('dim', `There are more. The next page: --cursor ${page.cursor}`))
    }
    return EXIT.ok
  })
}

async function getJobs(call: Call, ids: readonly string[]): Promise<number> {
  const { out } = call
  if (ids.length === 0) throw usage('Which job?', 'skep jobs get <id…>')
  return using(call, { create: false }, async ({ skep }) => {
    const jobs: JobView[] = []
    const missing: string[] = []
    for (const id of ids) {
      const job = await skep.get(id)
      if (job === null) missing.push(id)
      else jobs.push(job)
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
  return using(call, { create: false }, async ({ skep }) => {
    const jobs: Explanation[] = []
    for (const id of ids) jobs.push(await skep.explain(id))
    if (out.json) out.object({ jobs })
    else out.data(jobs.map((job) => explanationPage(job, out.paint)).join('\n\n'))
    return jobs.some(({ kind }) => kind === null) ? EXIT.notFound : EXIT.ok
  })
}

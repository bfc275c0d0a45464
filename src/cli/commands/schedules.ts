import { LIMITS, type ScheduleDefinition, type ScheduleView, schedule } from '../../index.ts'
import type { Arguments } from '../arguments.ts'
import type { Call, Command } from '../command.ts'
import { confirm } from '../confirm.ts'
import { EXIT, notFound, usage } from '../exit.ts'
import { type Opened, using } from '../open.ts'
import { previewLines, schedulePage, scheduleTable } from '../schedule-text.ts'
import { clean, quote } from '../text.ts'
import { queueOf, readPayload } from './enqueue.ts'

type Action = (call: Call, words: readonly string[]) => Promise<number>

export const schedulesCommand: Command = {
  name: 'schedules',
  summary: 'What makes jobs by cron or interval: list, put, pause, run',
  usage: [
    'schedules [list] [--owner <name>]',
    'schedules show|preview|pause|resume|run|remove <id>',
    'schedules put <id> --queue <name> (--cron <expression> | --every <5m>) [-d <json>] [flags]',
  ],
  actions: {
    list: 'Show a page of schedules',
    show: 'Show everything about one',
    preview: 'Show its next slots',
    pause: 'Stop it until it is resumed',
    resume: 'Let it go on with the first slot from now',
    run: 'Enqueue one job of it now and print its id',
    remove: 'Remove it; its jobs stay',
    put: 'Make it, or change it',
  },
  flags: {
    queue: { kind: 'text', value: 'name', help: 'Where the jobs go' },
    cron: { kind: 'text', value: 'expression', help: 'Five fields, or six with seconds first' },
    'time-zone': { kind: 'text', value: 'zone', help: 'Where the expression is read. Default: UTC' },
    every: { kind: 'text', value: '5m', help: 'An interval instead of a cron' },
    from: { kind: 'text', value: 'grid|last-run', help: 'What the interval counts from. Default: grid' },
    data: { kind: 'text', short: 'd', value: 'json', help: 'The payload; @file reads a file, - reads stdin' },
    missed: { kind: 'text', value: 'skip|once|all', help: 'Slots that nobody fired in time. Default: once' },
    grace: { kind: 'text', value: '60s', help: 'How late is still in time. Default: 60s' },
    overlap: {
      kind: 'text',
      value: 'allow|skip|replace',
      help: 'While the last job is there. Default: allow',
    },
    jitter: { kind: 'text', value: '30s', help: 'Spread the starts over so long' },
    'start-at': { kind: 'text', value: 'date', help: 'No slot before this moment (ISO 8601)' },
    'end-at': { kind: 'text', value: 'date', help: 'No slot from this moment on (ISO 8601)' },
    priority: { kind: 'text', value: 'n', help: 'Of the jobs: -100 to 100. Default: 0' },
    count: { kind: 'text', value: 'n', help: 'How many slots to show. Default: 5' },
    owner: { kind: 'text', value: 'name', help: 'Only those that this owner declared' },
    limit: { kind: 'text', value: 'n', help: 'How many to show. Default: 50' },
    cursor: { kind: 'text', value: 'text', help: 'The page after the one that ended with this' },
    reason: { kind: 'text', value: 'text', help: 'Why it is paused' },
    by: { kind: 'text', value: 'name', help: 'Who pauses it' },
    force: { kind: 'switch', help: 'Remove one that is declared in code' },
  },
  examples: [
    `skep schedules put report.nightly --queue report.build --cron '0 3 * * *' --time-zone Europe/Berlin -d '{"kind":"daily"}'`,
    'skep schedules preview report.nightly --count 10',
    'skep schedules pause report.nightly --reason "too many mails"',
  ],

  async run(call) {
    const [action = 'list', ...words] = call.args.words
    return (ACTIONS[action] ?? list)(call, words)
  },
}

const ACTIONS: Readonly<Record<string, Action>> = {
  list,
  show: (call, words) =>
    about(call, words, async (opened, id) => {
      const view = await found(opened, id)
      if (call.out.json) call.out.object(view)
      else call.out.data(schedulePage(view, call.out.paint, Date.now()))
    }),
  preview: (call, words) =>
    about(call, words, async ({ skep }, id) => {
      const count = call.args.whole('count', { min: 1, max: 1_000 }) ?? 5
      const slots = await skep.schedules.preview(id, count)
      if (call.out.json) call.out.object({ id, slots })
      else if (slots.length === 0) call.out.note('There are no more slots.')
      else call.out.data(previewLines(slots, Date.now()))
    }),
  pause: (call, words) =>
    about(call, words, async ({ skep }, id) => {
      const reason = call.args.text('reason')
      const by = call.args.text('by')
      await skep.schedules.pause(id, {
        ...(reason === undefined ? {} : { reason }),
        ...(by === undefined ? {} : { by }),
      })
      told(call, id, 'paused')
    }),
  resume: (call, words) =>
    about(call, words, async ({ skep }, id) => {
      await skep.schedules.resume(id)
      told(call, id, 'resumed')
    }),
  run: (call, words) =>
    about(call, words, async ({ skep }, id) => {
      const job = await skep.schedules.runNow(id)
      if (call.out.json) call.out.object({ id, job: job.id, duplicate: job.duplicate })
      else call.out.data(job.id)
    }),
  remove: (call, words) =>
    about(call, words, async (opened, id) => {
      await found(opened, id)
      await confirm(call, `Remove schedule ${quote(id)}?`)
      await opened.skep.schedules.remove(id, { force: call.args.on('force') })
      told(call, id, 'removed')
    }),
  put: (call, words) =>
    about(
      call,
      words,
      async (opened, id) => {
        const payload = await readPayload(call)
        const view = await opened.skep.schedules.put(definitionOf(call.args, opened, id, payload))
        if (call.out.json) call.out.object(view)
        else told(call, id, `next ${view.nextAt?.toISOString() ?? 'never'}`)
      },
      true,
    ),
}

async function list(call: Call, words: readonly string[]): Promise<number> {
  const { args, out } = call
  if (words.length > 0) throw usage('skep schedules list takes no id.', 'Use: skep schedules show <id>')
  const limit = args.whole('limit', { min: 1, max: LIMITS.pageJobs })
  const owner = args.text('owner')
  const cursor = args.text('cursor')
  return using(call, { create: false }, async ({ skep }) => {
    const page = await skep.schedules.list({
      ...(limit === undefined ? {} : { limit }),
      ...(owner === undefined ? {} : { owner }),
      ...(cursor === undefined ? {} : { cursor }),
    })
    if (out.json) out.object(page)
    else if (page.schedules.length === 0) out.note('There are no schedules.')
    else if (out.quiet) out.data(page.schedules.map(({ id }) => id).join('\n'))
    else out.data(scheduleTable(page.schedules, out, Date.now()))
    if (!out.json && page.cursor !== null) {
      out.note(out.paintNote('dim', `There are more. The next page: --cursor ${clean(page.cursor)}`))
    }
    return EXIT.ok
  })
}

/** Does something about the one schedule that is named. */
async function about(
  call: Call,
  [id, ...rest]: readonly string[],
  act: (opened: Opened, id: string) => Promise<void>,
  create = false,
): Promise<number> {
  if (id === undefined) throw usage('Which schedule?', 'skep schedules show <id>')
  if (rest[0] !== undefined) throw usage(`${quote(rest[0])} is one word too many.`)
  return using(call, { create }, async (opened) => {
    await act(opened, id)
    return EXIT.ok
  })
}

async function found({ skep }: Opened, id: string): Promise<ScheduleView> {
  const view = await skep.schedules.get(id)
  if (view === null) throw notFound(`There is no schedule ${quote(id)} in this space.`)
  return view
}

function told({ out }: Call, id: string, what: string): void {
  if (out.json) out.object({ id, done: what })
  else out.data(`${clean(id)}: ${what}`)
}

function definitionOf(args: Arguments, opened: Opened, id: string, payload: unknown): ScheduleDefinition {
  const name = args.text('queue')
  if (name === undefined)
    throw usage('Which queue?', 'skep schedules put <id> --queue <name> --cron <expression>')
  const cron = args.text('cron')
  const every = args.duration('every')
  if ((cron === undefined) === (every === undefined)) throw usage('Use either --cron or --every.')
  const timeZone = args.text('time-zone')
  const from = args.text('from')
  const grace = args.duration('grace')
  const jitter = args.duration('jitter')
  const startAt = args.moment('start-at')
  const endAt = args.moment('end-at')
  const priority = args.whole('priority', { min: -LIMITS.priority, max: LIMITS.priority })
  const missed = args.text('missed')
  const overlap = args.text('overlap')
  const given = { cron, every, timeZone, from, grace, jitter, startAt, endAt, priority, missed, overlap }
  const options = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
  // What a word may be is judged by the library, which says so.
  return schedule(id, { ...options, queue: queueOf(opened, name), payload } as unknown as Parameters<
    typeof schedule<unknown, unknown, unknown>
  >[1])
}

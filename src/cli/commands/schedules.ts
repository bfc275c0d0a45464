import {
  createSkep,
  cronWords,
  type Duration,
  everyWords,
  LIMITS,
  queue,
  type ScheduleView,
  schedule,
} from '../../index.ts'
import type { InputOf } from '../../server.ts'
import { type Arguments, durationMs } from '../arguments.ts'
import { confirm } from '../change/confirm.ts'
import { DRY_RUN_FLAG, onlySays } from '../change/dry-run.ts'
import type { Call, Command } from '../command.ts'
import { type Reached, reaching } from '../connect/connect.ts'
import type { Opened } from '../connect/open.ts'
import { EXIT, notFound, usage } from '../exit.ts'
import { previewLines, schedulePage, scheduleTable } from '../format/schedule-text.ts'
import { clean, quote } from '../format/text.ts'
import { queueOf, readPayload } from './jobs/enqueue.ts'

type Action = (call: Call, words: readonly string[]) => Promise<number>
type ScheduleOptions = Parameters<typeof schedule<unknown, unknown, unknown>>[1]

export const schedulesCommand: Command = {
  name: 'schedules',
  summary: 'What makes jobs by cron or interval: list, put, pause, run',
  usage: [
    'schedules [list] [--owner <name>]',
    'schedules show|preview <id>',
    'schedules pause|resume|run|remove <id> [--dry-run]',
    'schedules preview --cron <expression> [--time-zone <zone>]',
    'schedules put <id> --queue <name> (--cron <expression> | --every <5m>) [-d <json>] [flags]',
  ],
  actions: {
    list: 'Show a page of schedules',
    show: 'Show everything about one',
    preview: 'Show its next slots, or those of an expression',
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
    'dry-run': DRY_RUN_FLAG,
  },
  examples: [
    `skep schedules put report.nightly --queue report.build --cron '0 3 * * *' --time-zone Europe/Berlin -d '{"kind":"daily"}'`,
    'skep schedules preview report.nightly --count 10',
    "skep schedules preview --cron '0 9 * * 1-5' --time-zone Europe/Berlin",
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
    about(call, words, async (reached, id) => {
      const view = await found(reached, id)
      if (call.out.json) call.out.object(view)
      else call.out.data(schedulePage(view, call.out.paint, Date.now()))
    }),
  preview: (call, words) =>
    words.length === 0 && (call.args.typed('cron') || call.args.typed('every'))
      ? previewExpression(call)
      : about(call, words, async ({ skep }, id) => {
          const count = call.args.whole('count', { min: 1, max: 1_000 }) ?? 5
          const slots = await skep.schedules.preview(id, count)
          if (call.out.json) call.out.object({ id, slots })
          else if (slots.length === 0) call.out.note('There are no more slots.')
          else call.out.data(previewLines(slots, Date.now()))
        }),
  pause: (call, words) =>
    about(call, words, async (reached, id) => {
      if (await onlySaid(call, reached, 'pause', id)) return
      const { skep } = reached
      const reason = call.args.text('reason')
      const by = call.args.text('by')
      await skep.schedules.pause(id, {
        ...(reason === undefined ? {} : { reason }),
        ...(by === undefined ? {} : { by }),
      })
      told(call, id, 'paused')
    }),
  resume: (call, words) =>
    about(call, words, async (reached, id) => {
      if (await onlySaid(call, reached, 'resume', id)) return
      await reached.skep.schedules.resume(id)
      told(call, id, 'resumed')
    }),
  run: (call, words) =>
    about(call, words, async (reached, id) => {
      if (await onlySaid(call, reached, 'run', id)) return
      const job = await reached.skep.schedules.runNow(id)
      if (call.out.json) call.out.object({ id, job: job.id, duplicate: job.duplicate })
      else call.out.data(job.id)
    }),
  remove: (call, words) =>
    about(call, words, async (reached, id) => {
      if (await onlySaid(call, reached, 'remove', id)) return
      await found(reached, id)
      await confirm(call, `Remove schedule ${quote(id)}?`)
      await reached.skep.schedules.remove(id, { force: call.args.on('force') })
      told(call, id, 'removed')
    }),
  put: (call, words) =>
    about(
      call,
      words,
      async (reached, id) => {
        const payload = await readPayload(call)
        const { queue, ...given } = optionsOf(call.args)
        const { server, opened } = reached
        if (call.args.on('dry-run')) {
          const view = await reached.skep.schedules.get(id)
          // Made here, so that what could not be put is refused here too.
          const made = { ...given, queue: queueOf(reached, queue), payload } as unknown as ScheduleOptions
          schedule(id, made)
          const would = `${view === null ? 'make' : 'change'} schedule ${quote(id)} of ${clean(queue)}`
          onlySays(call, would, { id, queue, exists: view !== null })
          return
        }
        if (server !== null) {
          const said = await server.call('schedules.put', asTexts({ id, queue, payload, ...given }))
          return put(call, id, said, said.nextAt)
        }
        // What a word may be is judged by the library, which says so.
        const options = { ...given, queue: queueOf(reached, queue), payload } as unknown as ScheduleOptions
        const view = await (opened as Opened).skep.schedules.put(schedule(id, options))
        put(call, id, view, view.nextAt?.toISOString() ?? null)
      },
      !call.args.on('dry-run'),
    ),
}

/** What an expression means and when it comes next. Nothing is opened for it. */
async function previewExpression(call: Call): Promise<number> {
  const { args, out } = call
  const cron = args.text('cron')
  const every = args.duration('every')
  if ((cron === undefined) === (every === undefined)) throw usage('Use either --cron or --every.')
  const timeZone = args.text('time-zone')
  const timing = cron === undefined ? { every } : { cron, ...(timeZone === undefined ? {} : { timeZone }) }
  const definition = schedule('preview', {
    ...timing,
    queue: queue('preview'),
    payload: null,
  } as ScheduleOptions)
  const skep = createSkep({ store: (await import('../../memory.ts')).memoryStore() })
  const slots = await skep.schedules.preview(definition, args.whole('count', { min: 1, max: 1_000 }) ?? 5)
  await skep.close()
  const words =
    cron === undefined ? everyWords(durationMs(every as Duration)) : cronWords(cron, timeZone ?? 'UTC')
  if (out.json) out.object({ words, slots })
  else {
    out.data(words)
    out.data(slots.length === 0 ? 'There are no slots.' : previewLines(slots, Date.now()))
  }
  return EXIT.ok
}

async function list(call: Call, words: readonly string[]): Promise<number> {
  const { args, out } = call
  if (words.length > 0) throw usage('skep schedules list takes no id.', 'Use: skep schedules show <id>')
  const limit = args.whole('limit', { min: 1, max: LIMITS.pageJobs })
  const owner = args.text('owner')
  const cursor = args.text('cursor')
  return reaching(call, { create: false }, async ({ skep }) => {
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
  act: (reached: Reached, id: string) => Promise<void>,
  create = false,
): Promise<number> {
  if (id === undefined) throw usage('Which schedule?', 'skep schedules show <id>')
  if (rest[0] !== undefined) throw usage(`${quote(rest[0])} is one word too many.`)
  return reaching(call, { create }, async (reached) => {
    await act(reached, id)
    return EXIT.ok
  })
}

/** With --dry-run: says what would be done to a schedule that exists. */
async function onlySaid(call: Call, reached: Reached, action: string, id: string): Promise<boolean> {
  if (!call.args.on('dry-run')) return false
  await found(reached, id)
  return onlySays(call, `${action} schedule ${quote(id)}`, { action, id })
}

async function found({ skep }: Reached, id: string): Promise<ScheduleView> {
  const view = await skep.schedules.get(id)
  if (view === null) throw notFound(`There is no schedule ${quote(id)} in this space.`)
  return view
}

function told({ out }: Call, id: string, what: string): void {
  if (out.json) out.object({ id, done: what })
  else out.data(`${clean(id)}: ${what}`)
}

function put(call: Call, id: string, view: object, nextAt: string | null): void {
  if (call.out.json) call.out.object(view)
  else told(call, id, `next ${nextAt ?? 'never'}`)
}

/** What was said of a schedule beside its id and payload. */
function optionsOf(args: Arguments): { readonly queue: string } & Readonly<Record<string, unknown>> {
  const queue = args.text('queue')
  if (queue === undefined)
    throw usage('Which queue?', 'skep schedules put <id> --queue <name> --cron <expression>')
  const cron = args.text('cron')
  const every = args.duration('every')
  if ((cron === undefined) === (every === undefined)) throw usage('Use either --cron or --every.')
  const given = {
    cron,
    every,
    timeZone: args.text('time-zone'),
    from: args.text('from'),
    grace: args.duration('grace'),
    jitter: args.duration('jitter'),
    startAt: args.moment('start-at'),
    endAt: args.moment('end-at'),
    priority: args.whole('priority', { min: -LIMITS.priority, max: LIMITS.priority }),
    missed: args.text('missed'),
    overlap: args.text('overlap'),
  }
  return { queue, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) }
}

/** Moments go as texts. */
function asTexts(input: Readonly<Record<string, unknown>>): InputOf<'schedules.put'> {
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => [name, value instanceof Date ? value.toISOString() : value]),
  ) as unknown as InputOf<'schedules.put'>
}

import { createSkep, LIMITS, schedule } from '../../index.ts'
import type { ScheduleSummary } from '../../operations/schema/outputs.ts'
import { toWire } from '../../operations/schema/serialize.ts'
import type { InputOf } from '../../operations/table.ts'
import { type Arguments, given } from '../arguments.ts'
import { confirm } from '../change/confirm.ts'
import { DRY_RUN_FLAG, onlySays } from '../change/dry-run.ts'
import type { Call, Command } from '../command.ts'
import { callOrNull } from '../connect/backend.ts'
import { type Reached, reaching } from '../connect/connect.ts'
import { EXIT, notFound, usage } from '../exit.ts'
import { previewLines, schedulePage, scheduleTable } from '../format/schedule-text.ts'
import { clean, quote } from '../format/text.ts'
import { queueOf, readPayload } from './jobs/enqueue.ts'

type Action = (call: Call, words: readonly string[]) => Promise<number>
type ScheduleOptions = Parameters<typeof schedule<unknown, unknown, unknown>>[1]

export const schedulesCommand: Command = {
  name: 'schedules',
  summary: 'Jobs by cron or interval: list, put, pause, run',
  usage: [
    'schedules [list] [--owner <name>]',
    'schedules show|preview <id>',
    'schedules pause|resume|run|remove <id> [--dry-run]',
    'schedules preview --cron <expression> [--time-zone <zone>]',
    'schedules put <id> --queue <name> (--cron <expression> | --every <5m>) [-d <json>] [flags]',
  ],
  actions: {
    list: 'Show a page of schedules',
    show: 'Show one schedule',
    preview: 'Show the next slots of a schedule or an expression',
    pause: 'Pause a schedule until it is resumed',
    resume: 'Resume a schedule from its next slot',
    run: 'Enqueue a job of it now and print its id',
    remove: 'Remove a schedule; its jobs are kept',
    put: 'Create or change a schedule',
  },
  flags: {
    queue: { kind: 'text', value: 'name', help: 'The queue of the jobs' },
    cron: { kind: 'text', value: 'expression', help: 'Five fields, or six with seconds first' },
    'time-zone': { kind: 'text', value: 'zone', help: 'Time zone of the expression. Default: UTC' },
    every: { kind: 'text', value: '5m', help: 'An interval instead of a cron expression' },
    from: { kind: 'text', value: 'grid|last-run', help: 'What the interval counts from. Default: grid' },
    data: { kind: 'text', short: 'd', value: 'json', help: 'The payload; @file reads a file, - reads stdin' },
    missed: {
      kind: 'text',
      value: 'skip|once|all',
      help: 'Missed slots: how they are made up. Default: once',
    },
    grace: { kind: 'text', value: '60s', help: 'How late a slot may fire. Default: 60s' },
    overlap: {
      kind: 'text',
      value: 'allow|skip|replace',
      help: 'If the previous job has not ended. Default: allow',
    },
    jitter: { kind: 'text', value: '30s', help: 'Jitter: random delay up to this duration' },
    'start-at': { kind: 'text', value: 'date', help: 'No slot before this time (ISO 8601)' },
    'end-at': { kind: 'text', value: 'date', help: 'No slot at or after this time (ISO 8601)' },
    priority: { kind: 'text', value: 'n', help: 'Priority of the jobs: -100 to 100. Default: 0' },
    count: { kind: 'text', value: 'n', help: 'Number of slots to show. Default: 5' },
    owner: { kind: 'text', value: 'name', help: 'Only schedules declared by this owner' },
    limit: { kind: 'text', value: 'n', help: 'Page size. Default: 50' },
    cursor: { kind: 'text', value: 'text', help: 'The cursor of the previous page' },
    reason: { kind: 'text', value: 'text', help: 'The reason for the pause' },
    by: { kind: 'text', value: 'name', help: 'Actor recorded with the pause. Default: $USER' },
    force: { kind: 'switch', help: 'Also remove a schedule that is declared in code' },
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
      : about(call, words, async ({ backend }, id) => {
          const count = call.args.whole('count', { min: 1, max: 1_000 }) ?? 5
          const { next } = await backend.call('schedules.get', { id, count })
          const slots = next.map(({ at }) => at)
          if (call.out.json) call.out.object({ id, slots })
          else if (slots.length === 0) call.out.note('There are no more slots.')
          else call.out.data(previewLines(slots, Date.now()))
        }),
  pause: (call, words) =>
    about(call, words, async (reached, id) => {
      if (await onlySaid(call, reached, 'pause', id)) return
      const reason = call.args.text('reason')
      await reached.backend.call('schedules.pause', { id, ...given({ reason }) })
      told(call, id, 'paused')
    }),
  resume: (call, words) =>
    about(call, words, async (reached, id) => {
      if (await onlySaid(call, reached, 'resume', id)) return
      await reached.backend.call('schedules.resume', { id })
      told(call, id, 'resumed')
    }),
  run: (call, words) =>
    about(call, words, async (reached, id) => {
      if (await onlySaid(call, reached, 'run', id)) return
      const job = await reached.backend.call('schedules.run', { id })
      if (call.out.json) call.out.object({ id, job: job.id, duplicate: job.duplicate })
      else call.out.data(job.id)
    }),
  remove: (call, words) =>
    about(call, words, async (reached, id) => {
      if (await onlySaid(call, reached, 'remove', id)) return
      await found(reached, id)
      await confirm(call, `Remove schedule ${quote(id)}?`)
      await reached.backend.call('schedules.remove', { id, force: call.args.on('force') })
      told(call, id, 'removed')
    }),
  put: (call, words) =>
    about(
      call,
      words,
      async (reached, id) => {
        const payload = await readPayload(call)
        const { queue, ...options } = optionsOf(call.args)
        const { backend, opened } = reached
        // As the config declares the queue, so that its schema applies. The library validates the options.
        const define = (): ReturnType<typeof schedule> =>
          schedule(id, { ...options, queue: queueOf(reached, queue), payload } as unknown as ScheduleOptions)
        if (call.args.on('dry-run')) {
          const found = await callOrNull(backend, 'schedules.get', { id })
          define()
          const would = `${found === null ? 'create' : 'change'} schedule ${quote(id)} of ${clean(queue)}`
          onlySays(call, would, { id, queue, exists: found !== null })
          return
        }
        const view =
          opened === null
            ? await backend.call('schedules.put', asTexts({ id, queue, payload, ...options }))
            : toWire(await opened.skep.schedules.put(define()))
        if (call.out.json) call.out.object(view)
        else told(call, id, `next ${view.nextAt ?? 'never'}`)
      },
      !call.args.on('dry-run'),
    ),
}

/** Describes an expression and its next slots. Needs no database. */
async function previewExpression(call: Call): Promise<number> {
  const { args, out } = call
  const cron = args.text('cron')
  const every = args.duration('every') as string | undefined
  if ((cron === undefined) === (every === undefined)) throw usage('Use either --cron or --every.')
  const timeZone = args.text('time-zone')
  const [{ memoryStore }, { LocalBackend }] = await Promise.all([
    import('../../memory.ts'),
    import('../connect/local.ts'),
  ])
  const skep = createSkep({ store: memoryStore() })
  const { words, next } = await new LocalBackend(skep, { by: 'cli', place: 'memory' }).call(
    'schedules.preview',
    {
      ...given(cron === undefined ? { every } : { cron, timeZone }),
      count: args.whole('count', { min: 1, max: 1_000 }) ?? 5,
    },
  )
  await skep.close()
  const slots = next.map(({ at }) => at)
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
  return reaching(call, { create: false }, async ({ backend }) => {
    const page = await backend.call('schedules.list', given({ limit, owner, cursor }))
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

/** Does something with the schedule that is named. */
async function about(
  call: Call,
  [id, ...rest]: readonly string[],
  act: (reached: Reached, id: string) => Promise<void>,
  create = false,
): Promise<number> {
  if (id === undefined) throw usage('Which schedule?', 'skep schedules show <id>')
  if (rest[0] !== undefined) throw usage(`${quote(rest[0])} is an unexpected argument.`)
  return reaching(call, { create }, async (reached) => {
    await act(reached, id)
    return EXIT.ok
  })
}

/** With --dry-run: prints what would be done to a schedule that exists. */
async function onlySaid(call: Call, reached: Reached, action: string, id: string): Promise<boolean> {
  if (!call.args.on('dry-run')) return false
  await found(reached, id)
  return onlySays(call, `${action} schedule ${quote(id)}`, { action, id })
}

async function found({ backend }: Reached, id: string): Promise<ScheduleSummary> {
  const found = await callOrNull(backend, 'schedules.get', { id })
  if (found === null) throw notFound(`There is no schedule ${quote(id)} in this space.`)
  return found.schedule
}

function told({ out }: Call, id: string, what: string): void {
  if (out.json) out.object({ id, done: what })
  else out.data(`${clean(id)}: ${what}`)
}

/** The options of a schedule beside its id and payload. */
function optionsOf(args: Arguments): { readonly queue: string } & Readonly<Record<string, unknown>> {
  const queue = args.text('queue')
  if (queue === undefined)
    throw usage('Which queue?', 'skep schedules put <id> --queue <name> --cron <expression>')
  const cron = args.text('cron')
  const every = args.duration('every')
  if ((cron === undefined) === (every === undefined)) throw usage('Use either --cron or --every.')
  const options = given({
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
  })
  return { queue, ...options }
}

/** Dates become ISO 8601 strings. */
function asTexts(input: Readonly<Record<string, unknown>>): InputOf<'schedules.put'> {
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => [name, value instanceof Date ? value.toISOString() : value]),
  ) as unknown as InputOf<'schedules.put'>
}

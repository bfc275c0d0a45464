import type { ErrorGroup } from '../../../operations/schema/outputs.ts'
import { given } from '../../arguments.ts'
import { BY_FLAG } from '../../change/actor.ts'
import { changeWhere } from '../../change/bulk-select.ts'
import { DRY_RUN_FLAG, onlySays } from '../../change/dry-run.ts'
import type { Call, Command } from '../../command.ts'
import { callOrNull } from '../../connect/backend.ts'
import { reaching } from '../../connect/connect.ts'
import { EXIT, notFound, usage } from '../../exit.ts'
import { count, fromNow, sparkline } from '../../format/numbers.ts'
import { table } from '../../format/table.ts'
import { clean, cleanLines } from '../../format/text.ts'
import type { Paint } from '../../output.ts'

export const errorsCommand: Command = {
  name: 'errors',
  summary: 'Errors grouped by cause: list, get, retry, mute',
  usage: [
    'errors [list] [--queue <name>] [--muted]',
    'errors get <id>',
    'errors retry <id> [--dry-run]',
    'errors mute <id> [--for 1d] [--dry-run]',
    'errors unmute <id> [--dry-run]',
  ],
  actions: {
    list: 'List groups, latest errors first',
    get: 'Show one group with a sample',
    retry: 'Retry the dead jobs of a group',
    mute: 'Mark a group as known',
    unmute: 'Unmute a group',
  },
  flags: {
    queue: { kind: 'text', value: 'name', help: 'Only errors of this queue' },
    muted: { kind: 'switch', help: 'Only muted groups' },
    limit: { kind: 'text', value: 'n', help: 'At most this many. Default: 50' },
    cursor: { kind: 'text', value: 'text', help: 'The cursor of the previous page' },
    for: { kind: 'text', value: '1d', help: 'For mute: expires after this duration' },
    'per-second': {
      kind: 'text',
      value: 'n',
      help: 'For retry: change at most this number of jobs per second',
    },
    detach: { kind: 'switch', help: 'For retry: run it in the workers, and print the id of the action' },
    by: BY_FLAG,
    'dry-run': DRY_RUN_FLAG,
  },
  examples: ['skep errors', 'skep errors get 3f1c9a0b5d7e2468', 'skep errors retry 3f1c9a0b5d7e2468 --yes'],

  async run(call) {
    const [action = 'list', id, extra] = call.args.words
    if (action === 'list') {
      if (id !== undefined) throw usage('skep errors list takes no ids.', 'skep errors get <id>')
      return list(call)
    }
    if (id === undefined || extra !== undefined)
      throw usage('Which group? One at a time.', `skep errors ${action} <id>`)
    if (action === 'retry') {
      await reaching(call, { create: false }, async ({ backend }) =>
        present(id, await callOrNull(backend, 'errors.get', { id })),
      )
      return changeWhere(call, 'retry', `error.group:${id}`)
    }
    return showOne(call, action, id)
  },
}

function list(call: Call): Promise<number> {
  const { args, out } = call
  const queue = args.text('queue')
  const limit = args.whole('limit', { min: 1, max: 200 })
  const cursor = args.text('cursor')
  const muted = args.on('muted') ? true : undefined
  return reaching(call, { create: false }, async ({ backend }) => {
    const page = await backend.call('errors.list', given({ muted, queue, limit, cursor }))
    if (out.json) out.object(page)
    else if (page.groups.length === 0) out.note('No errors within 14 days.')
    else {
      const now = Date.now()
      const lines = table(
        [
          { title: 'ID' },
          { title: 'QUEUE' },
          { title: 'COUNT', align: 'right' },
          { title: 'DEAD', align: 'right' },
          { title: 'LAST' },
          { title: '24 HOURS' },
          { title: 'ERROR', flexible: true },
        ],
        page.groups.map((group) => [
          group.id,
          clean(group.queue),
          count(group.count),
          group.dead === 0 ? { text: '·', style: 'dim' } : { text: count(group.dead), style: 'red' },
          fromNow(group.lastAt, now),
          sparkline(group.spark.slice(-12)),
          group.muted === null
            ? errorLine(group)
            : { text: `muted  ${errorLine(group)}`, style: 'dim' as const },
        ]),
        { width: out.width, paint: out.paint },
      )
      out.data(lines.join('\n'))
    }
    if (!out.json && page.cursor !== null)
      out.note(out.paintNote('dim', `There are more. The next page: --cursor ${page.cursor}`))
    return EXIT.ok
  })
}

function showOne(call: Call, action: string, id: string): Promise<number> {
  const { args, out } = call
  const time = args.duration('for') as string | undefined
  return reaching(call, { create: false }, async ({ backend }) => {
    if (action !== 'get' && args.on('dry-run')) {
      const group = present(id, await callOrNull(backend, 'errors.get', { id }))
      onlySays(call, `${action} ${id}: ${errorLine(group)}`, { action, id })
      return EXIT.ok
    }
    const found =
      action === 'mute'
        ? await callOrNull(backend, 'errors.mute', { id, ...given({ for: time }) })
        : await callOrNull(backend, action === 'unmute' ? 'errors.unmute' : 'errors.get', { id })
    const group = present(id, found)
    if (out.json) out.object(group)
    else if (action === 'get') out.data(page(group, out.paint))
    else out.data(`${action === 'mute' ? 'Muted' : 'Unmuted'} ${id}: ${errorLine(group)}`)
    return EXIT.ok
  })
}

function present(id: string, group: ErrorGroup | null): ErrorGroup {
  if (group === null) throw notFound(`There is no group of errors "${clean(id)}".`, 'See: skep errors list')
  return group
}

function errorLine({ name, message }: ErrorGroup): string {
  return clean(name === '' || name === 'Error' ? message : `${name}: ${message}`)
}

function page(group: ErrorGroup, paint: Paint): string {
  const now = Date.now()
  const { muted } = group
  const until = muted?.until ? `, ends ${fromNow(muted.until, now)}` : ''
  const parts: readonly (readonly [string, string | null])[] = [
    ['id', group.id],
    ['queue', clean(group.queue)],
    ['error', paint('red', errorLine(group))],
    ['count', `${count(group.count)}, ${count(group.dead)} dead`],
    ['24 hours', sparkline(group.spark)],
    ['first', fromNow(group.firstAt, now)],
    ['last', fromNow(group.lastAt, now)],
    ['muted', muted === null ? null : `by ${clean(muted.by) || 'unknown'}${until}`],
    ['sample', `${group.sampleJob} ${paint('dim', `(skep jobs get ${group.sampleJob})`)}`],
    ['stack', group.sampleStack === null ? null : indent(cleanLines(group.sampleStack))],
    ['retry', paint('dim', `skep errors retry ${group.id}`)],
  ]
  return parts
    .filter(([, text]) => text !== null)
    .map(([name, text]) => `${paint('dim', name.padEnd(9))} ${text}`)
    .join('\n')
}

/** Indents all lines but the first. */
function indent(text: string): string {
  return text.replaceAll('\n', `\n${' '.repeat(10)}`)
}

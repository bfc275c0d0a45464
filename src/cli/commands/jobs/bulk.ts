import type { BulkStatus } from '../../../index.ts'
import type { BulkView } from '../../../operations/schema/outputs.ts'
import { DRY_RUN_FLAG, onlySays } from '../../change/dry-run.ts'
import type { Call, Command } from '../../command.ts'
import { callOrNull } from '../../connect/backend.ts'
import { reaching } from '../../connect/connect.ts'
import { EXIT, notFound, usage } from '../../exit.ts'
import { count, fromNow } from '../../format/numbers.ts'
import { table } from '../../format/table.ts'
import { clean } from '../../format/text.ts'
import type { Paint, Style } from '../../output.ts'

const STYLES: Readonly<Record<BulkStatus, Style>> = {
  running: 'cyan',
  done: 'green',
  stopped: 'yellow',
  failed: 'red',
}

export const bulkCommand: Command = {
  name: 'bulk',
  summary: 'Actions on many jobs: list, get, stop',
  usage: ['bulk [list]', 'bulk get <id>', 'bulk stop <id> [--dry-run]'],
  actions: {
    list: 'List running actions, and those that ended within a week',
    get: 'Show the progress of one',
    stop: 'Stop one after its current page',
  },
  flags: { 'dry-run': DRY_RUN_FLAG },
  examples: ['skep bulk', 'skep bulk stop 01890a5d-ac96-774b-bcce-b302099a8057'],

  async run(call) {
    const [action = 'list', id, extra] = call.args.words
    if (action === 'list') {
      if (id !== undefined) throw usage('skep bulk list takes no ids.', 'skep bulk get <id>')
      return list(call)
    }
    if (id === undefined || extra !== undefined)
      throw usage('Which action? One at a time.', `skep bulk ${action} <id>`)
    return reaching(call, { create: false }, async ({ backend }) => {
      const stops = action === 'stop' && !call.args.on('dry-run')
      const bulk = await callOrNull(backend, stops ? 'bulk.stop' : 'bulk.get', { id })
      if (bulk === null) throw notFound(`There is no bulk action "${clean(id)}".`, 'See: skep bulk list')
      const { name, status } = bulk
      const would = status === 'running' ? `stop ${clean(name)}` : `do nothing: it is ${status}`
      if (action === 'stop' && onlySays(call, would, { action, id, status })) return EXIT.ok
      if (call.out.json) call.out.object(bulk)
      else call.out.data(page(bulk, call.out.paint))
      return EXIT.ok
    })
  },
}

function list(call: Call): Promise<number> {
  const { out } = call
  return reaching(call, { create: false }, async ({ backend }) => {
    const { bulks: actions } = await backend.call('bulk.list', {})
    if (out.json) out.object({ actions })
    else if (actions.length === 0) out.note('No bulk actions within a week.')
    else {
      const now = Date.now()
      const lines = table(
        [
          { title: 'ID' },
          { title: 'STATUS' },
          { title: 'CHANGED', align: 'right' },
          { title: 'OF', align: 'right' },
          { title: 'BEGAN' },
          { title: 'BY' },
          { title: 'NAME', flexible: true },
        ],
        actions.map((bulk) => [
          bulk.id,
          { text: bulk.status, style: STYLES[bulk.status] },
          count(bulk.changed),
          bulk.expected === null ? '?' : count(bulk.expected),
          fromNow(bulk.startedAt, now),
          clean(bulk.by),
          clean(bulk.name),
        ]),
        { width: out.width, paint: out.paint },
      )
      out.data(lines.join('\n'))
    }
    return EXIT.ok
  })
}

function page(bulk: BulkView, paint: Paint): string {
  const now = Date.now()
  const of = bulk.expected === null ? '' : ` of ${count(bulk.expected)}`
  const parts: readonly (readonly [string, string | null])[] = [
    ['id', bulk.id],
    ['name', clean(bulk.name)],
    ['query', clean(bulk.query)],
    ['status', paint(STYLES[bulk.status], bulk.status)],
    ['changed', `${count(bulk.changed)}${of}`],
    ['refused', bulk.refused === 0 ? null : count(bulk.refused)],
    ['searched', count(bulk.searched)],
    ['by', bulk.by === '' ? null : clean(bulk.by)],
    ['began', fromNow(bulk.startedAt, now)],
    ['ended', bulk.endedAt === null ? null : fromNow(bulk.endedAt, now)],
    ['error', bulk.error === null ? null : paint('red', clean(bulk.error))],
  ]
  return parts
    .filter(([, text]) => text !== null)
    .map(([name, text]) => `${paint('dim', name.padEnd(9))} ${text}`)
    .join('\n')
}

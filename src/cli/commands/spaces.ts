import type { Command } from '../command.ts'
import { reaching } from '../connect/connect.ts'
import { EXIT, usage } from '../exit.ts'
import { count } from '../format/numbers.ts'
import { table } from '../format/table.ts'
import { clean } from '../format/text.ts'

export const spacesCommand: Command = {
  name: 'spaces',
  summary: 'Count the jobs of all spaces',
  usage: ['spaces [list]'],
  actions: { list: 'List spaces that have jobs' },
  flags: {},
  examples: ['skep spaces', 'skep spaces --json'],

  run(call) {
    const { out, args } = call
    const [action = 'list', ...more] = args.words
    if (action !== 'list' || more.length > 0) throw usage('skep spaces takes nothing.', 'skep spaces')
    return reaching(call, { create: false }, async ({ backend }) => {
      const { spaces } = await backend.call('spaces.list', {})
      if (out.json) out.object({ spaces })
      else if (spaces.length === 0) out.note('No space has jobs.')
      else {
        const counted = ['QUEUES', 'WAITING', 'RUNNING', 'FINISHED', 'DEAD']
        const heads = [{ title: 'SPACE' }, ...counted.map((title) => ({ title, align: 'right' as const }))]
        const rows = spaces.map((one) => [
          clean(one.space),
          ...[one.queues, one.waiting, one.running, one.finished, one.dead].map(count),
        ])
        out.data(table(heads, rows, { width: out.width, paint: out.paint }).join('\n'))
      }
      return EXIT.ok
    })
  },
}

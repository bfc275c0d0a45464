import { JOB_STATES } from '../../index.ts'
import type { Call, Command } from '../command.ts'
import { EXIT, usage } from '../exit.ts'
import { count, span } from '../numbers.ts'
import { using } from '../open.ts'
import { PURGE_FLAGS, purgeQueue } from '../purge.ts'
import { STATE_STYLES } from '../states.ts'
import { type Cell, table } from '../table.ts'

export const queuesCommand: Command = {
  name: 'queues',
  summary: 'How many jobs each queue has in each state, and purging them',
  usage: ['queues [list] [name…]', 'queues purge <name> [filters] [--dry-run]'],
  flags: PURGE_FLAGS,
  examples: [
    'skep queues',
    'skep queues mail.send --json',
    'skep queues purge mail.send --state dead,failed --older 30d --dry-run',
  ],

  // No `actions`: whatever else comes first is the name of a queue.
  async run(call) {
    const { args } = call
    const [first, ...rest] = args.words
    if (first === 'purge') return purgeQueue(call, rest)
    const flag = Object.keys(PURGE_FLAGS).find((name) => args.typed(name))
    if (flag !== undefined) throw usage(`--${flag} is for skep queues purge <name>.`)
    return listQueues(call, first === 'list' ? rest : args.words)
  },
}

async function listQueues(call: Call, words: readonly string[]): Promise<number> {
  const { out } = call
  return using(call, { create: false }, async ({ skep }) => {
    const names = words.length === 0 ? undefined : words
    const queues = [...(await skep.counts(names))].sort((a, b) => a.queue.localeCompare(b.queue))
    if (out.json) {
      out.object({ space: skep.space, queues })
      return EXIT.ok
    }
    if (queues.length === 0) {
      out.note('There are no queues yet. Enqueue a job: skep enqueue hello -d \'{"name":"you"}\'')
      return EXIT.ok
    }
    const states = JOB_STATES.filter(
      (state) => state !== 'missing' || queues.some((queue) => queue.missing > 0),
    )
    const number = (value: number, state: (typeof states)[number]): Cell =>
      value === 0 ? { text: '0', style: 'dim' } : { text: count(value), style: STATE_STYLES[state] }
    const lines = table(
      [
        { title: 'QUEUE', flexible: true },
        ...states.map((state) => ({ title: state.toUpperCase(), align: 'right' }) as const),
        { title: 'OLDEST', align: 'right' },
      ],
      queues.map((queue) => [
        queue.queue,
        ...states.map((state) => number(queue[state], state)),
        queue.oldestMs === null ? '–' : span(queue.oldestMs),
      ]),
      { width: out.width, paint: out.paint },
    )
    out.data(lines.join('\n'))
    return EXIT.ok
  })
}

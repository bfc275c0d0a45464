import { JOB_STATES } from '../../index.ts'
import type { Command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { count, span } from '../numbers.ts'
import { using } from '../open.ts'
import { STATE_STYLES } from '../states.ts'
import { type Cell, table } from '../table.ts'

export const queuesCommand: Command = {
  name: 'queues',
  summary: 'How many jobs each queue has in each state',
  usage: ['queues [name…]'],
  flags: {},
  examples: ['skep queues', 'skep queues mail.send --json'],

  async run(call) {
    const { args, out } = call
    return using(call, { create: false }, async ({ skep }) => {
      const names = args.words.length === 0 ? undefined : args.words
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
  },
}

import { isLiveWorker, JOB_STATES } from '../../index.ts'
import type { QueueSummary } from '../../operations/schema/outputs.ts'
import { holdText } from '../change/holds.ts'
import { limitsText, targetText } from '../change/limits.ts'
import type { Call } from '../command.ts'
import { callOrNull } from '../connect/backend.ts'
import { reaching } from '../connect/connect.ts'
import { EXIT, notFound, usage } from '../exit.ts'
import { count, many, span } from './numbers.ts'
import { STATE_STYLES } from './states.ts'
import { clean, quote } from './text.ts'

/** A queue as `--json` prints it: the number of jobs in each state beside its name. */
export function queueView({ queue, counts, oldestMs, unhandled, hold, holds }: QueueSummary): object {
  return { queue, ...counts, oldestMs, unhandled, hold, holds }
}

/** One queue: its jobs by state, why they wait, and its workers. */
export async function showQueue(call: Call, names: readonly string[]): Promise<number> {
  const { out } = call
  const [name, ...more] = names
  if (name === undefined || more.length > 0)
    throw usage('Which queue? One at a time.', 'skep queues get <name>')
  return reaching(call, { create: false }, async ({ backend }) => {
    const [queue, { workers: all }] = await Promise.all([
      callOrNull(backend, 'queues.get', { queue: name }),
      backend.call('workers.list', {}),
    ])
    const now = Date.now()
    const workers = all.filter(
      ({ life, seenAt, queues }) =>
        isLiveWorker({ life, seenAt: Date.parse(seenAt) }, now) && queues.includes(name),
    )
    const isKnown =
      queue !== null &&
      (JOB_STATES.some((state) => queue.counts[state] > 0) || queue.limits.length + workers.length > 0)
    if (!isKnown) throw notFound(`There is no queue ${quote(name)} in this space.`, 'See: skep queues')
    const { limits, explanation, counts } = queue
    if (out.json) {
      out.object({ space: backend.space, ...queueView(queue), limits, workers, explanation })
      return EXIT.ok
    }
    const states = JOB_STATES.filter((state) => counts[state] > 0)
    const busy = workers.reduce((sum, { running }) => sum + running, 0)
    const slots = workers.reduce((sum, { concurrency }) => sum + concurrency, 0)
    const parts: readonly (readonly [string, string | null])[] = [
      ['queue', clean(queue.queue)],
      [
        'jobs',
        states
          .map((state) => out.paint(STATE_STYLES[state], `${count(counts[state])} ${state}`))
          .join(', ') || 'none',
      ],
      ['oldest', queue.oldestMs === null ? null : `has waited ${span(queue.oldestMs)}`],
      ['held', lines(queue.holds.map((hold) => out.paint('yellow', holdText(hold, now))))],
      ['waits', lines(explanation.causes.map(({ text }) => clean(text)))],
      ['limits', lines(limits.map((limit) => `${clean(targetText(limit))}: ${limitsText(limit.limits)}`))],
      [
        'workers',
        workers.length === 0
          ? queue.unhandled > 0
            ? out.paint('red', `none: ${many(queue.unhandled, 'job')} unhandled until one starts`)
            : out.paint('yellow', 'none')
          : `${many(workers.length, 'worker')}, running ${busy} of ${slots}`,
      ],
    ]
    out.data(
      parts
        .filter(([, text]) => text !== null)
        .map(([title, text]) => `${out.paint('dim', title.padEnd(8))} ${text}`)
        .join('\n'),
    )
    return EXIT.ok
  })
}

/** Indents all lines but the first; null if there is none. */
function lines(texts: readonly string[]): string | null {
  return texts.length === 0 ? null : texts.join(`\n${' '.repeat(9)}`)
}

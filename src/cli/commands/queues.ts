import { JOB_STATES } from '../../index.ts'
import { DROP_FLAGS, dropQueue } from '../change/drop.ts'
import { changeHolds, drainQueue, HOLD_FLAGS, holdText } from '../change/holds.ts'
import { LIMIT_FLAGS, limitsCommand } from '../change/limits.ts'
import { PURGE_FLAGS, purgeQueue } from '../change/purge.ts'
import type { Call, Command } from '../command.ts'
import { reaching } from '../connect/connect.ts'
import { EXIT, usage } from '../exit.ts'
import { count, span } from '../format/numbers.ts'
import { queueView, showQueue } from '../format/queue-page.ts'
import { STATE_STYLES } from '../format/states.ts'
import { type Cell, table } from '../format/table.ts'
import { quote } from '../format/text.ts'
import { suggest } from '../suggest.ts'

const ACTIONS = {
  list: 'List queues with their jobs by state and their holds',
  get: 'Show one queue: its jobs, why they wait, its workers',
  pause: 'Start no more jobs of queues; running jobs continue',
  resume: 'Remove a pause',
  block: 'Like a pause, for admins: jobs start when neither remains',
  unblock: 'Remove a block',
  drain: 'Pause a queue and wait until none of its jobs is running',
  limits: 'Show limits, or change them at run time',
  purge: 'Remove jobs of a queue that are not running',
  drop: 'Remove an unused queue and everything stored under its name',
} as const

export const queuesCommand: Command = {
  name: 'queues',
  summary: 'Count, pause, block, drain, limit, purge and drop queues',
  usage: [
    'queues [list] [name…]',
    'queues get <name>',
    'queues pause|resume|block|unblock <name|pattern…> | --all | --everywhere',
    'queues drain <name>',
    'queues limits [name] [limits]',
    'queues purge <name> [filters] [--dry-run]',
    'queues drop <name> [--force] [--dry-run]',
  ],
  actions: ACTIONS,
  takesNames: true,
  flags: {
    ...HOLD_FLAGS,
    timeout: {
      kind: 'text',
      value: '5m',
      help: 'For drain: maximum time to wait. Default: no limit',
    },
    ...LIMIT_FLAGS,
    ...PURGE_FLAGS,
    ...DROP_FLAGS,
    'dry-run': { kind: 'switch', help: 'Dry run: print changes without applying them' },
  },
  examples: [
    'skep queues',
    "skep queues pause 'mail.*' --reason 'SMTP is down' --for 1h",
    'skep queues pause mail.send --wait',
    'skep queues resume mail.send',
    'skep queues drain report.build --timeout 5m',
    'skep queues limits mail.send --concurrency 20 --rate 100/1s',
    'skep queues limits mail.send --lane acme --weight 3',
    'skep queues purge mail.send --state dead,failed --older 30d --dry-run',
    'skep queues drop mail.old',
  ],

  async run(call) {
    const [word, ...names] = call.args.words
    switch (word) {
      case 'pause':
      case 'resume':
      case 'block':
      case 'unblock':
        assertFlags(call, word, [...Object.keys(HOLD_FLAGS), 'dry-run'])
        return changeHolds(call, word, names)
      case 'drain':
        assertFlags(call, word, [...Object.keys(HOLD_FLAGS), 'timeout', 'dry-run'])
        return drainQueue(call, names)
      case 'limits':
        assertFlags(call, word, [...Object.keys(LIMIT_FLAGS), 'lane', 'default-lane', 'dry-run'])
        return limitsCommand(call, names)
      case 'purge':
        assertFlags(call, word, Object.keys(PURGE_FLAGS))
        return purgeQueue(call, names)
      case 'drop':
        assertFlags(call, word, Object.keys(DROP_FLAGS))
        return dropQueue(call, names)
      case 'get':
        assertFlags(call, word, [])
        return showQueue(call, names)
      case 'list':
        return listQueues(call, names)
      default:
        assertNoAction(word)
        return listQueues(call, call.args.words)
    }
  },
}

function assertFlags({ args }: Call, action: string, taken: readonly string[]): void {
  const wrong = Object.keys(queuesCommand.flags).find((name) => args.typed(name) && !taken.includes(name))
  if (wrong !== undefined) throw usage(`--${wrong} does not go with skep queues ${action}.`)
}

/** A misspelt action such as `skep queues puase mail` must fail. */
function assertNoAction(word: string | undefined): void {
  const near = word === undefined ? undefined : suggest(word, Object.keys(ACTIONS))
  if (near === undefined) return
  throw usage(
    `Did you mean "skep queues ${near}"?`,
    `For a queue with the name ${quote(word as string)}: skep queues list ${word}`,
  )
}

function unhandledStyle({ unhandled }: { readonly unhandled: number }): 'red' | 'dim' {
  return unhandled > 0 ? 'red' : 'dim'
}

async function listQueues(call: Call, words: readonly string[]): Promise<number> {
  const { out } = call
  assertFlags(call, 'list', [])
  return reaching(call, { create: false }, async ({ backend }) => {
    const [{ queues: listed }, { holds }] = await Promise.all([
      backend.call('queues.list', words.length === 0 ? {} : { queues: words }),
      backend.call('holds.list', {}),
    ])
    const queues = [...listed].sort((a, b) => a.queue.localeCompare(b.queue))
    if (out.json) {
      out.object({ space: backend.space, queues: queues.map(queueView), holds })
      return EXIT.ok
    }
    if (queues.length === 0) {
      out.note('There are no queues yet. Enqueue a job: skep enqueue hello -d \'{"name":"you"}\'')
    } else {
      const states = JOB_STATES
      const isUnhandled = queues.some(({ unhandled }) => unhandled > 0)
      const isHeld = queues.some(({ hold }) => hold !== null)
      const number = (value: number, state: (typeof states)[number]): Cell =>
        value === 0 ? { text: '0', style: 'dim' } : { text: count(value), style: STATE_STYLES[state] }
      const lines = table(
        [
          { title: 'QUEUE', flexible: true },
          ...(isHeld ? [{ title: 'HELD' }] : []),
          ...states.map((state) => ({ title: state.toUpperCase(), align: 'right' }) as const),
          ...(isUnhandled ? [{ title: 'UNHANDLED', align: 'right' } as const] : []),
          { title: 'OLDEST', align: 'right' },
        ],
        queues.map((queue) => [
          queue.queue,
          ...(isHeld ? [{ text: queue.hold ?? '', style: 'yellow' } as const] : []),
          ...states.map((state) => number(queue.counts[state], state)),
          ...(isUnhandled ? [{ text: count(queue.unhandled), style: unhandledStyle(queue) } as const] : []),
          queue.oldestMs === null ? '–' : span(queue.oldestMs),
        ]),
        { width: out.width, paint: out.paint },
      )
      out.data(lines.join('\n'))
    }
    for (const hold of holds) out.note(out.paintNote('yellow', holdText(hold, Date.now())))
    return EXIT.ok
  })
}

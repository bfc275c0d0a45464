import type { WorkerSummary } from '../../operations/schema/outputs.ts'
import { BY_FLAG } from '../change/actor.ts'
import type { Call, Command } from '../command.ts'
import { type Backend, callOrNull } from '../connect/backend.ts'
import { reaching } from '../connect/connect.ts'
import { EXIT, notFound, usage } from '../exit.ts'
import { fromNow } from '../format/numbers.ts'
import { type Cell, table } from '../format/table.ts'
import { clean, quote } from '../format/text.ts'
import type { Output, Paint } from '../output.ts'

const SENT = {
  pause: 'is pausing: it claims no more jobs',
  resume: 'is resuming',
  stop: 'is stopping: it drains first',
} as const
type Action = keyof typeof SENT

export const workersCommand: Command = {
  name: 'workers',
  summary: 'Workers on all machines: list, get, pause, resume, stop',
  usage: ['workers [list]', 'workers get <id>', 'workers pause|resume|stop <id…> | --host <name> | --all'],
  actions: {
    list: 'List the workers of this space',
    get: 'Show one worker',
    pause: 'Claim no more jobs; running jobs continue',
    resume: 'End a pause',
    stop: 'Stop workers as a signal would: they drain first',
  },
  flags: {
    host: { kind: 'text', value: 'name', help: 'All workers on this host' },
    all: { kind: 'switch', help: 'All workers' },
    'dry-run': { kind: 'switch', help: 'Print the workers without changing them' },
    by: BY_FLAG,
  },
  examples: ['skep workers', 'skep workers pause 4f0c…', 'skep workers stop --host web-1'],

  async run(call) {
    const [action = 'list', ...ids] = call.args.words
    if (action === 'list') {
      if (ids.length > 0) throw usage('skep workers list takes no ids.', 'skep workers get <id>')
      return list(call)
    }
    if (action === 'get') return get(call, ids)
    return commandWorkers(call, action as Action, ids)
  },
}

function list(call: Call): Promise<number> {
  const { out } = call
  return reaching(call, { create: false }, async ({ backend }) => {
    const { workers } = await backend.call('workers.list', {})
    if (out.json) out.object({ workers })
    else if (workers.length === 0) out.note('There are no workers. Start one: skep worker')
    else out.data(workerTable(workers, out))
    return EXIT.ok
  })
}

function workerTable(workers: readonly WorkerSummary[], out: Output): string {
  const now = Date.now()
  const lines = table(
    [
      { title: 'ID' },
      { title: 'HOST' },
      { title: 'STATUS' },
      { title: 'BUSY', align: 'right' },
      { title: 'LAG', align: 'right' },
      { title: 'MEMORY', align: 'right' },
      { title: 'VERSION' },
      { title: 'STARTED' },
      { title: 'QUEUES', flexible: true },
    ],
    workers.map((worker) => [
      clean(worker.id),
      `${clean(worker.host)}:${worker.pid}`,
      statusOf(worker),
      `${worker.running}/${worker.concurrency}`,
      worker.lagMs === null ? '·' : `${Math.round(worker.lagMs)}ms`,
      memory(worker.memoryBytes),
      clean(worker.version ?? '·'),
      fromNow(worker.startedAt, now),
      worker.queues.map(clean).join(', '),
    ]),
    { width: out.width, paint: out.paint },
  )
  return lines.join('\n')
}

function statusOf({ life, command, paused }: WorkerSummary): Exclude<Cell, string> {
  if (life === 'gone') return { text: 'gone', style: 'red' }
  if (command === 'stop') return { text: 'stopping', style: 'yellow' }
  if (paused || command === 'pause') return { text: 'paused', style: 'yellow' }
  return life === 'unsure' ? { text: 'unsure', style: 'yellow' } : { text: 'running', style: 'green' }
}

function memory(bytes: number | null): string {
  return bytes === null ? '·' : `${Math.round(bytes / 1_048_576)} MB`
}

function get(call: Call, ids: readonly string[]): Promise<number> {
  const { out } = call
  const [id, extra] = ids
  if (id === undefined || extra !== undefined)
    throw usage('Which worker? One at a time.', 'skep workers get <id>')
  return reaching(call, { create: false }, async ({ backend }) => {
    const { workers } = await backend.call('workers.list', {})
    const worker = one(workers, id)
    if (out.json) out.object(worker)
    else out.data(page(worker, out.paint))
    return EXIT.ok
  })
}

function page(worker: WorkerSummary, paint: Paint): string {
  const now = Date.now()
  const { text, style } = statusOf(worker)
  const parts: readonly (readonly [string, string | null])[] = [
    ['id', clean(worker.id)],
    ['host', clean(worker.host)],
    ['pid', String(worker.pid)],
    ['status', paint(style, text)],
    ['busy', `${worker.running} of ${worker.concurrency}`],
    ['started', fromNow(worker.startedAt, now)],
    ['seen', fromNow(worker.seenAt, now)],
    ['version', worker.version === null ? null : clean(worker.version)],
    ['node', worker.node === null ? null : clean(worker.node)],
    ['memory', worker.memoryBytes === null ? null : memory(worker.memoryBytes)],
    ['lag', worker.lagMs === null ? null : `${Math.round(worker.lagMs)}ms`],
    ['queues', worker.queues.map(clean).join(', ')],
  ]
  return parts
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${paint('dim', name.padEnd(8))} ${value}`)
    .join('\n')
}

async function commandWorkers(call: Call, action: Action, ids: readonly string[]): Promise<number> {
  const { args, out } = call
  return reaching(call, { create: false }, async ({ backend }) => {
    const meant = await choose(call, backend, action, ids)
    if (args.on('dry-run')) {
      if (out.json) out.object({ action, dryRun: true, workers: meant.map(({ id }) => id) })
      else out.data(`Would ${action}: ${meant.map(({ id }) => clean(id)).join(', ') || 'none'}`)
      return EXIT.ok
    }
    const workers: WorkerSummary[] = []
    for (const { id } of meant) {
      const worker = await callOrNull(backend, 'workers.command', { id, command: action })
      if (worker !== null) workers.push(worker)
    }
    if (out.json) out.object({ action, dryRun: false, workers })
    else for (const { id } of workers) out.data(`${clean(id)} ${SENT[action]}.`)
    return EXIT.ok
  })
}

async function choose(
  { args }: Call,
  backend: Backend,
  action: string,
  ids: readonly string[],
): Promise<readonly WorkerSummary[]> {
  const host = args.text('host')
  const ways = [ids.length > 0, args.typed('host'), args.typed('all')].filter(Boolean).length
  if (ways !== 1) throw usage('Which workers?', `skep workers ${action} <id…>, --host <name> or --all`)
  const here = (await backend.call('workers.list', {})).workers.filter(({ life }) => life !== 'gone')
  if (ids.length > 0) return ids.map((id) => one(here, id))
  const meant = host === undefined || args.typed('all') ? here : here.filter((worker) => worker.host === host)
  if (meant.length > 0) return meant
  throw notFound(
    host === undefined ? 'There is no worker.' : `There is no worker on ${quote(host)}.`,
    'See: skep workers',
  )
}

/** By its id or a unique prefix of it. */
function one(workers: readonly WorkerSummary[], id: string): WorkerSummary {
  const exact = workers.find((worker) => worker.id === id)
  if (exact !== undefined) return exact
  const [near, other] = workers.filter((worker) => worker.id.startsWith(id))
  if (near !== undefined && other === undefined) return near
  if (other !== undefined)
    throw usage(`More than one worker starts with ${quote(id)}.`, 'Give more of the id.')
  throw notFound(`There is no worker ${quote(id)}.`, 'See: skep workers')
}

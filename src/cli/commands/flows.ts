import { LIMITS } from '../../index.ts'
import type { WireFlow, WireRun } from '../../operations/schema/outputs.ts'
import { given } from '../arguments.ts'
import { changeRuns, signalRun } from '../change/flows.ts'
import type { Call, Command } from '../command.ts'
import { type Backend, callOrNull } from '../connect/backend.ts'
import { reaching } from '../connect/connect.ts'
import { EXIT, notFound, usage } from '../exit.ts'
import { type GraphRun, graph, LEGEND } from '../format/flow-graph.ts'
import { flowTable, percent, readStatus, runPage, runTable } from '../format/flow-text.ts'
import { STATE_STYLES } from '../format/states.ts'
import { clean, quote } from '../format/text.ts'
import { wantsUnicode } from '../output.ts'
import { suggest } from '../suggest.ts'

export const flowsCommand: Command = {
  name: 'flows',
  summary: 'Runs of flows: list, draw, signal, cancel, retry',
  usage: [
    'flows [list] [--flow <name>] [--status <status>] [--attribute <name=value>]',
    'flows get <run…>',
    'flows graph <run|flow>',
    'flows signal <run> <name> [-d <json>]',
    'flows cancel <run…> [--reason <text>]',
    'flows retry <run…> [--from <step>]',
  ],
  actions: {
    list: 'Count the runs of each flow, and list a page of them',
    get: 'Show the position of runs and what they wait for',
    graph: 'Draw a run or a flow (a version of it: order@2)',
    cancel: 'Cancel runs with their branches and jobs',
    retry: 'Retry ended runs from their current step',
    signal: 'Send a signal to a run',
  },
  flags: {
    flow: { kind: 'text', value: 'name', help: 'Only runs of this flow' },
    status: { kind: 'text', value: 'status', help: 'Only runs that are running, done, failed or cancelled' },
    attribute: { kind: 'text', value: 'name=value', help: 'Only runs that were started with this attribute' },
    limit: { kind: 'text', value: 'n', help: 'At most this many' },
    cursor: { kind: 'text', value: 'text', help: 'The cursor of the previous page' },
    reason: { kind: 'text', value: 'text', help: 'The reason for cancelling' },
    from: { kind: 'text', value: 'step', help: 'For retry: start at this step' },
    data: { kind: 'text', short: 'd', value: 'json', help: 'For signal: its value. Default: null' },
    ascii: { kind: 'switch', help: 'ASCII output' },
    'dry-run': { kind: 'switch', help: 'Dry run: print changes without applying them' },
  },
  examples: [
    'skep flows list --flow order --status failed',
    'skep flows list --attribute orderId=62',
    'skep flows graph order',
    'skep flows graph 01890a5d-ac96-774b-bcce-b302099a8057',
    `skep flows signal 01890a5d-ac96-774b-bcce-b302099a8057 approval -d '{"by":"Ada"}'`,
    'skep flows retry 01890a5d-ac96-774b-bcce-b302099a8057 --from ship',
  ],

  async run(call) {
    const [action = 'list', ...words] = call.args.words
    assertFlags(call, action)
    switch (action) {
      case 'get':
        return getRuns(call, words)
      case 'graph':
        return drawGraph(call, words)
      case 'cancel':
      case 'retry':
        return changeRuns(call, action, words)
      case 'signal':
        return signalRun(call, words)
      default:
        if (words.length > 0)
          throw usage('skep flows list takes filters, not ids.', 'Use: skep flows get <run…>')
        return list(call)
    }
  },
}

/** Which actions take a flag. */
const TAKEN: Readonly<Record<string, readonly string[]>> = {
  flow: ['list'],
  status: ['list'],
  attribute: ['list'],
  limit: ['list'],
  cursor: ['list'],
  reason: ['cancel'],
  from: ['retry'],
  data: ['signal'],
  ascii: ['graph'],
  'dry-run': ['cancel', 'retry', 'signal'],
}

function assertFlags({ args }: Call, action: string): void {
  const wrong = Object.keys(TAKEN).find((name) => args.typed(name) && !TAKEN[name]?.includes(action))
  if (wrong === undefined) return
  const whose = TAKEN[wrong]?.map((name) => `skep flows ${name}`).join(', ')
  throw usage(`--${wrong} does not go with skep flows ${action}; it belongs to ${whose}.`)
}

async function list(call: Call): Promise<number> {
  const { args, out } = call
  const flow = args.text('flow')
  const status = readStatus(args.text('status'))
  const attribute = args.text('attribute')
  if (attribute !== undefined && attribute.indexOf('=') < 1)
    throw usage(`--attribute is ${quote(attribute)}; use name=value.`)
  const limit = args.whole('limit', { min: 1, max: LIMITS.pageJobs })
  const cursor = args.text('cursor')
  return reaching(call, { create: false }, async ({ backend }) => {
    const [{ flows: all, isAll }, page] = await Promise.all([
      backend.call('flows.list', {}),
      backend.call('runs.list', given({ flow, status, attribute, limit, cursor })),
    ])
    const flows = all.filter(({ name }) => flow === undefined || name === flow)
    if (out.json) {
      const counted = flows.map(({ name, version, runs }) => ({ name, version, runs }))
      out.object({ flows: counted, isAll, ...page })
      return EXIT.ok
    }
    if (out.quiet) {
      if (page.runs.length > 0) out.data(page.runs.map(({ id }) => id).join('\n'))
      return EXIT.ok
    }
    if (flows.length === 0)
      out.note(flow === undefined ? 'There are no flows.' : `There is no flow ${quote(flow)}.`)
    else if (attribute === undefined && cursor === undefined) out.data(`${flowTable(flows, out)}\n`)
    if (!isAll) out.note(out.paintNote('dim', 'There are more runs: only the newest were counted.'))
    if (page.runs.length > 0) out.data(runTable(page.runs, out, Date.now()))
    else if (flows.length > 0) out.note('No such runs.')
    if (page.cursor !== null)
      out.note(out.paintNote('dim', `There are more. The next page: --cursor ${page.cursor}`))
    return EXIT.ok
  })
}

async function getRuns(call: Call, ids: readonly string[]): Promise<number> {
  const { out } = call
  if (ids.length === 0) throw usage('Which run?', 'skep flows get <run…>')
  return reaching(call, { create: false }, async ({ backend }) => {
    const runs: object[] = []
    const missing: string[] = []
    const pages: string[] = []
    for (const id of ids) {
      const found = await callOrNull(backend, 'runs.get', { id })
      if (found === null) {
        missing.push(id)
        continue
      }
      const { run, members, explanation } = found
      runs.push({ ...run, members, causes: explanation.causes })
      pages.push(runPage(run, members, explanation, out.paint, Date.now()))
    }
    if (out.json) out.object({ runs, missing })
    else {
      if (pages.length > 0) out.data(pages.join('\n\n'))
      for (const id of missing)
        out.complain(`${out.paintNote('red', 'not found')} ${clean(id)}: there is no such run in this space`)
    }
    return missing.length > 0 ? EXIT.notFound : EXIT.ok
  })
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

async function drawGraph(call: Call, [word, ...rest]: readonly string[]): Promise<number> {
  if (word === undefined) throw usage('Which run, or which flow?', 'skep flows graph <run|flow>')
  if (rest[0] !== undefined) throw usage(`${quote(rest[0])} is an unexpected argument.`)
  return reaching(call, { create: false }, ({ backend }) =>
    UUID.test(word) ? drawRun(call, backend, word) : drawFlow(call, backend, word),
  )
}

async function drawRun(call: Call, backend: Backend, id: string): Promise<number> {
  const found = await callOrNull(backend, 'runs.get', { id, members: LIMITS.pageJobs })
  if (found === null) throw notFound(`There is no run ${quote(id)} in this space.`)
  const { run: view, members } = found
  const root = view.branchOf?.root ?? id
  const [branches, { flows }] = await Promise.all([allOf(backend, root), backend.call('flows.list', {})])
  // A branch is a part of the outline of its flow, so the whole flow is drawn.
  const whole =
    view.branchOf === null
      ? found
      : ((await callOrNull(backend, 'runs.get', { id: root, members: LIMITS.pageJobs })) ?? found)
  const top = whole.run
  const flow = flows.find(({ name, version }) => name === top.flow && version === top.version)
  const { out } = call
  if (out.json) {
    out.object({ run: top, branches, members, outline: flow?.outline ?? null })
    return EXIT.ok
  }
  const status = out.paint(STATE_STYLES[top.status], top.status)
  out.data(
    `${out.paint('bold', clean(top.flow))} v${top.version}  ${top.id}  ${status}  ${percent(top.progress)}\n`,
  )
  if (!flow?.outline) throw unknownLook(`${top.flow} version ${top.version}`)
  draw(call, flow, { view: top, members: whole.members, branches })
  return EXIT.ok
}

async function drawFlow(call: Call, backend: Backend, word: string): Promise<number> {
  const [name = '', version] = word.split('@')
  const { flows } = await backend.call('flows.list', {})
  const named = flows.filter((flow) => flow.name === name)
  const flow = version === undefined ? named.at(-1) : named.find((one) => String(one.version) === version)
  if (flow === undefined) {
    const known = flows.map((one) => (one.name === name ? `${one.name}@${one.version}` : one.name))
    const near = suggest(word, known)
    throw notFound(
      `There is no flow ${quote(word)}.${near === undefined ? '' : ` Did you mean "${near}"?`}`,
      known.length === 0
        ? 'A flow is known once a worker with it or a run of it has started.'
        : `There are: ${[...new Set(known)].join(', ')}`,
    )
  }
  if (flow.outline === null) throw unknownLook(`${flow.name} version ${flow.version}`)
  if (call.out.json) call.out.object(flow)
  else {
    call.out.data(`${call.out.paint('bold', clean(flow.name))} v${flow.version}\n`)
    draw(call, flow, null)
  }
  return EXIT.ok
}

function unknownLook(what: string): Error {
  return notFound(`The outline of ${what} is not known.`, 'Start a worker with this flow and version.')
}

function draw({ args, out, env }: Call, { outline }: WireFlow, run: GraphRun | null): void {
  const unicode = !args.on('ascii') && wantsUnicode(env)
  // A pipe has no width: use COLUMNS, or the width of most terminals.
  const width = Number.isFinite(out.width) ? out.width : Number(env['COLUMNS']) || 100
  out.data(graph(outline?.steps ?? [], run, { width, unicode, paint: out.paint, now: Date.now() }))
  if (run !== null && unicode && process.stdout.isTTY) out.note(out.paintNote('dim', `\n${LEGEND}`))
}

/** The branches of a run, and their branches, newest first. */
async function allOf(backend: Backend, root: string): Promise<readonly WireRun[]> {
  const { runs } = await backend.call('runs.list', { root, limit: LIMITS.pageJobs })
  return runs.filter(({ branchOf }) => branchOf !== null)
}

import { type FlowView, LIMITS, type RunView } from '../../index.ts'
import { changeRuns, signalRun } from '../change/flows.ts'
import type { Call, Command } from '../command.ts'
import type { Counterpart } from '../connect/backend.ts'
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
    list: 'How many runs each flow has, and a page of them',
    get: 'Where runs stand, what they wait for, and why',
    graph: 'Draw a run, or a flow without one (a version of it: order@2)',
    cancel: 'End runs with their branches and jobs',
    retry: 'Let ended runs go on at the step where they stand',
    signal: 'Tell a run what it waits for, or will wait for',
  },
  flags: {
    flow: { kind: 'text', value: 'name', help: 'Only runs of this flow' },
    status: { kind: 'text', value: 'status', help: 'Only runs that are running, done, failed or cancelled' },
    attribute: { kind: 'text', value: 'name=value', help: 'Only runs that were started with this attribute' },
    limit: { kind: 'text', value: 'n', help: 'At most this many' },
    cursor: { kind: 'text', value: 'text', help: 'The page after the one that ended with this' },
    reason: { kind: 'text', value: 'text', help: 'Why they are cancelled' },
    from: { kind: 'text', value: 'step', help: 'For retry: go on at this step' },
    data: { kind: 'text', short: 'd', value: 'json', help: 'For signal: what to tell. Default: null' },
    ascii: { kind: 'switch', help: 'Draw with letters that every terminal has' },
    'dry-run': { kind: 'switch', help: 'Only say what it would do' },
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
  const attributes = attributeOf(args.text('attribute'))
  const limit = args.whole('limit', { min: 1, max: LIMITS.pageJobs })
  const cursor = args.text('cursor')
  return reaching(call, { create: false }, async ({ skep }) => {
    const [{ flows, isAll }, page] = await Promise.all([
      skep.runs.flows(flow === undefined ? {} : { name: flow }),
      skep.runs.list({
        ...(flow === undefined ? {} : { flow }),
        ...(status === undefined ? {} : { status }),
        ...(attributes === undefined ? {} : { attributes }),
        ...(limit === undefined ? {} : { limit }),
        ...(cursor === undefined ? {} : { cursor }),
      }),
    ])
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
    else if (attributes === undefined && cursor === undefined) out.data(`${flowTable(flows, out)}\n`)
    if (!isAll) out.note(out.paintNote('dim', 'There are more runs: only the newest were counted.'))
    if (page.runs.length > 0) out.data(runTable(page.runs, out, Date.now()))
    else if (flows.length > 0) out.note('No such runs.')
    if (page.cursor !== null)
      out.note(out.paintNote('dim', `There are more. The next page: --cursor ${page.cursor}`))
    return EXIT.ok
  })
}

function attributeOf(text: string | undefined): Readonly<Record<string, string>> | undefined {
  if (text === undefined) return undefined
  const at = text.indexOf('=')
  if (at < 1) throw usage(`--attribute is ${quote(text)}; use name=value.`)
  return { [text.slice(0, at)]: text.slice(at + 1) }
}

async function getRuns(call: Call, ids: readonly string[]): Promise<number> {
  const { out } = call
  if (ids.length === 0) throw usage('Which run?', 'skep flows get <run…>')
  return reaching(call, { create: false }, async ({ skep }) => {
    const runs: object[] = []
    const missing: string[] = []
    const pages: string[] = []
    for (const id of ids) {
      const run = await skep.runs.get(id)
      if (run === null) {
        missing.push(id)
        continue
      }
      const handle = skep.runs.run(id)
      const [members, why] = await Promise.all([handle.members(), handle.explain()])
      runs.push({ ...run, members, causes: why.causes })
      pages.push(runPage(run, members, why, out.paint, Date.now()))
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
  if (rest[0] !== undefined) throw usage(`${quote(rest[0])} is one word too many.`)
  return reaching(call, { create: false }, ({ skep }) =>
    UUID.test(word) ? drawRun(call, skep, word) : drawFlow(call, skep, word),
  )
}

async function drawRun(call: Call, skep: Counterpart, id: string): Promise<number> {
  const view = await skep.runs.get(id)
  if (view === null) throw notFound(`There is no run ${quote(id)} in this space.`)
  const root = view.branchOf?.root ?? id
  const [members, branches, { flows }] = await Promise.all([
    skep.runs.run(id).members({ limit: LIMITS.pageJobs }),
    allOf(skep, root),
    skep.runs.flows(),
  ])
  // A branch is a part of its flow's outline, so the whole flow is drawn.
  const top = view.branchOf === null ? view : ((await skep.runs.get(root)) ?? view)
  const flow = flows.find(({ name, version }) => name === top.flow && version === top.version)
  const { out } = call
  if (out.json) {
    out.object({ run: top, branches, members, outline: flow?.outline ?? null })
    return EXIT.ok
  }
  const whose = top === view ? members : await skep.runs.run(top.id).members({ limit: LIMITS.pageJobs })
  const status = out.paint(STATE_STYLES[top.status], top.status)
  out.data(
    `${out.paint('bold', clean(top.flow))} v${top.version}  ${top.id}  ${status}  ${percent(top.progress)}\n`,
  )
  if (!flow?.outline) throw unknownLook(`${top.flow} version ${top.version}`)
  draw(call, flow, { view: top, members: whose, branches })
  return EXIT.ok
}

async function drawFlow(call: Call, skep: Counterpart, word: string): Promise<number> {
  const [name = '', version] = word.split('@')
  const { flows } = await skep.runs.flows()
  const named = flows.filter((flow) => flow.name === name)
  const flow = version === undefined ? named.at(-1) : named.find((one) => String(one.version) === version)
  if (flow === undefined) {
    const known = flows.map((one) => (one.name === name ? `${one.name}@${one.version}` : one.name))
    const near = suggest(word, known)
    throw notFound(
      `There is no flow ${quote(word)}.${near === undefined ? '' : ` Did you mean "${near}"?`}`,
      known.length === 0
        ? 'A flow is known when a worker has started with it, or somebody has started a run.'
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
  return notFound(`Nobody has told how ${what} looks.`, 'Start a worker with this flow and version.')
}

function draw({ args, out, env }: Call, { outline }: FlowView, run: GraphRun | null): void {
  const unicode = !args.on('ascii') && wantsUnicode(env)
  // What reads a pipe says how wide it is, or gets what most terminals have.
  const width = Number.isFinite(out.width) ? out.width : Number(env['COLUMNS']) || 100
  out.data(graph(outline?.steps ?? [], run, { width, unicode, paint: out.paint, now: Date.now() }))
  if (run !== null && unicode && process.stdout.isTTY) out.note(out.paintNote('dim', `\n${LEGEND}`))
}

/** The branches of a run and theirs, newest first. */
async function allOf(skep: Counterpart, root: string): Promise<readonly RunView[]> {
  const { runs } = await skep.runs.list({ root, limit: LIMITS.pageJobs })
  return runs.filter(({ branchOf }) => branchOf !== null)
}

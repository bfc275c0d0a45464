import type { ReceiverSummary } from '../../operations/schema/outputs.ts'
import { confirm } from '../change/confirm.ts'
import type { Call, Command } from '../command.ts'
import type { Backend } from '../connect/backend.ts'
import { reaching } from '../connect/connect.ts'
import { EXIT, notFound, usage } from '../exit.ts'
import { count, fromNow } from '../format/numbers.ts'
import { table } from '../format/table.ts'
import { clean, quote } from '../format/text.ts'
import type { Output } from '../output.ts'

/** Receivers are not stored: only their server knows them. The default is the server of this machine. */
const NEAREST = 'http://127.0.0.1:7537'

export const receiversCommand: Command = {
  name: 'receivers',
  summary: 'Receivers of jobs in any language: list, close',
  usage: ['receivers [list] --url <address>', 'receivers close <id…> --url <address>'],
  actions: {
    list: 'List connected receivers with their unacknowledged jobs',
    close: 'Close a stream and return its unacknowledged jobs',
  },
  flags: { 'dry-run': { kind: 'switch', help: 'For close: print the receivers without closing them' } },
  examples: [
    'skep receivers',
    'skep receivers --url https://jobs.example.com --token-file token.txt',
    'skep receivers close 4f0c… --yes',
  ],

  async run(call) {
    const [action = 'list', ...ids] = call.args.words
    if (action === 'close' && ids.length === 0) throw usage('Which receiver?', 'skep receivers close <id…>')
    if (action === 'list' && ids.length > 0) throw usage('skep receivers list takes no ids.')
    if (action === 'list' && call.args.typed('dry-run')) throw usage('--dry-run is for skep receivers close.')
    return reaching(call, { create: false, url: NEAREST }, ({ backend }) =>
      action === 'close' ? close(call, backend, ids) : list(call, backend),
    )
  },
}

async function list({ out }: Call, backend: Backend): Promise<number> {
  const { receivers } = await backend.call('receivers.list', {})
  if (out.json) out.object({ receivers })
  else if (receivers.length === 0)
    out.note('No receivers are connected to this server. See docs/receivers.md')
  else if (out.quiet) out.data(receivers.map(({ id }) => id).join('\n'))
  else out.data(receiverTable(receivers, out))
  return EXIT.ok
}

function receiverTable(receivers: readonly ReceiverSummary[], out: Output): string {
  const now = Date.now()
  const lines = table(
    [
      { title: 'ID' },
      { title: 'NAME', flexible: true },
      { title: 'FROM' },
      { title: 'BY' },
      { title: 'HOLDS', align: 'right' },
      { title: 'ACKED', align: 'right' },
      { title: 'FAILED', align: 'right' },
      { title: 'SINCE' },
      { title: 'LAST ACK' },
      { title: 'QUEUES', flexible: true },
    ],
    receivers.map((one) => [
      clean(one.id),
      clean(one.name),
      clean(one.address),
      one.protocol,
      `${count(one.unacked)}/${count(one.credits)}`,
      count(one.acked),
      one.nacked === 0 ? { text: '0', style: 'dim' } : { text: count(one.nacked), style: 'red' },
      fromNow(one.connectedAt, now),
      one.lastAckAt === null ? '–' : fromNow(one.lastAckAt, now),
      one.queues.map(clean).join(', ') + (one.keys === null ? '' : ` (keys ${clean(one.keys)})`),
    ]),
    { width: out.width, paint: out.paint },
  )
  return lines.join('\n')
}

async function close(call: Call, backend: Backend, ids: readonly string[]): Promise<number> {
  const { args, out } = call
  const { receivers } = await backend.call('receivers.list', {})
  const meant = [...new Set(ids)].map((id) => one(receivers, id))
  const names = meant.map(({ id, name }) => clean(name === '' ? id : name)).join(', ')
  if (args.on('dry-run')) {
    if (out.json) out.object({ action: 'close', dryRun: true, receivers: meant.map(({ id }) => id) })
    else out.data(`Would close: ${names}`)
    return EXIT.ok
  }
  await confirm(call, `Close ${names}?`)
  for (const { id } of meant) await backend.call('receivers.close', { id })
  if (out.json) out.object({ action: 'close', dryRun: false, receivers: meant.map(({ id }) => id) })
  else out.data(`Closed ${names}. Unacknowledged jobs are available again.`)
  return EXIT.ok
}

/** By its id or a unique prefix of it. */
function one(receivers: readonly ReceiverSummary[], id: string): ReceiverSummary {
  const [near, other] = receivers.filter((receiver) => receiver.id.startsWith(id))
  const exact = receivers.find((receiver) => receiver.id === id)
  if (exact !== undefined) return exact
  if (near !== undefined && other === undefined) return near
  if (near !== undefined)
    throw usage(`More than one receiver starts with ${quote(id)}.`, 'Give more of the id.')
  throw notFound(`There is no receiver ${quote(id)} at this server.`, 'See: skep receivers')
}

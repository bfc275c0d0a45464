import type { InputOf, OperationName } from 'skep/server'
import type { MeasuredServer } from './server.ts'
import { LANED, QUEUES } from './shape.ts'

/** Something that a screen asks of the server. */
export interface Call {
  readonly screen: string
  /** For the table. */
  readonly name: string
  readonly path: string
  /** Null: it is a GET. */
  readonly input: unknown
}

const QUEUE = QUEUES[0] as string
/** How many pages of 200 are turned before the page from deep inside. */
const DEEP_PAGES = 15

/** All that screens ask, with ids and cursors of this very store, and spans of time counted from when it was filled. */
export async function callsOf(server: MeasuredServer, filledAt: number): Promise<Call[]> {
  const ago = (ms: number): string => new Date(filledAt - ms).toISOString()
  const lately = `since:${ago(3_600_000)}`
  const calls: Call[] = []
  const add = <Name extends OperationName>(
    screen: string,
    operation: Name,
    input: InputOf<Name>,
    detail = '',
  ): void => {
    const name = detail === '' ? operation : `${operation} ${detail}`
    calls.push({ screen, name, path: `/api/v1/call/${operation}`, input })
  }
  const list = (query: string, more: { readonly cursor?: string } = {}, detail = `\`${query}\``): void =>
    add('jobs', 'jobs.list', { query, limit: 50, ...more }, detail)

  add('every', 'me.get', {})
  add('overview', 'overview.get', {})
  for (const range of ['15m', '1h', '24h'] as const) add('overview', 'series.get', { range }, `(${range})`)
  add('queues', 'queues.list', {})
  add('queues', 'queues.get', { queue: QUEUE })
  add('queues', 'queues.lanes', { queue: LANED })
  add('queues', 'holds.list', {})
  calls.push({ screen: 'metrics', name: 'GET /metrics', path: '/metrics', input: null })

  list('', {}, '(all)')
  for (const state of ['ready', 'delayed', 'done', 'failed', 'dead', 'cancelled'] as const) {
    list(`state:${state}`)
    list(`state:${state}`, await deepCursor(server, `state:${state}`), `\`state:${state}\`, deep`)
    list(`state:${state} queue:${QUEUE}`)
  }
  const oneQueue = `state:done queue:${QUEUE}`
  list(oneQueue, await deepCursor(server, oneQueue), `\`${oneQueue}\`, deep`)
  const { jobs: dead } = await server.call('jobs.list', { query: `state:dead queue:${QUEUE}`, limit: 1 })
  const { jobs: ready } = await server.call('jobs.list', { query: `state:ready queue:${QUEUE}`, limit: 1 })
  const [corpse, waiting] = [firstOf(dead), firstOf(ready)]
  const { jobs: laned } = await server.call('jobs.list', { query: `state:ready queue:${LANED}`, limit: 1 })
  const lane = firstOf(laned).lane as string
  list(`lane:${lane}`)
  list(`lane:${lane} queue:${LANED} state:ready`, {}, '`lane: queue: state:ready`')
  list(`lane:nobody queue:${LANED} state:done`)
  list(`state:done ${lately}`, {}, '`state:done since:1h`')
  list(`state:dead before:${ago(12 * 3_600_000)}`, {}, '`state:dead before:12h`')
  list(`state:ready since:${ago(0)}`, {}, '`state:ready since:1s`, finds nothing')
  list(lately, {}, '`since:1h`, all states')
  list('state:delayed since:2030-01-01')
  list('payload.user.id:42')
  list('state:dead error:~gateway')
  list('error:~nobody', {}, '`error:~nobody`, finds nothing')
  list('payload.user.id:nobody state:done', {}, '`payload.user.id:nobody state:done`, finds nothing')
  const { groups } = await server.call('errors.list', { limit: 1 })
  const group = firstOf(groups)
  list(`error.group:${group.id}`, {}, '`error.group:`')
  list(`id:${corpse.id}`, {}, '`id:`')

  const count = (query: string, detail = `\`${query}\``): void => add('jobs', 'jobs.count', { query }, detail)
  count('', '(all)')
  count('state:dead')
  count(`state:done ${lately}`, '`state:done since:1h`')
  count(`state:ready since:${ago(0)}`, '`state:ready since:1s`, finds nothing')
  count('payload.user.id:42')
  add('job', 'jobs.get', { id: corpse.id }, '(dead)')
  add('job', 'jobs.get', { id: waiting.id }, '(ready)')
  add('job', 'jobs.explain', { id: waiting.id })
  add('job', 'jobs.logs', { id: corpse.id })
  add('jobs', 'bulk.list', {})
  add('jobs', 'views.list', {})
  add('errors', 'errors.list', {})
  add('errors', 'errors.get', { id: group.id })
  add('schedules', 'schedules.list', {})
  add('schedules', 'schedules.get', { id: 'schedule-000' })
  add('flows', 'flows.list', {})
  add('flows', 'runs.list', {})
  add('flows', 'runs.list', { status: 'running', flow: 'two-steps' }, '(of a flow)')
  const { runs } = await server.call('runs.list', { limit: 1 })
  add('flows', 'runs.get', { id: firstOf(runs).id })
  const { jobs: members } = await server.call('jobs.list', { query: 'queue:flow-steps', limit: 200 })
  const details = await Promise.all(members.slice(0, 5).map(({ id }) => server.call('jobs.get', { id })))
  const grouped = details.find((one) => one.group !== null)
  if (grouped?.group != null) add('flows', 'groups.get', { id: grouped.group })
  add('workers', 'workers.list', {})
  add('receivers', 'receivers.list', {})
  add('access', 'tokens.list', {})
  add('access', 'audit.list', {})
  add('system', 'system.get', {})
  calls.push({ screen: 'system', name: '/metrics', path: '/metrics', input: null })
  return calls
}

/** Where a list goes on after many pages, or before its last one. */
async function deepCursor(server: MeasuredServer, query: string): Promise<{ readonly cursor?: string }> {
  let last: { readonly cursor?: string } = {}
  for (let page = 0; page < DEEP_PAGES; page++) {
    const { cursor } = await server.call('jobs.list', { query, limit: 200, ...last })
    if (cursor === null) break
    last = { cursor }
  }
  return last
}

function firstOf<One>(some: readonly One[]): One {
  const [first] = some
  if (first === undefined) throw new Error('The store is not filled.')
  return first
}

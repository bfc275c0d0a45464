import { type ChangeSummary, LIMITS, type ListOptions, type Target } from '../../index.ts'
import type { InputOf } from '../../server.ts'
import { USUAL_STATES } from '../change/selection.ts'
import { usage } from '../exit.ts'
import type { Line } from './ask.ts'

type Change = Omit<InputOf<'jobs.change'>, 'ids'>

/** So many ids go into one call. */
const AT_ONCE = 1_000

/** Filters as a query. */
export function queryOf({ query, queue, state, after, before, text }: ListOptions): string {
  if (text !== undefined) {
    // The free text of a query looks into more fields, and that would change more jobs.
    throw usage('--text does not go with --url.', `Say it in a query: --where '"${text}"'`)
  }
  const states = state === undefined ? [] : typeof state === 'string' ? [state] : state
  return [
    ...(query === undefined ? [] : [query]),
    ...(queue === undefined ? [] : [`queue:${JSON.stringify(queue)}`]),
    ...(states.length === 0 ? [] : [`state:${states.join(',')}`]),
    ...(after === undefined ? [] : [`since:${after.toISOString()}`]),
    ...(before === undefined ? [] : [`before:${before.toISOString()}`]),
  ].join(' ')
}

/** Changes jobs by their ids, or all of a queue that fit, page by page. */
export async function changeThere(line: Line, change: Change, target: Target): Promise<ChangeSummary> {
  if (typeof target === 'string') return changeIds(line, change, [target])
  if (Array.isArray(target)) return changeIds(line, change, target as readonly string[])
  const { limit = Infinity, ...filters } = target as Exclude<Target, string | readonly string[]>
  const usual = USUAL_STATES[change.action === 'retry' ? 'retry' : change.action]
  const query = queryOf({ ...filters, state: filters.state ?? usual })
  let sum: ChangeSummary = { changed: 0, requested: 0, refused: [] }
  let cursor: string | null = null
  let left = limit
  do {
    const page: { jobs: readonly { id: string }[]; cursor: string | null } = await line.client.call(
      'jobs.list',
      { query, limit: Math.min(LIMITS.pageJobs, left), ...(cursor === null ? {} : { cursor }) },
    )
    const ids = page.jobs.map(({ id }) => id)
    if (ids.length > 0) sum = added(sum, await changeIds(line, change, ids))
    left -= ids.length
    cursor = page.cursor
  } while (cursor !== null && left > 0)
  return sum
}

async function changeIds(line: Line, change: Change, ids: readonly string[]): Promise<ChangeSummary> {
  let sum: ChangeSummary = { changed: 0, requested: 0, refused: [] }
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const part = ids.slice(at, at + AT_ONCE)
    sum = added(sum, (await line.client.call('jobs.change', { ...change, ids: part })) as ChangeSummary)
  }
  return sum
}

function added(a: ChangeSummary, b: ChangeSummary): ChangeSummary {
  return {
    changed: a.changed + b.changed,
    requested: a.requested + b.requested,
    refused: [...a.refused, ...b.refused],
  }
}

import { createHash } from 'node:crypto'
import { parseQuery, SkepError } from '../../index.ts'
import { notFound, seesAll } from '../authorize/authorize-output.ts'
import { type Caller, type Context, operation } from '../operation.ts'
import { id, nothing, queryText } from '../schema/inputs.ts'
import { type SavedView, savedView } from '../schema/outputs.ts'
import { all, object, text } from '../schema/schema.ts'

const KIND = 'view'
/** The maximum number per space. */
const MOST = 200

export const viewsList = operation({
  name: 'views.list',
  method: 'GET',
  path: '/views',
  summary: 'Lists saved queries. Callers that see all queues of the space share them; others see their own.',
  scope: 'read',
  input: nothing,
  output: object({ views: all(savedView) }),
  run: async (_input, context) => ({
    views: (await saved(context)).filter((one) => isMine(context, one)),
  }),
})

export const viewsPut = operation({
  name: 'views.put',
  method: 'PUT',
  path: '/views',
  summary: 'Saves a query under a name, replacing the previous one.',
  scope: 'operate',
  input: object({ name: text({ min: 1, max: 100 }), query: queryText }),
  output: savedView,
  target: ({ name }) => `saved view "${name}"`,
  async run({ name, query }, context) {
    const { skep, caller, services } = context
    parseQuery(query)
    const one: SavedView = { id: idOf(caller, name), name, query, by: caller.name }
    const others = (await saved(context)).filter((other) => other.id !== one.id)
    if (others.length >= MOST) {
      throw new SkepError('OPTION_INVALID', `There are ${MOST} saved views already. Remove one first.`)
    }
    const record = {
      id: one.id,
      body: JSON.stringify(one),
      revision: services.runtime.uuid(),
      expiresAt: null,
    }
    await skep.records.putRecords({ scope: skep.space, kind: KIND, records: [record] })
    return one
  },
})

export const viewsRemove = operation({
  name: 'views.remove',
  method: 'DELETE',
  path: '/views/:id',
  summary: 'Removes a saved view.',
  scope: 'operate',
  input: object({ id: id('a saved view') }),
  output: nothing,
  target: (input) => `saved view ${input.id}`,
  async run(input, context) {
    const { skep } = context
    const found = (await saved(context)).find((one) => one.id === input.id)
    if (found === undefined || !isMine(context, found)) throw notFound(`saved view "${input.id}"`)
    const { removed } = await skep.records.removeRecords({ scope: skep.space, kind: KIND, ids: [input.id] })
    if (removed.length === 0) throw notFound(`saved view "${input.id}"`)
    return {}
  },
})

async function saved({ skep }: Context): Promise<readonly SavedView[]> {
  const { records } = await skep.records.listRecords({ scope: skep.space, kind: KIND, limit: MOST })
  const views = records.map(({ body }) => JSON.parse(body) as SavedView)
  return views.sort((a, b) => a.name.localeCompare(b.name))
}

/** A query may name queues that a caller does not see, so such a caller sees its own views only. */
function isMine({ caller }: Context, { by }: SavedView): boolean {
  return seesAll(caller) || by === caller.name
}

/** Views are identified by name. Callers that do not see all queues have names of their own. */
function idOf(caller: Caller, name: string): string {
  const whose = seesAll(caller) ? '' : `${caller.name}\n`
  return createHash('sha256').update(`${whose}${name}`).digest('hex').slice(0, 16)
}

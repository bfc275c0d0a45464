import { StoreError } from '../../core/errors.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { RecordStore } from '../../store/records.ts'

/** One version of a flow as it was declared: its outline as JSON, so that it can be drawn without its code. */
export interface FlowDefinition {
  readonly name: string
  readonly version: number
  readonly outline: string
}

/** Definitions are records of this kind. */
const KIND = 'flow'
const PAGE = 500
/** Other processes may store the same definitions at the same time. */
const MOST_TRIES = 20

/** No name of a flow contains `@`. The padded version keeps the versions of a flow in order. */
function idOf({ name, version }: Pick<FlowDefinition, 'name' | 'version'>): string {
  return `${name}@${String(version).padStart(10, '0')}`
}

/** Stores definitions and leaves unchanged ones alone. Returns those that were different, as they were. */
export async function putDefinitions(
  {
    store,
    runtime,
    space,
  }: { readonly store: RecordStore; readonly runtime: Runtime; readonly space: string },
  definitions: readonly FlowDefinition[],
): Promise<readonly FlowDefinition[]> {
  const place = { scope: space, kind: KIND }
  for (let tries = 1; tries <= MOST_TRIES; tries++) {
    const { records } = await store.getRecords({ ...place, ids: definitions.map(idOf) })
    const different = definitions.flatMap((definition, index) => {
      const stored = records[index] ?? null
      return stored?.body === definition.outline ? [] : [{ definition, stored }]
    })
    if (different.length === 0) return []
    const { results } = await store.putRecords({
      ...place,
      records: different.map(({ definition, stored }) => ({
        id: idOf(definition),
        body: definition.outline,
        revision: runtime.uuid(),
        expect: stored?.revision ?? null,
        expiresAt: null,
      })),
    })
    if (results.every((result) => result === 'ok')) {
      return different.flatMap(({ definition, stored }) =>
        stored === null ? [] : [{ ...definition, outline: stored.body }],
      )
    }
  }
  throw new StoreError('STORE_BUSY', `The definitions of flows were changed ${MOST_TRIES} times meanwhile.`)
}

/** The stored definitions of a space, or the versions of one flow: by name and version. */
export async function readDefinitions(
  store: Pick<RecordStore, 'listRecords'>,
  space: string,
  name?: string,
): Promise<readonly FlowDefinition[]> {
  const found: FlowDefinition[] = []
  // The character after `@` in ASCII.
  const before = name === undefined ? {} : { before: `${name}A` }
  for (let from = name === undefined ? '' : `${name}@`, more = true; more; ) {
    const page = await store.listRecords({ scope: space, kind: KIND, from, ...before, limit: PAGE })
    for (const { id, body } of page.records) {
      const at = id.lastIndexOf('@')
      found.push({ name: id.slice(0, at), version: Number(id.slice(at + 1)), outline: body })
    }
    more = page.more
    from = `${page.records.at(-1)?.id ?? ''} `
  }
  return found.sort((a, b) => Number(a.name > b.name) - Number(a.name < b.name) || a.version - b.version)
}

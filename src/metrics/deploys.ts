import type { Runtime } from '../runtime/runtime.ts'
import type { RecordStore } from '../store/records.ts'
import { stamp } from './minute-records.ts'

/** The first appearance of workers of another version is a record of this kind: `<timestamp>/<version>`. */
const DEPLOY_KIND = 'deploy'
const KEPT_MS = 30 * 86_400_000
/** Workers of a version that start within this time of each other are one deploy. */
const ONE_DEPLOY_MS = 600_000
/** The maximum number of marks in a chart. */
const LISTED = 200

export interface Deploy {
  readonly at: number
  readonly version: string
}

/** Records that a worker of this version starts, unless that version is already running. */
export async function noteDeploy(
  store: Pick<RecordStore, 'listRecords' | 'putRecords'>,
  runtime: Runtime,
  space: string,
  version: string,
  running: readonly (string | null)[],
): Promise<void> {
  if (running.includes(version)) return
  const place = { scope: space, kind: DEPLOY_KIND }
  const { records } = await store.listRecords({ ...place, backwards: true, limit: 1 })
  if (records[0] && readDeploy(records[0].body)?.version === version) return
  const at = runtime.now()
  const slot = Math.floor(at / ONE_DEPLOY_MS) * ONE_DEPLOY_MS
  const id = `${stamp(slot)}/${version.replace(/[^\x21-\x7e]/g, '_').slice(0, 100)}`
  const body = JSON.stringify({ at, version } satisfies Deploy)
  // The first of several workers writes it.
  const record = { id, body, revision: runtime.uuid(), expect: null, expiresAt: at + KEPT_MS }
  await store.putRecords({ ...place, records: [record] })
}

/** The deploys since a timestamp, oldest first. */
export async function readDeploys(
  store: Pick<RecordStore, 'listRecords'>,
  space: string,
  since: number,
): Promise<readonly Deploy[]> {
  const { records } = await store.listRecords({
    scope: space,
    kind: DEPLOY_KIND,
    from: stamp(since - ONE_DEPLOY_MS),
    backwards: true,
    limit: LISTED,
  })
  const deploys = records.flatMap(({ body }) => readDeploy(body) ?? []).sort((a, b) => a.at - b.at)
  return deploys.filter(({ at, version }, index) => at >= since && deploys[index - 1]?.version !== version)
}

function readDeploy(body: string): Deploy | null {
  try {
    const read = JSON.parse(body) as Partial<Deploy> | null
    return typeof read?.version === 'string' && Number.isFinite(read.at)
      ? { at: Number(read.at), version: read.version }
      : null
  } catch {
    return null
  }
}

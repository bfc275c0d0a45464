import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { createSkep, type Store, silentLogger } from '../../src/index.ts'
import { postgresStore } from '../../src/postgres.ts'
import { sqliteStore } from '../../src/sqlite.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { postgresUrlVariable } from '../servers/index.ts'
import { serverIdentity } from '../servers/server.ts'
import { call, drained, handlers, listen } from './crew.ts'
import { openPen, readEvidence } from './evidence.ts'
import { postgresHoldings } from './postgres-holdings.ts'
import { type SmallDisk, smallDisk } from './small-disk.ts'
import { miscounts, readHoldings } from './sqlite-holdings.ts'
import { counting, freshEvidence, later, until } from './support.ts'
import { type Holdings, judge } from './verdict.ts'

const BYTES = 16_000

interface Place {
  readonly disk: SmallDisk
  readonly store: Store
  /** What the store holds, once it is closed. */
  look(): Promise<{ readonly holdings: Holdings; readonly violations: readonly string[] }>
}

describe.each([
  ['SQLite', sqlitePlace],
  ['Postgres', postgresPlace],
])('A disk that is full while workers run, on %s', (_name, makePlace) => {
  it('refuses jobs with a code and loses none; when there is room again it goes on by itself', async (t) => {
    const place = await makePlace()
    if (typeof place === 'string') return t.skip(place)
    const { disk, store } = place
    const evidence = freshEvidence()
    const { pen, count } = counting(openPen(evidence))
    const skep = createSkep({ store, logger: silentLogger, enqueueTimeout: 200 })
    later(() => skep.close())
    listen(skep, pen)
    await skep.ready()

    let isOver = false
    const worker = skep.worker(handlers(pen, BYTES), { prune: 1_000 })
    const callers = Array.from({ length: 6 }, (_, n) =>
      call({ skep, pen, random: seededRandom(n + 1), name: `${n}`, bytes: BYTES, isOver: () => isOver }),
    )
    await until(() => count('finished') >= 50)
    disk.fill(256 * 1024)
    await until(() => count('refused') >= 20)
    const finishedWhileFull = count('finished')
    disk.empty()
    // Everything goes on without a restart: both enqueueing and running.
    const [enqueued, finished] = [count('enqueued'), count('finished')]
    await until(() => count('enqueued') >= enqueued + 50 && count('finished') >= finished + 50)
    isOver = true
    await Promise.all(callers)
    await drained(skep, 30_000)
    await until(() => worker.health().status === 'running')
    await skep.close()

    const lines = readEvidence(evidence)
    const codes = new Set(lines.filter(({ sign }) => sign === 'refused').map(({ more }) => more))
    expect([...codes]).toEqual(['STORE_UNAVAILABLE'])
    const { holdings, violations } = await place.look()
    const verdict = judge(lines, holdings, { drained: true, bytes: BYTES })
    expect([...violations, ...verdict.violations]).toEqual([])
    // Refused means that it is not there, for certain.
    const refused = refusedKeys(lines)
    expect(holdings.jobs.filter(({ payload }) => refused.has(JSON.parse(payload).key))).toEqual([])
    expect(runTwice(lines)).toEqual([])
    console.info(
      `${_name}: ${verdict.acknowledged} acknowledged, ${refused.size} calls refused while the disk was full, 0 lost, ` +
        `${finishedWhileFull} finished before there was room again`,
    )
  }, 90_000)
})

/** Keys of enqueues that were refused. */
function refusedKeys(lines: ReturnType<typeof readEvidence>): Set<string> {
  const enqueued = new Set(lines.filter(({ sign }) => sign === 'enqueued').map(({ key }) => key))
  return new Set(lines.flatMap(({ sign, key }) => (sign === 'refused' && !enqueued.has(key) ? [key] : [])))
}

/** Nobody died and no lease ran out, so each job was started once. */
function runTwice(lines: ReturnType<typeof readEvidence>): string[] {
  const seen = new Set<string>()
  return lines.flatMap(({ sign, key }) =>
    sign === 'started' && seen.size === seen.add(key).size ? [key] : [],
  )
}

async function sqlitePlace(): Promise<Place | string> {
  const disk = smallDisk(64)
  if (typeof disk === 'string') return disk
  later(() => disk.remove())
  const file = join(disk.folder, 'jobs.db')
  return {
    disk,
    store: sqliteStore({ file }),
    async look() {
      const { violations, ...holdings } = readHoldings(file)
      return { holdings, violations: [...violations, ...(await miscounts(file, holdings))] }
    },
  }
}

/** A database whose tables are on the small disk, while the server's own files and its log are not. */
async function postgresPlace(): Promise<Place | string> {
  const disk = smallDisk(128, serverIdentity())
  if (typeof disk === 'string') return disk
  later(() => disk.remove())
  const server = process.env[postgresUrlVariable] as string
  const name = `skep_small_${process.pid}`
  const admin = new pg.Client({ connectionString: server })
  await admin.connect()
  later(() => admin.end())
  try {
    await admin.query(`create tablespace ${name} location '${disk.folder}'`)
  } catch (error) {
    return `the server cannot use a disk of ours: ${(error as Error).message}`
  }
  later(() => admin.query(`drop tablespace ${name}`))
  await admin.query(`create database ${name} tablespace ${name}`)
  later(() => admin.query(`drop database ${name} with (force)`))
  const url = new URL(server)
  url.pathname = `/${name}`
  return {
    disk,
    store: postgresStore({ url: url.href, migrate: true }),
    look: async () => ({ holdings: await postgresHoldings(url.href), violations: [] }),
  }
}

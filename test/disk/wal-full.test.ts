import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createSkep, silentLogger } from '../../src/index.ts'
import { postgresStore } from '../../src/postgres.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { pingPostgres } from '../servers/postgres.ts'
import { postgresBinaries } from '../servers/postgres-binaries.ts'
import { freePort, serverFolder, serverIdentity, startServer } from '../servers/server.ts'
import { call, drained, handlers, listen } from './crew.ts'
import { openPen, readEvidence } from './evidence.ts'
import { postgresHoldings } from './postgres-holdings.ts'
import { type SmallDisk, smallDisk } from './small-disk.ts'
import { counting, freshEvidence, later, until } from './support.ts'
import { judge } from './verdict.ts'

const BYTES = 16_000

describe('A disk that is full under the log of Postgres', () => {
  it('ends all sessions; when there is room again nothing is lost, and the same client and worker go on', async (t) => {
    const place = await serverOnSmallLog()
    if (typeof place === 'string') return t.skip(place)
    const { disk, url, revive } = place
    const evidence = freshEvidence()
    const { pen, count } = counting(openPen(evidence))
    const store = postgresStore({ url, migrate: true })
    const skep = createSkep({ store, logger: silentLogger, enqueueTimeout: 200 })
    later(() => skep.close())
    listen(skep, pen)
    await skep.ready()

    let isOver = false
    skep.worker(handlers(pen, BYTES), { prune: 1_000, lease: '5s' })
    const callers = Array.from({ length: 6 }, (_, n) =>
      call({ skep, pen, random: seededRandom(n + 1), name: `${n}`, bytes: BYTES, isOver: () => isOver }),
    )
    await until(() => count('finished') >= 50)
    disk.fill(256 * 1024)
    await until(() => count('refused') >= 20)
    disk.empty()
    const restarted = await revive()
    const said = place.log()
    const [enqueued, finished] = [count('enqueued'), count('finished')]
    await until(() => count('enqueued') >= enqueued + 50 && count('finished') >= finished + 50)
    isOver = true
    await Promise.all(callers)
    await drained(skep, 30_000)
    await skep.close()

    const lines = readEvidence(evidence)
    const codes = new Set(lines.filter(({ sign }) => sign === 'refused').map(({ more }) => more))
    for (const code of codes) expect(['STORE_UNAVAILABLE', 'STORE_UNKNOWN']).toContain(code)
    const verdict = judge(lines, await postgresHoldings(url), { drained: true, bytes: BYTES })
    expect(verdict.violations).toEqual([])
    // It was the log that had no room, and the server did not survive it.
    expect(said).toMatch(/PANIC: .*No space left on device/)
    console.info(
      `Postgres, log full: ${verdict.acknowledged} acknowledged, ${verdict.lost} lost, refused with ` +
        `${[...codes].join(', ')}; the server ${restarted ? 'ended and was started again' : 'came back by itself'}`,
    )
  }, 120_000)
})

interface LogPlace {
  readonly disk: SmallDisk
  readonly url: string
  /** What the server has said so far. */
  readonly log: () => string
  /** Starts the server again if it has ended. Says whether it had to. */
  readonly revive: () => Promise<boolean>
}

/** A server of its own, with its write-ahead log alone on a small disk. */
async function serverOnSmallLog(): Promise<LogPlace | string> {
  const identity = serverIdentity()
  const disk = smallDisk(64, identity)
  if (typeof disk === 'string') return disk
  later(() => disk.remove())
  const folder = serverFolder('wal', identity)
  const { bin } = postgresBinaries(folder)
  const data = join(folder, 'data')
  const options = ['-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--wal-segsize=1']
  await promisify(execFile)(
    join(bin, 'initdb'),
    ['-D', data, `--waldir=${join(disk.folder, 'wal')}`, ...options],
    {
      cwd: folder,
      ...identity,
    },
  )
  const port = await freePort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${folder}`,
    'min_wal_size=2MB',
    'max_wal_size=16MB',
  ]
  const command = {
    command: join(bin, 'postgres'),
    args: ['-D', data, ...settings.flatMap((setting) => ['-c', setting])],
    identity,
    folder,
    stopSignal: 'SIGINT' as const,
    ping: () => pingPostgres(url),
  }
  let server = await startServer(command)
  later(() => server.stop())
  return {
    disk,
    url,
    log: () => readFileSync(join(folder, 'server.log'), 'utf8'),
    async revive() {
      const deadline = performance.now() + 3_000
      while (performance.now() < deadline) {
        try {
          await pingPostgres(url)
          return false
        } catch {
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
      }
      server = await startServer(command)
      return true
    },
  }
}

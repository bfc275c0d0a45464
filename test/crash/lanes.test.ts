import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import type { JobHandle } from '../../src/index.ts'
import { seededRandom } from '../../src/testing.ts'
import type { AuditEntry } from '../proof/history.ts'
import { inLane, mostAtOnce } from './limited.ts'
import { Scene } from './scene.ts'
import { LANES } from './workload.ts'

/** How often each process is killed. On Redis a lost job waits until its lease ends, so it takes longer. */
const KILLS_OF_EACH = { sqlite: 11, postgres: 11, redis: 5 } as const
/** Jobs of a lane that wait or run while the killing goes on. */
const AHEAD = 3
/** How long after the first start in a process it is killed, in milliseconds, at most. */
const LATEST = 200

const random = seededRandom(11)
let scene: Scene | null = null
afterEach(async () => {
  await scene?.close()
  scene = null
})

afterAll(() => Scene.closeShared())

describe.each(['sqlite', 'postgres', 'redis'] as const)('Workers killed again and again, on %s', (store) => {
  it('keep strict lanes in order, never run two of a lane at once, and leak no room', async () => {
    // Fewer hands than lanes, so that whoever starts finds something to do.
    scene = await Scene.open(store, { mortal: false, concurrency: 3 })
    const stage = scene
    const slots = await Promise.all((['w1', 'w2', 'w3'] as const).map((name) => stage.worker(name)))

    let kills = 0
    let isOver = false
    const lanes = (['strict', 'single'] as const).flatMap((name) =>
      LANES.map((lane) => ({ name, lane, handles: [] as JobHandle<number>[] })),
    )
    const feeding = lanes.map(async ({ name, lane, handles }) => {
      while (!isOver) {
        handles.push(await stage.enqueue(name, { lane, ms: random.int(0, 100) }))
        await handles.at(-AHEAD)?.result()
      }
    })
    const killing = slots.map(async (slot) => {
      for (let n = 0; n < KILLS_OF_EACH[store]; n++) {
        await stage.busy(slot)
        await sleep(random.int(0, LATEST))
        await stage.replace(slot)
        kills++
      }
    })
    const killed = Promise.all(killing).finally(() => {
      isOver = true
    })
    await Promise.all([killed, ...feeding])
    const { report, audit, final } = await scene.judge()

    expect(report.violations).toEqual([])
    const jobs = lanes.flatMap(({ handles }) => handles)
    expect(jobs.map(({ id }) => final.get(id)?.state)).toEqual(jobs.map(() => 'done'))
    for (const { name, lane, handles } of lanes) {
      const ids = handles.map(({ id }) => id)
      expect(mostAtOnce(audit, inLane(name, lane))).toBe(1)
      if (name === 'strict') expect(inOrderOfStart(audit, ids)).toEqual(ids)
    }
    const lost = [...final.values()].reduce((sum, { counters }) => sum + (counters?.lost ?? 0), 0)
    console.info(`${store}: ${kills} kills, ${jobs.length} jobs, of which ${lost} runs were lost`)
    // Every kill came while at least one job had begun; some of these had ended by then.
    expect(lost).toBeGreaterThan(kills / 2)
  }, 120_000)
})

function inOrderOfStart(audit: readonly AuditEntry[], ids: readonly string[]): string[] {
  const started = audit.filter(({ id, after }) => after?.state === 'running' && ids.includes(id))
  return [...new Set(started.map(({ id }) => id))]
}

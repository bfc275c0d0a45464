import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { createSkep, type JobView, queue, type Skep, schedule, silentLogger } from '../../src/index.ts'
import { seededRandom } from '../../src/testing.ts'
import { freshDatabase } from '../servers/index.ts'
import { bundlePrograms } from './bundle.ts'
import { type Address, openStore } from './program.ts'
import { freshRedis } from './redis-address.ts'
import { Slot } from './slot.ts'
import { jobsOf, runSlotKills } from './slot-kills.ts'

const SCHEDULES = 70
/** Between the slots of a schedule: on a busy machine a process needs a second to start. */
const EVERY = 2_000
const PROCESSES = 3
/** How far from the slot a process is killed, in milliseconds. */
const BEFORE = 20
const AFTER = 60

/** What looks at the store after each test, if there is something. */
let audit: () => Promise<void> = async () => {}

const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

describe.each([
  ['SQLite', sqliteAddress, 10],
  ['Postgres', postgresAddress, 10],
  ['Redis', redisAddress, 6],
] as const)('Hundreds of slots on %s', (name, makeAddress, slots) => {
  it('have exactly one job each, although processes are killed around every one of them', async () => {
    const address = await makeAddress()
    const bundle = await bundlePrograms()
    closers.push(() => bundle.remove())
    const skep = createSkep({ store: openStore(address), logger: silentLogger })
    closers.push(() => skep.close())
    const random = seededRandom(7)
    const surprises: string[] = []
    const processes = Array.from({ length: PROCESSES }, (_, n) => {
      const place = new Slot({
        name: `w${n}`,
        script: bundle.script('schedule-program'),
        config: () => ({ address }),
        onSurprise: (what) => surprises.push(what),
      })
      closers.push(() => place.kill())
      return place
    })
    await skep.ready()
    for (const place of processes) place.start()
    await Promise.all(processes.map((place) => place.ready))

    // Late enough that all are there before it: what is put after its first slot begins with a later one.
    const first = Date.now() + 3_000
    const bounds = { startAt: first, endAt: first + slots * EVERY }
    const ids = Array.from({ length: SCHEDULES }, (_, n) => `s${n}`)
    await Promise.all(
      ids.map((id) =>
        skep.schedules.put(schedule(id, { queue: queue('slots'), every: EVERY, payload: id, ...bounds })),
      ),
    )

    expect(Date.now()).toBeLessThan(first)

    // Two of the three at each slot, and at every other slot all of them, each at a moment of its own. Nobody waits for
    // the next process to be ready.
    const kills: number[] = []
    await Promise.all(
      processes.map(async (place, index) => {
        for (let n = 0; n < slots; n++) {
          if (n % 2 === 0 && (n / 2) % PROCESSES === index) continue
          const slot = first + n * EVERY
          await sleep(Math.max(0, slot + random.int(-BEFORE, AFTER) - Date.now()))
          kills.push(Date.now() - slot)
          await place.kill()
          place.start()
        }
      }),
    )
    const jobs = await settled(skep, ids)
    await Promise.all(processes.map((place) => place.kill()))

    const made = jobs.map(
      ({ headers }) => `${headers['skep-schedule']} ${Date.parse(headers['skep-slot'] as string)}`,
    )
    const wanted = ids.flatMap((id) => Array.from({ length: slots }, (_, n) => `${id} ${first + n * EVERY}`))
    const missing = wanted.filter((one) => !made.includes(one))
    expect(missing).toEqual([])
    expect(made.toSorted()).toEqual(wanted.toSorted())
    // A second fire of a slot would make no second job, because its id is the same. It would be counted.
    const { schedules } = await skep.schedules.list({ limit: 200 })
    expect(schedules.map(({ fired, skipped }) => [fired, skipped])).toEqual(ids.map(() => [slots, 0]))
    expect(jobs.filter(({ state }) => state !== 'done')).toEqual([])
    expect(surprises).toEqual([])
    const near = kills.filter((ms) => Math.abs(ms) <= 500).length
    const late = jobs.map((job) => job.enqueuedAt.getTime() - Date.parse(job.headers['skep-slot'] as string))
    console.info(
      `${name}: ${wanted.length} slots, ${kills.length} kills (${near} within half a second of a slot), ` +
        `fired ${Math.min(...late)} to ${Math.max(...late)} ms after their slot`,
    )
    expect(near).toBeGreaterThanOrEqual(slots)
    await audit()
  }, 150_000)
})

describe('A slot', () => {
  it('has exactly one job, although the process that fires is killed around it', async () => {
    const { violations, ...measured } = await runSlotKills({
      address: await sqliteAddress(),
      slots: 8,
      everyMs: 400,
      mostMs: 40_000,
      seed: 7,
    })

    expect(violations).toEqual([])
    expect(measured).toMatchObject({ missed: 0, doubled: 0 })
    expect(measured.kills).toBeGreaterThan(2)
  }, 90_000)
})

/** Waits until every slot was fired and every job has ended. */
async function settled(skep: Skep, ids: readonly string[]): Promise<JobView[]> {
  for (;;) {
    const { schedules } = await skep.schedules.list({ limit: 200 })
    if (schedules.length === ids.length && schedules.every(({ nextAt }) => nextAt === null)) break
    await sleep(100)
  }
  return jobsOf(skep)
}

async function sqliteAddress(): Promise<Address> {
  const folder = mkdtempSync(join(tmpdir(), 'skep-slots-'))
  closers.push(() => rmSync(folder, { recursive: true, force: true }))
  return { file: join(folder, 'jobs.db') }
}

async function postgresAddress(): Promise<Address> {
  const database = await freshDatabase()
  closers.push(() => database[Symbol.asyncDispose]())
  return { url: database.url }
}

async function redisAddress(): Promise<Address> {
  const redis = await freshRedis()
  closers.push(() => redis.remove())
  audit = redis.audit
  return redis.address
}

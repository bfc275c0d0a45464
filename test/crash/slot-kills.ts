/**
 * Slots of schedules, each with a kill of its own: one process fires schedules at a time, and around every slot it is killed, at
 * a moment before, in or after its fire. The next has started already and waits; it begins at once. Now and then there are two,
 * which race for the slot, and both are killed.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { createSkep, type JobView, queue, type Skep, schedule, silentLogger } from '../../src/index.ts'
import { type Random, seededRandom } from '../../src/testing/random.ts'
import { bundlePrograms } from './bundle.ts'
import { type Address, openStore } from './program.ts'
import { Slot } from './slot.ts'

/** How far from the slot a process is killed, in milliseconds. */
const BEFORE = 20
const AFTER = 60
/** So many schedules have the slots in turn, so that a slot that is late is not the next one's concern. */
const SCHEDULES = 10
/** Processes that have started and wait: on a busy machine that takes a few seconds. */
const PARKED = 8
/** Two fire instead of one at every slot of so many. */
const TWO_IN = 4
/** A kill that came later than this belongs to no slot. */
const NEAR = 150

export interface SlotKillsOptions {
  readonly address: Address
  readonly slots: number
  /** Between two slots. */
  readonly everyMs: number
  readonly seed: number
  /** @default nothing */
  readonly onProgress?: (line: string) => void
}

export interface SlotKillsResult {
  readonly slots: number
  readonly kills: number
  /** Slots around which a process was killed that was ready to fire, no further away than was meant, or nearly so. */
  readonly slotsWithKill: number
  /** How long after its slot the latest was fired. */
  readonly latestFireMs: number
  readonly missed: number
  readonly doubled: number
  readonly violations: readonly string[]
}

interface Kill {
  readonly slot: number
  readonly offMs: number
  readonly wasReady: boolean
}

export async function runSlotKills(options: SlotKillsOptions): Promise<SlotKillsResult> {
  const { address, slots, everyMs, seed, onProgress = () => {} } = options
  const bundle = await bundlePrograms()
  const skep = createSkep({ store: openStore(address), logger: silentLogger })
  const violations: string[] = []
  const pool = new Pool({
    script: bundle.script('schedule-program'),
    address,
    onSurprise: (what) => violations.push(what),
  })
  try {
    await skep.ready()
    await pool.fill()
    // Late enough that all schedules are there before it.
    const first = Date.now() + 3_000
    const ids = Array.from({ length: SCHEDULES }, (_, n) => `s${n}`)
    const places = await Promise.all(
      ids.map((id, n) => {
        const startAt = first + n * everyMs
        const own = Math.ceil((slots - n) / SCHEDULES)
        const every = SCHEDULES * everyMs
        const bounds = { startAt, endAt: startAt + own * every }
        return own <= 0
          ? null
          : skep.schedules.put(schedule(id, { queue: queue('slots'), every, payload: id, ...bounds }))
      }),
    )
    const kills = await killAround(pool, { ...options, first, random: seededRandom(seed), onProgress })
    pool.arm()
    const jobs = await settled(skep, places.filter((place) => place !== null).length)
    const found = judge(jobs, { first, slots, everyMs })
    const { schedules } = await skep.schedules.list({ limit: 200 })
    // A second fire of a slot would make no second job, because its id is the same. It would be counted.
    const fired = schedules.reduce((sum, one) => sum + one.fired, 0)
    const skipped = schedules.reduce((sum, one) => sum + one.skipped, 0)
    if (fired !== slots || skipped !== 0)
      violations.push(`${fired} of ${slots} slots were fired and ${skipped} skipped, say the schedules.`)
    const near = kills.filter(({ offMs, wasReady }) => wasReady && offMs <= NEAR)
    onProgress(`${kills.length} kills`)
    return {
      slots,
      kills: kills.length,
      slotsWithKill: new Set(near.map(({ slot }) => slot)).size,
      ...found,
      violations: [...violations, ...found.violations],
    }
  } finally {
    await pool.end()
    await skep.close()
    bundle.remove()
  }
}

async function killAround(
  pool: Pool,
  {
    first,
    slots,
    everyMs,
    random,
    onProgress,
  }: SlotKillsOptions & {
    first: number
    random: Random
    onProgress: (line: string) => void
  },
): Promise<Kill[]> {
  const kills: Kill[] = []
  for (let n = 0; n < slots; n++) {
    const slot = first + n * everyMs
    const armed = Array.from({ length: n % TWO_IN === TWO_IN - 1 ? 2 : 1 }, () => pool.arm())
    await Promise.all(
      armed.map(async (place) => {
        await sleep(Math.max(0, slot + random.int(-BEFORE, AFTER) - Date.now()))
        kills.push({ slot: n, offMs: Date.now() - slot, wasReady: pool.isReady(place) })
        await pool.kill(place)
      }),
    )
    if ((n + 1) % 100 === 0) onProgress(`${n + 1} slots, ${kills.length} kills`)
  }
  return kills
}

/** Processes that have started and wait for a word to begin. */
class Pool {
  readonly #options: { script: string; address: Address; onSurprise: (what: string) => void }
  readonly #parked: Slot[] = []
  readonly #all = new Set<Slot>()
  readonly #ready = new WeakSet<Slot>()
  #made = 0
  #isOver = false

  constructor(options: { script: string; address: Address; onSurprise: (what: string) => void }) {
    this.#options = options
  }

  async fill(): Promise<void> {
    const places = Array.from({ length: PARKED }, () => this.#make())
    await Promise.all(places.map((place) => place.ready))
  }

  /** Lets the one that has waited longest begin. */
  arm(): Slot {
    const place = this.#parked.shift() ?? this.#make()
    this.#make()
    place.tell({ go: true })
    return place
  }

  /** Whether it fires schedules by now. */
  isReady(place: Slot): boolean {
    return this.#ready.has(place)
  }

  async kill(place: Slot): Promise<void> {
    await place.kill()
    this.#all.delete(place)
  }

  async end(): Promise<void> {
    this.#isOver = true
    await Promise.all([...this.#all].map((place) => place.kill()))
  }

  #make(): Slot {
    const place: Slot = new Slot({
      name: `w${this.#made++}`,
      script: this.#options.script,
      config: () => ({ address: this.#options.address, isParked: true }),
      onMessage: ({ fires }) => {
        if (fires) this.#ready.add(place)
      },
      onSurprise: this.#options.onSurprise,
    })
    if (this.#isOver) return place
    place.start()
    this.#all.add(place)
    this.#parked.push(place)
    return place
  }
}

/** What the jobs of all slots say: one for each, and none for another moment. */
function judge(
  jobs: readonly JobView[],
  { first, slots, everyMs }: { first: number; slots: number; everyMs: number },
): Pick<SlotKillsResult, 'latestFireMs' | 'missed' | 'doubled' | 'violations'> {
  const slotOf = ({ headers }: JobView): number => Date.parse(headers['skep-slot'] as string)
  const made = jobs.map((job) => `${job.headers['skep-schedule']} ${slotOf(job)}`)
  const wanted = Array.from({ length: slots }, (_, n) => `s${n % SCHEDULES} ${first + n * everyMs}`)
  const found = new Set(made)
  const missed = wanted.filter((one) => !found.has(one))
  const strange = made.filter((one) => !wanted.includes(one))
  const undone = jobs.filter(({ state }) => state !== 'done')
  return {
    latestFireMs: Math.max(0, ...jobs.map((job) => job.enqueuedAt.getTime() - slotOf(job))),
    missed: missed.length,
    doubled: made.length - found.size,
    violations: [
      ...missed.map((one) => `Nothing was fired for ${one}.`),
      ...strange.map((one) => `${one} is no slot.`),
      ...undone.map(({ id, state }) => `Job ${id} is ${state}.`),
      ...(made.length > found.size ? [`${made.length - found.size} slots have more than one job.`] : []),
    ],
  }
}

/** Waits until every slot was fired and every job has ended. */
export async function settled(skep: Skep, count: number): Promise<JobView[]> {
  for (;;) {
    const { schedules } = await skep.schedules.list({ limit: 200 })
    const [counts] = await skep.counts(['slots'])
    const isFired = schedules.length === count && schedules.every(({ nextAt }) => nextAt === null)
    if (isFired && counts && counts.ready + counts.delayed + counts.running === 0) break
    await sleep(100)
  }
  const jobs: JobView[] = []
  for (let cursor: string | undefined | null; cursor !== null; ) {
    const page: Awaited<ReturnType<Skep['list']>> = await skep.list({
      queue: 'slots',
      limit: 200,
      ...(cursor === undefined ? {} : { cursor }),
    })
    jobs.push(...page.jobs)
    cursor = page.cursor
  }
  return jobs
}

/**
 * Slots of schedules, and kills around them: one process fires at a time. When it is ready it is killed around the next slot, at a
 * moment before, in or after its fire. The next has started already and begins at once. Now and then there are two, which race for
 * the slot, and both are killed. Slots that come while nobody is ready, because the machine is slow, are fired late, and
 * belong to what is judged too.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  createSkep,
  type JobView,
  queue,
  type ScheduleView,
  type Skep,
  schedule,
  silentLogger,
} from '../../src/index.ts'
import { type Random, seededRandom } from '../../src/testing/random.ts'
import { bundlePrograms } from './bundle.ts'
import { type Address, openStore } from './program.ts'
import { Slot } from './slot.ts'

/** How far from the slot a process is killed, in milliseconds. */
const BEFORE = 20
const AFTER = 60
/** A kill that came later than this belongs to no slot. */
const NEAR = 150
/** So many schedules have the slots in turn. */
const SCHEDULES = 10
/** Processes that have started and wait. */
const PARKED = 3
/** Two fire instead of one at one slot of so many. */
const TWO_IN = 4

export interface SlotKillsOptions {
  readonly address: Address
  /** So many slots get a kill. */
  readonly slots: number
  /** Between two slots. */
  readonly everyMs: number
  /** It ends after this time, however many slots got one by then. */
  readonly mostMs: number
  readonly seed: number
  /** @default nothing */
  readonly onProgress?: (line: string) => void
}

export interface SlotKillsResult {
  /** Slots around which a process was killed that was ready to fire. */
  readonly slotsWithKill: number
  readonly slots: number
  readonly kills: number
  readonly missed: number
  readonly doubled: number
  readonly latestFireMs: number
  readonly violations: readonly string[]
}

export async function runSlotKills(options: SlotKillsOptions): Promise<SlotKillsResult> {
  const { address, everyMs, seed } = options
  const bundle = await bundlePrograms()
  const skep = createSkep({ store: openStore(address), logger: silentLogger })
  const surprises: string[] = []
  const pool = new Pool(bundle.script('schedule-program'), address, (what) => surprises.push(what))
  try {
    await skep.ready()
    const first = Date.now() + 3_000
    const every = SCHEDULES * everyMs
    const slots = queue('slots')
    await Promise.all(
      Array.from({ length: SCHEDULES }, (_, n) =>
        skep.schedules.put(
          schedule(`s${n}`, { queue: slots, every, startAt: first + n * everyMs, payload: n }),
        ),
      ),
    )
    const { hit, kills } = await killAround(pool, first, seededRandom(seed), options)
    await pool.arm()
    const { jobs, schedules } = await paused(skep)
    const found = judge(jobs, schedules, { first, everyMs })
    return {
      slotsWithKill: hit.size,
      kills,
      ...found,
      violations: [...surprises, ...found.violations],
    }
  } finally {
    await pool.end()
    await skep.close()
    bundle.remove()
  }
}

async function killAround(
  pool: Pool,
  first: number,
  random: Random,
  { slots, everyMs, mostMs, onProgress = () => {} }: SlotKillsOptions,
): Promise<{ readonly hit: ReadonlySet<number>; readonly kills: number }> {
  const hit = new Set<number>()
  const end = Date.now() + mostMs
  let kills = 0
  while (hit.size < slots && Date.now() < end) {
    const count = random.int(1, TWO_IN) === 1 ? 2 : 1
    const armed = await Promise.all(Array.from({ length: count }, () => pool.arm()))
    const nth = Math.max(0, Math.ceil((Date.now() + BEFORE + 5 - first) / everyMs))
    const slot = first + nth * everyMs
    await Promise.all(
      armed.map(async (place) => {
        await sleep(Math.max(0, slot + random.int(-BEFORE, AFTER) - Date.now()))
        kills++
        if (Date.now() - slot <= NEAR) hit.add(nth)
        await pool.kill(place)
      }),
    )
    if (kills % 100 < count) onProgress(`${kills} kills around ${hit.size} slots`)
  }
  return { hit, kills }
}

/** Processes that have started and wait for a word to begin. */
class Pool {
  readonly #script: string
  readonly #address: Address
  readonly #onSurprise: (what: string) => void
  readonly #parked: Slot[] = []
  readonly #all = new Set<Slot>()
  readonly #begun = new WeakMap<Slot, () => void>()
  #made = 0

  constructor(script: string, address: Address, onSurprise: (what: string) => void) {
    this.#script = script
    this.#address = address
    this.#onSurprise = onSurprise
  }

  /** Lets the one that has waited longest begin, and waits until it fires schedules. */
  async arm(): Promise<Slot> {
    while (this.#parked.length <= PARKED) this.#park()
    const place = this.#parked.shift() as Slot
    await place.ready
    const begun = new Promise<void>((resolve) => this.#begun.set(place, resolve))
    place.tell({ go: true })
    await begun
    return place
  }

  async kill(place: Slot): Promise<void> {
    await place.kill()
    this.#all.delete(place)
  }

  async end(): Promise<void> {
    await Promise.all([...this.#all].map((place) => place.kill()))
  }

  #park(): void {
    const place: Slot = new Slot({
      name: `w${this.#made++}`,
      script: this.#script,
      config: () => ({ address: this.#address, isParked: true }),
      onMessage: ({ fires }) => {
        if (fires) this.#begun.get(place)?.()
      },
      onSurprise: this.#onSurprise,
    })
    place.start()
    this.#all.add(place)
    this.#parked.push(place)
  }
}

/** What the jobs say: one for each slot up to the last of its schedule, and none for another moment. */
function judge(
  jobs: readonly JobView[],
  schedules: readonly ScheduleView[],
  { first, everyMs }: { readonly first: number; readonly everyMs: number },
): Pick<SlotKillsResult, 'slots' | 'missed' | 'doubled' | 'latestFireMs' | 'violations'> {
  const slotOf = ({ headers }: JobView): number => Date.parse(headers['skep-slot'] as string)
  const made = jobs.map((job) => `${job.headers['skep-schedule']} ${slotOf(job)}`)
  const last = Math.max(first, ...jobs.map(slotOf))
  const wanted = Array.from(
    { length: (last - first) / everyMs + 1 },
    (_, n) => `s${n % SCHEDULES} ${first + n * everyMs}`,
  )
  const [found, known] = [new Set(made), new Set(wanted)]
  const missed = wanted.filter((one) => !found.has(one))
  const strange = made.filter((one) => !known.has(one))
  // A second fire of a slot would make no second job, because its id is the same. It would be counted.
  const fired = schedules.reduce((sum, one) => sum + one.fired, 0)
  const skipped = schedules.reduce((sum, one) => sum + one.skipped, 0)
  const doubled = made.length - found.size + Math.max(0, fired - wanted.length)
  return {
    slots: wanted.length,
    missed: missed.length,
    doubled,
    latestFireMs: Math.max(0, ...jobs.map((job) => job.enqueuedAt.getTime() - slotOf(job))),
    violations: [
      ...missed.map((one) => `Nothing was fired for ${one}.`),
      ...strange.map((one) => `${one} is no slot.`),
      ...jobs.filter(({ state }) => state !== 'done').map(({ id, state }) => `Job ${id} is ${state}.`),
      ...(doubled > 0 ? [`${doubled} slots were fired more than once.`] : []),
      ...(fired !== wanted.length || skipped !== 0
        ? [`The schedules say that ${fired} of ${wanted.length} slots were fired and ${skipped} skipped.`]
        : []),
    ],
  }
}

/** Waits until nothing is overdue, stops the schedules, and waits for their jobs. */
async function paused(
  skep: Skep,
): Promise<{ readonly jobs: JobView[]; readonly schedules: readonly ScheduleView[] }> {
  const list = async (): Promise<readonly ScheduleView[]> =>
    (await skep.schedules.list({ limit: 200 })).schedules
  while ((await list()).some(({ nextAt }) => nextAt === null || nextAt.getTime() <= Date.now()))
    await sleep(20)
  for (const { id } of await list()) await skep.schedules.pause(id)
  const jobs = await jobsOf(skep)
  return { jobs, schedules: await list() }
}

/** The jobs of all slots, when each has ended. */
export async function jobsOf(skep: Skep): Promise<JobView[]> {
  for (;;) {
    const [counts] = await skep.queues.list(['slots'])
    if (counts && counts.ready + counts.delayed + counts.running === 0) break
    await sleep(100)
  }
  const jobs: JobView[] = []
  for (let cursor: string | undefined | null; cursor !== null; ) {
    const page: Awaited<ReturnType<Skep['jobs']['list']>> = await skep.jobs.list({
      queue: 'slots',
      limit: 200,
      ...(cursor === undefined ? {} : { cursor }),
    })
    jobs.push(...page.jobs)
    cursor = page.cursor
  }
  return jobs
}

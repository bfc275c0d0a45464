/** Runs flows of every shape in processes that are killed again and again, and judges what is left. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createSkep, type RunHandle, type Skep, type Store, silentLogger } from '../../src/index.ts'
import { seededRandom } from '../../src/testing.ts'
import { bundlePrograms } from './bundle.ts'
import { type FlowProgramConfig, POINTS } from './flow-points.ts'
import { readMarks, SHAPES, SPAWNED, spawner } from './flow-workload.ts'
import { type Address, openStore } from './program.ts'
import { Slot } from './slot.ts'

const PROCESSES = 3
/** Runs of a shape that are under way while the killing goes on. */
const AHEAD = 2
const LEASE_MS = 1_500
/** A process that has not come to its point by then is killed where it is. */
const PATIENCE_MS = 2_000
/** The longest all may take to end once nobody is killed any more. */
const DRAIN_MS = 30_000

export interface FlowKillsOptions {
  readonly address: Address
  /** A folder for the marks. */
  readonly folder: string
  readonly kills: number
  readonly seed: number
}

export interface FlowKillsResult {
  readonly violations: readonly string[]
  readonly kills: number
  /** How many ended themselves at their point. */
  readonly atPoints: number
  readonly runs: number
  /** How often a handler got a job that somebody else had begun. */
  readonly again: number
}

interface Started {
  readonly shape: string
  readonly of: string
  readonly run: RunHandle
}

export async function runFlowKills(options: FlowKillsOptions): Promise<FlowKillsResult> {
  const { address, folder, kills, seed } = options
  const random = seededRandom(seed)
  const marks = join(folder, 'marks')
  mkdirSync(marks)
  const bundle = await bundlePrograms()
  const store = openStore(address)
  const skep = createSkep({ store, logger: silentLogger })
  await skep.ready()

  let isOver = false
  const started: Started[] = []
  const spawners: string[] = []
  const plan = { dies: null as FlowProgramConfig['dies'] }
  const surprises: string[] = []
  const slots = Array.from(
    { length: PROCESSES },
    (_, index) =>
      new Slot({
        name: `w${index}`,
        script: bundle.script('flow-program'),
        config: (proc): FlowProgramConfig => ({ proc, address, marks, leaseMs: LEASE_MS, dies: plan.dies }),
        // At its point a process ends itself.
        onSurprise: (what) => void (what.includes('SIGKILL') || surprises.push(what)),
      }),
  )

  const feed = async (shape: string, lane: number): Promise<void> => {
    for (let n = lane; !isOver; n += AHEAD) {
      const of = `${shape} ${n}`
      const input = { of, n, ms: random.int(0, 25) }
      const run = await skep.start(SHAPES[shape]?.flow as never, input as never)
      started.push({ shape, of, run })
      if (shape === 'signalled') {
        await sleep(random.int(0, 40))
        await run.signal('go', 'went')
      }
      await run.result({ timeout: 60_000 }).catch(() => {})
    }
  }
  const feedSpawners = async (): Promise<void> => {
    for (let n = 0; !isOver; n++) {
      const job = await skep.enqueue(spawner, { of: 'test', step: 'spawner', n, ms: random.int(0, 25) })
      spawners.push(job.id)
      await job.result({ timeout: 60_000 }).catch(() => {})
    }
  }
  let killed = 0
  let atPoints = 0
  const harm = async (slot: Slot): Promise<void> => {
    while (killed < kills) {
      const point = POINTS[killed++ % (POINTS.length + 2)]
      // Two of nine are killed from outside, at any moment.
      plan.dies = point === undefined ? null : { point, nth: random.int(1, 6) }
      slot.start()
      await slot.ready
      const patienceMs = point === undefined ? random.int(0, 600) : PATIENCE_MS
      for (let waited = 0; slot.isAlive && waited < patienceMs; waited += 10) await sleep(10)
      if (slot.isAlive) await slot.kill()
      else atPoints++
    }
  }

  try {
    const feeding = Object.keys(SHAPES).flatMap((shape) =>
      Array.from({ length: AHEAD }, (_, lane) => feed(shape, lane)),
    )
    const harming = Promise.all(slots.map(harm)).then(() => {
      isOver = true
      plan.dies = null
      for (const slot of slots) slot.start()
    })
    await Promise.all([harming, feedSpawners(), ...feeding])
    const violations = await judge(skep, store, { started, spawners, marks })
    const stops = await Promise.all(slots.map((slot) => slot.stop(20_000)))
    if (stops.includes('killed')) violations.push('A worker did not stop.')
    violations.push(...surprises)
    const ran = readMarks(marks).filter(({ what }) => what === 'ran')
    const again = ran.length - new Set(ran.map(({ id }) => id)).size
    return { violations, kills: killed, atPoints, runs: started.length + spawners.length, again }
  } finally {
    await Promise.all(slots.map((slot) => slot.kill()))
    await skep.close()
    bundle.remove()
  }
}

async function judge(
  skep: Skep,
  store: Store,
  { started, spawners, marks }: { started: readonly Started[]; spawners: readonly string[]; marks: string },
): Promise<string[]> {
  const violations = await drained(skep)
  const all = readMarks(marks)
  const ran = all.filter(({ what }) => what === 'ran')
  const jobsOf = new Map<string, Set<string>>()
  for (const { of, step, id } of ran) {
    const jobs = jobsOf.get(`${of} ${step}`) ?? new Set()
    jobsOf.set(`${of} ${step}`, jobs.add(id))
  }
  const count = (of: string, step: string): number => jobsOf.get(`${of} ${step}`)?.size ?? 0

  for (const { shape, of, run } of started) {
    const expected = SHAPES[shape] as (typeof SHAPES)[string]
    const view = await run.get()
    const say = (what: string): void => void violations.push(`Run ${run.id} (${of}): ${what}`)
    if (view?.status !== expected.status) say(`it is ${view?.status}, not ${expected.status}`)
    else if (view.status === 'done') {
      const wrong = expected.wrong?.(view.result as Record<string, unknown>)
      if (wrong) say(wrong)
    }
    for (const [step, jobs] of Object.entries(expected.jobs)) {
      if (count(of, step) !== jobs) say(`step ${step} had ${count(of, step)} jobs, not ${jobs}`)
    }
  }
  const sagas = started.filter(({ shape }) => shape === 'saga').length
  if (count('undo', 'undo') !== sagas) violations.push(`${count('undo', 'undo')} of ${sagas} were undone`)
  for (const id of spawners) {
    if (count(id, 'spawned') !== SPAWNED) violations.push(`${id} spawned ${count(id, 'spawned')}`)
    if (count(id, 'gather') !== 1) violations.push(`${id} was gathered ${count(id, 'gather')} times`)
  }
  const saved = all.filter(({ what }) => what === 'saved').map(({ id }) => id)
  const twice = saved.filter((id, index) => saved.indexOf(id) !== index)
  for (const id of twice) violations.push(`Job ${id} was done twice`)

  const { mended } = await store.auditGroups({ limit: 10_000, cursor: null })
  for (const { group, what } of mended) violations.push(`Group ${group} had to be mended: ${what}`)
  return violations
}

/** Waits until nothing is left to do; what is left says why not. */
async function drained(skep: Skep): Promise<string[]> {
  for (let waited = 0; ; waited += 50) {
    const { runs } = await skep.runs.list({ status: 'running', limit: 100 })
    const counts = await skep.queues.list()
    const busy = counts.filter(({ ready, delayed, running }) => ready + delayed + running > 0)
    if (runs.length === 0 && busy.length === 0) return []
    if (waited > DRAIN_MS)
      return [
        ...runs.map(({ id, flow, state }) => `Run ${id} of ${flow} is stuck with ${JSON.stringify(state)}`),
        ...busy.map((one) => `Jobs are left: ${JSON.stringify(one)}`),
      ]
    await sleep(50)
  }
}

/** Cuts the power under a program, looks at what is left, and goes on with it. */
import { type ChildProcess, fork } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Random, seededRandom } from '../../src/testing/random.ts'
import { readEvidence } from './evidence.ts'
import type { Cut, CutPlan, PowerDisk } from './power-disk.ts'
import type { CutMode } from './power-files.ts'
import { miscounts, readHoldings } from './sqlite-holdings.ts'
import { judge, type Verdict } from './verdict.ts'
import type { VictimOptions } from './victim.ts'

/** Payloads of up to so many bytes: the log has to reach the size at which it is taken over into the database. */
export const BYTES = 16_000

/** A cut that has not come by itself after this long is made. */
const PATIENCE_MS = 4_000

export interface ChainOptions {
  readonly seed: number
  /** How many cuts in a row on the same database. */
  readonly cuts: number
  readonly synchronous?: 'full' | 'normal'
  /** What becomes of what was not synced. @default chosen for each cut */
  readonly mode?: CutMode
  /** At the end a new worker has to finish everything. @default true */
  readonly drains?: boolean
  /** How long victims live, in changes of the disk. @default chosen for each cut */
  readonly changes?: readonly [least: number, most: number]
}

export interface ChainReport extends Verdict {
  readonly cuts: readonly Cut[]
}

/** Runs the same program again and again on one database on a new disk, each time until the power goes. */
export async function runChain(disk: PowerDisk, options: ChainOptions): Promise<ChainReport> {
  await disk.replace()
  const random = seededRandom(options.seed)
  const scene = new Scene(disk, options)
  const spares = new Spares()
  const cuts: Cut[] = []
  const violations: string[] = []
  let verdict: Verdict | null = null
  try {
    for (let life = 0; life < options.cuts; life++) {
      cuts.push(await scene.live(await spares.take(), life, planOf(random, options)))
      verdict = await scene.look(false)
      for (const one of verdict.violations) violations.push(`seed ${options.seed}, cut ${life}: ${one}`)
      await disk.restore()
      // What comes after a loss would only repeat it.
      if (violations.length > 0) break
    }
    if (violations.length === 0 && options.drains !== false) {
      await scene.drain(await spares.take())
      verdict = await scene.look(true)
      for (const one of verdict.violations) violations.push(`seed ${options.seed}, drained: ${one}`)
    }
  } finally {
    spares.end()
    scene.clear()
  }
  const { acknowledged, ended, lost } = verdict as Verdict
  return { cuts, acknowledged, ended, lost, violations }
}

/** One cut in five comes while the database is being opened or made, the others later, spread over magnitudes. */
function planOf(random: Random, { mode, changes }: ChainOptions): CutPlan {
  const [least, most] = changes ?? (random.chance(0.2) ? [1, 120] : [120, 12_000])
  return {
    afterChanges: Math.round(least * (most / least) ** random.next()),
    beforeTheLast: random.chance(0.5),
    mode: mode ?? random.pick<CutMode>(['mix', 'mix', 'mix', 'forget', 'keep']),
    seed: random.int(1, 2 ** 31),
  }
}

/** One database on the disk, and the evidence about it elsewhere. */
class Scene {
  readonly #disk: PowerDisk
  readonly #options: ChainOptions
  readonly #file: string
  readonly #folder = mkdtempSync(join(tmpdir(), 'skep-evidence-'))
  readonly #evidence = join(this.#folder, 'evidence')

  constructor(disk: PowerDisk, options: ChainOptions) {
    this.#disk = disk
    this.#options = options
    this.#file = join(disk.folder, 'jobs.db')
  }

  /** A program works until the power goes. */
  async live(victim: ChildProcess, life: number, plan: CutPlan): Promise<Cut> {
    const { happened } = await this.#disk.arm(plan)
    const ended = new Promise((resolve) => victim.once('exit', resolve))
    victim.send(this.#victim(`${life}`))
    const patience = new AbortController()
    void sleep(PATIENCE_MS, undefined, { signal: patience.signal }).then(
      () => this.#disk.cutNow(),
      () => {},
    )
    const cut = await Promise.race([
      happened,
      ended.then(() => Promise.reject(new Error('The victim ended by itself.'))),
    ])
    patience.abort()
    victim.kill('SIGKILL')
    await this.#disk.release()
    await ended
    return cut
  }

  #victim(name: string): VictimOptions {
    return {
      file: this.#file,
      evidence: this.#evidence,
      name,
      seed: this.#options.seed,
      callers: 8,
      bytes: BYTES,
      synchronous: this.#options.synchronous ?? 'full',
      enqueueTimeoutMs: 10_000,
    }
  }

  /** Judges a copy of what is on the disk, so that looking at it repairs nothing. */
  async look(drained: boolean): Promise<Verdict> {
    const copy = mkdtempSync(join(this.#folder, 'copy-'))
    await this.#disk.copy(copy)
    const file = join(copy, 'jobs.db')
    const lines = readEvidence(this.#evidence)
    if (!existsSync(file))
      return judge(lines, { jobs: [], wasDiscarded: () => false }, { drained, bytes: BYTES })
    const { violations, ...holdings } = readHoldings(file)
    const verdict = judge(lines, holdings, { drained, bytes: BYTES })
    const counted = await miscounts(file, holdings)
    rmSync(copy, { recursive: true, force: true })
    return { ...verdict, violations: [...violations, ...verdict.violations, ...counted] }
  }

  /** A new program finishes what is left, and ends. */
  async drain(program: ChildProcess): Promise<void> {
    const ended = new Promise<number | null>((resolve) => program.once('exit', resolve))
    program.send({ ...this.#victim('drain'), callers: 0 } satisfies VictimOptions)
    const code = await ended
    if (code !== 0) throw new Error(`The program that drains ended with code ${code}.`)
  }

  clear(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** Programs that have started and wait: the next one starts while the last is looked at. */
class Spares {
  #next: Promise<ChildProcess> | null = null

  async take(): Promise<ChildProcess> {
    const child = await (this.#next ?? startVictim())
    this.#next = startVictim()
    return child
  }

  end(): void {
    void this.#next?.then((child) => child.kill('SIGKILL'))
  }
}

/** Starts a program that waits for its options. */
export function startVictim(): Promise<ChildProcess> {
  const script = fileURLToPath(new URL('./victim.ts', import.meta.url))
  const child = fork(script, ['wait'], { execArgv: ['--import', 'jiti/register'] })
  return new Promise((resolve, reject) => {
    child.once('message', () => resolve(child))
    child.once('exit', (code) => reject(new Error(`A victim ended with code ${code} before it began.`)))
  })
}

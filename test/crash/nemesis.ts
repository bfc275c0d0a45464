/** Does harm, by a seed: every half to two seconds it draws a fault. It has an end, and then everything is mended. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../src/testing/random.ts'
import type { Slot } from './slot.ts'
import type { Stage } from './stage.ts'

export interface NemesisOptions {
  readonly random: Random
  readonly stage: Stage
  readonly workers: readonly Slot[]
  readonly producer: Slot
  readonly leaseMs: number
  /** Between two draws, at least and at most. */
  readonly everyMs: readonly [number, number]
  /** The longest a fault of the store or the network lasts. */
  readonly longestMs: number
  /** The longest a process is frozen. */
  readonly longestFreezeMs: number
  /** Written down when a fault begins; a crash is told by the name of the process. */
  readonly onFault: (f: 'crash' | 'fault', what: string) => void
}

export interface Harm {
  kills: number
  producerKills: number
  stops: number
  longStops: number
  restarts: number
  [fault: string]: number
}

const KILL_SHARE = 0.6

interface Draw {
  readonly weight: number
  run(): Promise<void>
}

export class Nemesis {
  readonly harm: Harm = { kills: 0, producerKills: 0, stops: 0, longStops: 0, restarts: 0 }
  readonly #options: NemesisOptions
  readonly #underWay = new Set<Promise<void>>()
  #isStageBusy = false
  #isOver = false

  constructor(options: NemesisOptions) {
    this.#options = options
  }

  /** Harms until `finish`. */
  async run(): Promise<void> {
    const { random, everyMs } = this.#options
    while (!this.#isOver) {
      await sleep(random.int(everyMs[0], everyMs[1]))
      if (this.#isOver) return
      const doing = this.#draw().run()
      this.#underWay.add(doing)
      void doing.finally(() => this.#underWay.delete(doing)).catch(() => {})
    }
  }

  /** No new faults; waits until those under way are over, and mends what is left. */
  async finish(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#underWay)
    const { workers, producer, stage } = this.#options
    await stage.heal()
    for (const slot of [...workers, producer]) if (!slot.isAlive) slot.start()
  }

  #draw(): Draw {
    const { random, stage } = this.#options
    // Most of it is kills; the rest is shared out by weight.
    if (random.chance(KILL_SHARE)) return { weight: 1, run: () => this.#killWorker() }
    const draws: Draw[] = [
      { weight: 3, run: () => this.#freezeWorker() },
      { weight: 6, run: () => this.#restartWorker() },
      { weight: 4, run: () => this.#killProducer() },
      ...stage.faults.map((fault) => ({ weight: fault.weight, run: () => this.#harmStage(fault) })),
    ]
    let left = random.next() * draws.reduce((sum, { weight }) => sum + weight, 0)
    for (const draw of draws) {
      left -= draw.weight
      if (left < 0) return draw
    }
    return draws[0] as Draw
  }

  async #harmStage(fault: Stage['faults'][number]): Promise<void> {
    if (this.#isStageBusy) return
    this.#isStageBusy = true
    const { random, workers, producer, longestMs, onFault } = this.#options
    this.#count(fault.name)
    onFault('fault', fault.name)
    try {
      await fault.run(
        random,
        [...workers, producer].map(({ name }) => name),
        longestMs,
      )
    } finally {
      this.#isStageBusy = false
    }
  }

  async #killWorker(): Promise<void> {
    // One that is frozen may be killed too: it never wakes up again.
    const slot = this.#pick((worker) => !worker.isBusy || worker.isStopped)
    if (!slot) return
    this.harm.kills++
    await this.#replace(slot)
  }

  async #killProducer(): Promise<void> {
    const { producer } = this.#options
    if (producer.isBusy || !producer.isAlive) return
    this.harm.producerKills++
    await this.#replace(producer)
  }

  async #replace(slot: Slot): Promise<void> {
    slot.isBusy = true
    this.#options.onFault('crash', slot.proc)
    await slot.kill()
    slot.start()
    slot.isBusy = false
  }

  async #freezeWorker(): Promise<void> {
    const { random, leaseMs, longestFreezeMs, onFault } = this.#options
    const slot = this.#pick((worker) => !worker.isBusy)
    if (!slot) return
    // More short ones than long ones, and every length.
    const ms = Math.round(200 + (longestFreezeMs - 200) * random.next() ** 1.5)
    this.harm.stops++
    if (ms > leaseMs) this.harm.longStops++
    slot.isBusy = true
    const { proc } = slot
    onFault('fault', `${proc} is frozen for ${ms} ms`)
    slot.freeze()
    await sleep(ms)
    if (slot.proc !== proc || !slot.isStopped) return
    slot.thaw()
    slot.isBusy = false
  }

  async #restartWorker(): Promise<void> {
    const slot = this.#pick((worker) => !worker.isBusy)
    if (!slot) return
    this.harm.restarts++
    slot.isBusy = true
    this.#options.onFault('fault', `${slot.proc} is asked to stop`)
    if ((await slot.stop(20_000)) === 'killed') this.#count('stops that took too long')
    slot.start()
    slot.isBusy = false
  }

  #pick(fits: (slot: Slot) => boolean): Slot | null {
    const candidates = this.#options.workers.filter((slot) => slot.isAlive && fits(slot))
    return candidates.length > 0 ? this.#options.random.pick(candidates) : null
  }

  #count(name: string): void {
    this.harm[name] = (this.harm[name] ?? 0) + 1
  }
}

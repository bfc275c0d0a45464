import type { Hint, HintListener, Notifier } from '../../src/notifier/notifier.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import { LocalNotices, withNotices } from '../../src/testing/local-notices.ts'
import { seededRandom } from '../../src/testing/random.ts'
import type { Process, World } from './world.ts'

/** well: every hint arrives soon. flaky: lost, doubled, late, out of order. silent: none arrives. off: there is none. */
export type HintMode = 'well' | 'flaky' | 'silent' | 'off'

/** The hints between all processes of a trial. */
export class HintBus {
  mode: HintMode
  /** Listeners of living processes; there must be none in the end. */
  get subscriptions(): number {
    return [...this.#listeners].filter(({ process }) => !process.isDead).length
  }
  readonly #world: World
  readonly #listeners = new Set<{ readonly process: Process; readonly listener: HintListener }>()

  /** Beside the hints, if the trial has them: mostly lost, doubled and late as hints are, and their acks are lost. */
  readonly notices: LocalNotices | null

  constructor(world: World, mode: HintMode, notices: { readonly seed: number } | null = null) {
    this.#world = world
    this.mode = mode
    this.notices = notices === null ? null : noticesOf(world, mode, notices.seed)
  }

  /** The bus as one process sees it. */
  notifier(process: Process): Notifier {
    const { notices } = this
    const hints = this.#hints(process)
    return notices === null
      ? hints
      : withNotices(
          hints,
          notices,
          notices.view(process.runtime, () => process.isDead),
        )
  }

  #hints(process: Process): Notifier {
    const mine = new Set<{ readonly process: Process; readonly listener: HintListener }>()
    return {
      publish: (hints) => this.#publish(hints),
      subscribe: (listener) => {
        const entry = { process, listener }
        this.#listeners.add(entry)
        mine.add(entry)
        return {
          end: () => {
            this.#listeners.delete(entry)
            mine.delete(entry)
          },
        }
      },
      health: () => ({ status: this.mode === 'off' ? 'off' : 'up', detail: 'simulated' }),
      close: async () => {
        for (const entry of mine) this.#listeners.delete(entry)
      },
    }
  }

  #publish(hints: readonly Hint[]): void {
    if (this.mode === 'silent' || this.mode === 'off') return
    for (const entry of this.#listeners) {
      const copies = this.mode === 'well' ? 1 : this.#world.random.pick([0, 0, 1, 1, 1, 2])
      for (let n = 0; n < copies; n++) {
        const delayMs = this.mode === 'well' ? 1 : this.#world.random.pick([0, 1, 5, 500, 4_000])
        const arrive = (): void => {
          if (this.#listeners.has(entry)) entry.listener(hints)
        }
        this.#world.after(delayMs * this.#world.random.next(), entry.process, arrive, true)
      }
    }
  }
}

/** The server of the notices belongs to nobody, and never stands still. */
function noticesOf(world: World, mode: HintMode, seed: number): LocalNotices {
  const random = seededRandom(seed)
  const isWell = mode === 'well' && random.chance(0.5)
  const server: Runtime = {
    now: () => world.storeNow(),
    mono: () => world.time,
    random: () => random.next(),
    uuid: () => String(random.next()),
    bytes: (count) => new Uint8Array(count),
    timer: (ms, run) => world.after(ms, null, run, true),
    defer: (run) => world.soon(null, run),
  }
  const trouble = {
    random,
    lost: random.pick([0, 0.1, 0.5]),
    doubled: random.pick([0, 0.2, 0.7]),
    ackLost: random.pick([0, 0.1, 0.4]),
    lateMs: random.pick([0, 100, 5_000, 60_000]),
  }
  return new LocalNotices(server, isWell ? null : trouble)
}

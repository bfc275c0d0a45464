import { type JobContext, type Queue, queue, type Skep, type Worker } from '../../src/index.ts'
import type { Scene } from '../worker/support/scene.ts'

export const SECOND = 1_000
export const MINUTE = 60_000
export const HOUR = 3_600_000
export const DAY = 86_400_000
/** What the clock of every scene shows at first: a full hour. */
export const START = 1_800_000_000_000

export const tick: Queue<unknown, null> = queue<unknown, null>('tick')

/** One run of a handler: of which schedule, and how many milliseconds after START its slot and its start were. */
export interface Seen {
  readonly schedule: string | undefined
  readonly slot: number | null
  readonly at: number
  readonly payload: unknown
}

/** A worker that writes down what it runs. */
export function watch(
  scene: Scene,
  skep: Skep = scene.skep,
): { readonly seen: Seen[]; readonly worker: Worker } {
  const seen: Seen[] = []
  const worker = skep.worker([
    tick.handle((job) => {
      seen.push(seenOf(scene, job))
      return null
    }),
  ])
  return { seen, worker }
}

export function seenOf(scene: Scene, job: JobContext<unknown, null>): Seen {
  const { schedule, payload } = job
  return {
    schedule: schedule?.id,
    slot: schedule?.slot ? schedule.slot.getTime() - START : null,
    at: scene.runtime.now() - START,
    payload,
  }
}

export const slotsOf = (seen: readonly Seen[]): (number | null)[] => seen.map(({ slot }) => slot)
export const inMinutes = (seen: readonly Seen[]): number[] =>
  seen.map(({ slot }) => (slot ?? Number.NaN) / MINUTE)

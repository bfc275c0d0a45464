import { describe, expect, it } from 'vitest'
import { StoreError } from '../../src/core/errors.ts'
import { fixed, type JobContext, queue, retry } from '../../src/index.ts'
import type { Runtime } from '../../src/runtime/runtime.ts'
import type { Store } from '../../src/store/store.ts'
import { type Random, seededRandom } from '../../src/testing/random.ts'
import { openScene, type Scene } from './support/scene.ts'

const SEEDS = 30
const JOBS = 12

interface Told {
  readonly tag: string
  readonly lines: number
}

const patient = { onError: retry(500, fixed(0)), onTimeout: retry(500), onLost: retry(500, fixed(0)) }
const chatty = queue<number, Told>('chatty', patient)

/** The way of one process to the store: calls are refused, lost, slow, unanswered, or arrive when nobody waits for them. */
function flaky(store: Store, runtime: Runtime, random: Random, isBad: () => boolean): Store {
  const wait = (ms: number): Promise<void> => new Promise((resolve) => void runtime.timer(ms, resolve))
  const unknown = (): StoreError => new StoreError('STORE_UNKNOWN', 'Nobody knows.')
  const through =
    <Call, Reply>(run: (call: Call) => Promise<Reply>) =>
    async (call: Call): Promise<Reply> => {
      const luck =
        isBad() && random.chance(0.3) ? random.pick(['refused', 'unanswered', 'late', 'slow']) : 'good'
      switch (luck) {
        case 'refused':
          throw new StoreError('STORE_UNAVAILABLE', 'The store is away.')
        case 'unanswered':
          await run(call)
          throw unknown()
        case 'late':
          void wait(random.int(1, 3_000)).then(() => run(call))
          throw unknown()
        case 'slow':
          await wait(random.int(1, 1_500))
          break
        default:
          await wait(random.int(0, 5))
      }
      const reply = await run(call)
      if (luck === 'slow') await wait(random.int(1, 1_500))
      return reply
    }
  return {
    ...store,
    note: through((call) => store.note(call)),
    settle: through((call) => store.settle(call)),
    claim: through((call) => store.claim(call)),
    extend: through((call) => store.extend(call)),
  }
}

/** Writes numbered lines under a name of its own, sleeps between them, and fails now and then. */
function handle(scene: Scene, random: Random, isBad: () => boolean) {
  let runs = 0
  return async (job: JobContext<number, Told>): Promise<Told> => {
    const tag = `${job.payload}-${++runs}-${random.int(0, 1_000_000)}`
    const lines = random.int(0, 25)
    for (let n = 1; n <= lines; n++) {
      job.log(`${tag} ${n}`)
      job.progress(n, tag)
      if (random.chance(0.4)) {
        const ms = random.int(0, 300)
        await new Promise<void>((resolve) => void scene.runtime.timer(ms, resolve))
      }
    }
    if (isBad() && random.chance(0.2)) throw new Error('Bad luck.')
    return { tag, lines }
  }
}

describe('notes in trouble', () => {
  it.each(Array.from({ length: SEEDS }, (_, i) => i + 1))(
    'are complete, in order, once, and from one holder at a time (seed %i)',
    async (seed) => {
      const scene = openScene({ seed })
      const random = seededRandom(seed)
      let bad = true
      const isBad = (): boolean => bad
      const jobs = await scene.skep.enqueueMany(
        chatty,
        Array.from({ length: JOBS }, (_, n) => n),
      )

      for (let n = 0; n < 3; n++) {
        const store = flaky(scene.truth, scene.runtime, random, isBad)
        const handler = chatty.handle(handle(scene, random, isBad))
        scene.client(store).worker([handler], { concurrency: 4, lease: '1s', grace: '200ms' })
      }
      await scene.advance(15_000)
      bad = false
      await scene.until(async () => (await scene.counts('chatty')).done === JOBS, 600_000)
      await scene.advance(5_000)

      for (const { id } of jobs) {
        const { tag, lines } = JSON.parse((await scene.job(id)).result as string) as Told
        const page = await scene.skep.jobs.logs(id, { limit: 1_000 })
        // Runs that ended badly leave a line of their own; these are the lines of handlers.
        const told = page.lines.filter(({ fields }) => fields['skep'] === undefined)
        const written = told.map(({ message }) => message.split(' ') as [string, string])
        const tags = written.map(([by]) => by)
        const blocks = tags.filter((by, i) => by !== tags[i - 1])
        expect(blocks, 'one holder after the other').toEqual([...new Set(tags)])
        for (const by of blocks) {
          const numbers = written.filter(([other]) => other === by).map(([, n]) => Number(n))
          expect(numbers, `the lines of ${by}`).toEqual(numbers.map((_, i) => i + 1))
          if (by === tag) expect(numbers).toHaveLength(lines)
        }
        if (lines > 0) {
          expect(blocks.at(-1)).toBe(tag)
          expect(page.progress).toMatchObject({ value: lines, note: tag })
        }
        expect(page.dropped).toBe(0)
      }
    },
  )
})

import { describe, expect, it } from 'vitest'
import { flow, type Handler, queue } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import { openScene, type Scene } from '../worker/support/scene.ts'

const a = queue<{ n: number }, { a: number }>('a')
const b = queue<{ a: number }, { b: number }>('b')
const MINUTE = 60_000

const handlers = (): Handler[] => [
  a.handle(({ payload }) => ({ a: payload.n + 1 })),
  b.handle(({ payload }) => ({ b: payload.a * 10 })),
]

const chain = flow('chain', (f) => f.step(a).step(b))
const nap = flow('nap', (f) => f.step(a).sleep('1d').step(b))
const branching = flow('branching', (f) =>
  f.input<{ a: number }>().parallel({ one: (g) => g.step(b), two: (g) => g.step(b, { name: 'other' }) }),
)

/** Removes all jobs of a queue that wait. */
async function lose(scene: Scene, name: string): Promise<number> {
  let removed = 0
  for (const state of ['ready', 'delayed'] as const) {
    const target = { queue: name, state, limit: 100, cursor: null }
    const call = { action: 'remove', space: scene.space, failure: null, keepMs: 0 } as const
    removed += (await scene.truth.change({ ...call, target })).results.length
  }
  return removed
}

const complaints = (scene: Scene): string[] =>
  scene.log.filter(({ level }) => level === 'error').map(({ message }) => message)

describe('A worker that sweeps', () => {
  it('lets a run go on whose job was removed after its group had fired', async () => {
    const scene = openScene()
    const steps = scene.client().worker(handlers())
    const run = await scene.skep.start(chain, { n: 1 })
    await scene.until(async () => (await scene.counts('flow:chain')).ready === 1)
    expect(await lose(scene, 'flow:chain')).toBe(1)

    scene.skep.worker([chain])
    expect(await scene.through(run.result(), 5 * MINUTE)).toMatchObject({ b: 20 })

    expect(complaints(scene)).toEqual([
      expect.stringMatching(
        new RegExp(`Run "${run.id}" of flow "chain" waited for a job .*enqueued again.*report it`),
      ),
    ])
    await steps.stop()
  })

  it('wakes a run whose moment was removed', async () => {
    const scene = openScene()
    scene.skep.worker([nap, ...handlers()])
    const run = await scene.skep.start(nap, { n: 1 })
    await scene.until(async () => (await scene.counts('flow:nap')).delayed === 1)
    expect(await lose(scene, 'flow:nap')).toBe(1)

    // Of what it waited for there is nothing left, so it waits no longer.
    expect(await scene.through(run.result(), 5 * MINUTE)).toMatchObject({ b: 20 })
    expect(complaints(scene)).toHaveLength(1)
  })

  it('begins branches of which the beginning was removed, and runs that are to go on by hand', async () => {
    const scene = openScene()
    const run = await scene.skep.start(branching, { a: 2 })
    const other = await scene.skep.start(chain, { n: 1 })
    await other.cancel()
    await other.retry()
    // The cancelled member was a failure, of which nobody needs to hear any more; nor need anybody cancel it again.
    expect([await lose(scene, 'flow:branching'), await lose(scene, 'flow:chain')]).toEqual([2, 3])

    scene.skep.worker([branching, chain, ...handlers()])

    expect(await scene.through(run.result(), 5 * MINUTE)).toMatchObject({ one: { b: 20 }, two: { b: 20 } })
    expect(await scene.through(other.result(), 5 * MINUTE)).toMatchObject({ b: 20 })
    expect(complaints(scene)).toHaveLength(3)
  })

  it('comes to all runs, page by page', async () => {
    const scene = openScene()
    const steps = scene.client().worker(handlers())
    await scene.skep.start(chain, { n: 1 })
    await scene.until(async () => (await scene.counts('flow:chain')).ready === 1)
    await lose(scene, 'flow:chain')
    await steps.stop()
    // It looks at the newest first, and at 200 in one turn.
    await Promise.all(Array.from({ length: 201 }, (_, n) => scene.skep.start(chain, { n })))

    scene.client().worker([chain])

    await scene.until(async () => (await scene.counts('b')).ready === 1, 20 * MINUTE)
    expect(complaints(scene)).toHaveLength(1)
  })

  it('says it once while the job it enqueued waits', async () => {
    const scene = openScene()
    scene.skep.worker(handlers())
    await scene.skep.start(chain, { n: 1 })
    await scene.until(async () => (await scene.counts('flow:chain')).ready === 1)
    await lose(scene, 'flow:chain')

    await scene.advance(20 * MINUTE)

    expect(complaints(scene)).toHaveLength(1)
    expect(await scene.counts('flow:chain')).toEqual({ ready: 1 })
  })

  it('leaves runs alone that wait as they should', async () => {
    const scene = openScene()
    const slow = flow('slow', (f) =>
      f.step(a).signal<string, 'go'>('go', { timeout: '2h' }).step(b).sleep('1d').step(a, { name: 'again' }),
    )
    scene.skep.worker([slow, ...handlers()])
    const run = await scene.skep.start(slow, { n: 1 })
    await scene.advance(30 * MINUTE)
    await run.signal('go', 'yes')

    await scene.advance(30 * MINUTE)

    expect((await run.get())?.status).toBe('running')
    expect(complaints(scene)).toEqual([])
  })

  it('finds nothing wrong when the run moves on between its reads', async () => {
    let between: (() => Promise<void>) | null = null
    const wrap = (store: Store): Store => ({
      ...store,
      async getGroups(call) {
        const reply = await store.getGroups(call)
        const then = between
        between = null
        await then?.()
        return reply
      },
    })
    const scene = openScene({ wrap })
    const steps = scene.client().worker(handlers())
    const run = await scene.skep.start(chain, { n: 1 })
    await scene.until(async () => (await scene.counts('flow:chain')).ready === 1)
    // The job is there when its group is read, and done when it is looked for itself.
    let hasMoved = false
    between = async () => {
      const token = scene.runtime.uuid()
      const sources = [{ space: scene.space, queue: 'flow:chain', limit: 1 }]
      const { jobs } = await scene.truth.claim({
        sources,
        limit: 1,
        workerId: 'w',
        token,
        leaseMs: 1_000,
      } as never)
      const { runs } = await scene.truth.getRuns({ space: scene.space, ids: [run.id] })
      const { id, space, revision } = runs[0] as NonNullable<(typeof runs)[0]>
      const move = {
        id,
        space,
        revision,
        status: 'done',
        keepMs: MINUTE * 60,
        groups: [],
        runs: [],
        jobs: [],
      }
      const verdict = { to: 'done', delayMs: 0, keepMs: null, result: null, failure: null, count: null }
      const settlement = { id: jobs[0]?.id, space, token, verdict: { ...verdict, keepCancelledMs: 0 }, move }
      const { results } = await scene.truth.settle({ settlements: [settlement] } as never)
      hasMoved = results[0]?.status === 'ok'
    }

    await scene.advance(10 * MINUTE)

    expect(hasMoved).toBe(true)
    expect((await run.get())?.status).toBe('done')
    expect(complaints(scene)).toEqual([])
    expect(await scene.counts('flow:chain')).toEqual({})
    await steps.stop()
  })

  it('asks little of the store, and nothing in its first half minute', async () => {
    let calls = 0
    const wrap = (store: Store): Store => ({
      ...store,
      auditGroups: (call) => {
        calls++
        return store.auditGroups(call)
      },
    })
    const scene = openScene({ wrap })
    scene.skep.worker(handlers())

    await scene.advance(MINUTE / 2 - 1)
    expect(calls).toBe(0)
    await scene.advance(60 * MINUTE)

    expect(calls).toBeGreaterThan(2)
    expect(calls).toBeLessThan(15)
  })
})

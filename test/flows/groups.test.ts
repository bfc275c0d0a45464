import { describe, expect, it } from 'vitest'
import { queue, type Settled, settled } from '../../src/index.ts'
import { openScene } from '../worker/support/scene.ts'

const square = queue<number, number>('square')
const sum = queue<{ label: string }, number>('sum')

describe('groups', () => {
  it('map and reduce without polling', async () => {
    const scene = openScene()
    const sums: number[] = []
    scene.skep.worker([
      square.handle(({ payload }) => payload * payload),
      sum.handle(async ({ results }) => {
        const squares = await results<number>()
        const total = squares.reduce((all, one) => all + (one.ok ? one.result : 0), 0)
        sums.push(total)
        return total
      }),
    ])

    const numbers = Array.from({ length: 100 }, (_, n) => n + 1)
    await scene.skep.groups.chord(
      numbers.map((n) => square.job(n)),
      sum.job({ label: 'all' }),
    )
    await scene.until(() => sums.length === 1)

    expect(sums).toEqual([338_350])
  })

  it('are followed when the last member has ended, and not before', async () => {
    const scene = openScene()
    const late = queue<number, number>('late')
    scene.skep.worker([square.handle(({ payload }) => payload), sum.handle(() => 0)])

    await scene.skep.groups.chord([square.job(1), late.job(2)], sum.job({ label: 'all' }))
    await scene.until(async () => (await scene.counts('square')).done === 1)
    await scene.advance(10_000)
    expect(await scene.counts('sum')).toEqual({})

    scene.client().worker([late.handle(({ payload }) => payload)])
    await scene.until(async () => (await scene.counts('sum')).done === 1)
  })

  it('chain jobs, each with the result of the one before it', async () => {
    const scene = openScene()
    const seen: unknown[] = []
    const add = queue<number, number>('add')
    scene.skep.worker([
      add.handle(async ({ payload, results }) => {
        const [before] = await results<number>()
        const total = payload + (before?.ok ? before.result : 0)
        seen.push(total)
        return total
      }),
    ])

    await scene.skep.groups.chain([1, 2, 3, 4].map((n) => add.job(n)))
    await scene.until(() => seen.length === 4)

    expect(seen).toEqual([1, 3, 6, 10])
  })

  it('call back for a batch: at the first death, and when all have ended', async () => {
    const scene = openScene()
    const calls: string[] = []
    const work = queue<number>('work', {
      onError: {
        retries: 0,
        backoff: { kind: 'fixed', ms: 0, jitter: 0 },
        ending: { end: 'bury', keepMs: 1_000 },
      },
    })
    const tell = queue<string>('tell')
    scene.skep.worker([
      work.handle(({ payload }) => {
        if (payload === 2) throw new Error('no')
      }),
      tell.handle(({ payload }) => void calls.push(payload)),
    ])

    await scene.skep.groups.batch(
      [1, 2, 3].map((n) => work.job(n)),
      {
        onSuccess: tell.job('success'),
        onComplete: tell.job('complete'),
        onDeath: tell.job('death'),
      },
    )
    await scene.until(() => calls.length === 2)

    expect(calls.toSorted()).toEqual(['complete', 'death'])
  })

  it('spawn children with the success of a job, and go on when they have ended', async () => {
    const scene = openScene()
    const parent = queue<number>('parent')
    let told: readonly Settled<number>[] = []
    scene.skep.worker([
      parent.handle(async ({ payload, spawn }) => {
        const children = Array.from({ length: payload }, (_, n) => square.job(n))
        await spawn(children, { join: settled, next: sum.job({ label: 'children' }) })
      }),
      square.handle(({ payload }) => payload * payload),
      sum.handle(async ({ results }) => {
        told = await results<number>()
        return told.length
      }),
    ])

    await scene.skep.enqueue(parent, 5)
    await scene.until(() => told.length > 0)

    expect(told.map((one) => (one.ok ? one.result : null))).toEqual([0, 1, 4, 9, 16])
  })
})

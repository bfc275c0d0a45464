import { describe, expect, it } from 'vitest'
import { flow, queue } from '../../src/index.ts'
import type { Fault } from '../worker/support/faulty-store.ts'
import { openScene } from '../worker/support/scene.ts'

const square = queue<number, number>('square')
const sum = queue<string, number>('sum')

const squares = (count: number) => Array.from({ length: count }, (_, n) => square.job(n))

describe('making groups and runs', () => {
  it('costs those who do it at the same time hardly more inserts than one', async () => {
    const scene = openScene()
    const steps = flow('steps', (f) => f.input<{ n: number }>().step(square, ({ state }) => state.n))

    await scene.through(
      Promise.all(
        Array.from({ length: 20 }, async (_, n) => {
          await scene.skep.groups.chord(squares(3), sum.job(`chord ${n}`))
          await scene.skep.groups.chain(squares(3))
          await scene.skep.start(steps, { n })
        }),
      ),
    )

    // Everybody makes three, one after the other.
    expect(scene.faults.count('insert')).toBeLessThanOrEqual(6)
    expect(await scene.counts('square')).toEqual({ ready: 20 * (3 + 1 + 1) })
  })

  it.each<Fault>(['before', 'after', 'lost'])(
    'is repeated until the store answers, and each join fires once (%s)',
    async (fault) => {
      const scene = openScene()
      const sums: (readonly [string, number])[] = []
      scene.skep.worker([
        square.handle(({ payload }) => payload * payload),
        sum.handle(async ({ payload, results }) => {
          const all = await results<number>()
          sums.push([payload, all.reduce((total, one) => total + (one.ok ? one.result : 0), 0)])
          return 0
        }),
      ])
      scene.faults.next('insert', fault, fault)

      await scene.through(
        Promise.all([
          scene.skep.groups.chord(squares(4), sum.job('four')),
          scene.skep.groups.chord(squares(3), sum.job('three')),
        ]),
      )
      await scene.advance(10_000)

      expect(sums.toSorted(([a], [b]) => a.localeCompare(b))).toEqual([
        ['four', 14],
        ['three', 5],
      ])
      expect(scene.faults.count('insert')).toBeGreaterThan(2)
    },
  )
})

describe('reading results', () => {
  it('costs those who do it at the same time hardly more reads than one', async () => {
    const scene = openScene()
    const seen: (readonly number[])[] = []
    scene.skep.worker(
      [
        square.handle(({ payload }) => payload * payload),
        sum.handle(async ({ results }) => {
          const all = await results<number>()
          return seen.push(all.map((one) => (one.ok ? one.result : -1)))
        }),
      ],
      { concurrency: 100 },
    )

    await scene.through(
      Promise.all(Array.from({ length: 40 }, () => scene.skep.groups.chord(squares(3), sum.job('')))),
    )
    await scene.until(() => seen.length === 40)

    expect(seen).toEqual(Array.from({ length: 40 }, () => [0, 1, 4]))
    expect(scene.faults.count('outcomes')).toBeLessThanOrEqual(10)
  })

  it.each([199, 200, 201, 1_200, 1_450])('gives all %i of a group, in their order', async (size) => {
    const scene = openScene()
    let seen: readonly number[] = []
    scene.skep.worker([
      square.handle(({ payload }) => payload),
      sum.handle(async ({ results }) => {
        seen = (await results<number>()).map((one) => (one.ok ? one.result : -1))
        return 0
      }),
    ])

    await scene.through(scene.skep.groups.chord(squares(size), sum.job('')))
    await scene.until(() => seen.length > 0)

    expect(seen).toEqual(Array.from({ length: size }, (_, n) => n))
  })

  it('fails for the one alone whose group the store refuses', async () => {
    const refused = new Set<string>()
    const scene = openScene({
      wrap: (store) => ({
        ...store,
        outcomes: async (call) => {
          if (call.groups.some((group) => refused.has(group))) throw new Error('What is this?')
          return store.outcomes(call)
        },
      }),
    })
    const seen: string[] = []
    scene.skep.worker([
      square.handle(({ payload }) => payload),
      sum.handle(async ({ payload, results }) => {
        const said = await results().then(
          (all) => String(all.length),
          () => 'refused',
        )
        return seen.push(`${payload} ${said}`)
      }),
    ])

    await scene.through(
      Promise.all(
        ['a', 'b', 'c'].map(async (name) => {
          const { id } = await scene.skep.groups.chord(squares(2), sum.job(name))
          if (name === 'b') refused.add(id)
        }),
      ),
    )
    await scene.until(() => seen.length === 3)

    expect(seen.toSorted()).toEqual(['a 2', 'b refused', 'c 2'])
  })
})

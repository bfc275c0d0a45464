import { describe, expect, it } from 'vitest'
import { first, fixed, never, queue, retry, settled } from '../../src/index.ts'
import { openSkep, openStore, STORES } from '../client/support/stores.ts'
import { codeOf, openScene } from '../worker/support/scene.ts'

const square = queue<number, number>('square', { onError: never() })
const sum = queue<null, number>('sum')
const add = queue<number, number>('add', { onError: retry(1, fixed(0)) })

const handlers = () => [
  square.handle(({ payload }) => {
    if (payload < 0) throw new Error('no root')
    return payload * payload
  }),
  sum.handle(async ({ results }) => {
    const all = await results<number>()
    return all.reduce((total, one) => total + (one.ok ? one.result : 0), 0)
  }),
  add.handle(async ({ payload, results }) => {
    const [before] = await results<number>()
    return payload + (before?.ok ? before.result : 0)
  }),
]

describe.each(STORES)('a group can be awaited (%s)', (name) => {
  it('with the results of its members in order, those of a chord with its body, of a chain with its last job', async () => {
    const skep = openSkep(await openStore(name))
    const worker = skep.worker(handlers())

    const group = await skep.groups.group([1, 2, 3].map((n) => square.job(n)))
    const mapped = await skep.groups.map(square, [4, 5])
    const chord = await skep.groups.chord([square.job(1), square.job(2)], sum.job(null))
    const chain = await skep.groups.chain(Array.from({ length: 70 }, () => add.job(1)))
    const empty = await skep.groups.group<number>([])

    const squares: readonly number[] = await group.result()
    const total: number = await chord.result()
    expect(squares).toEqual([1, 4, 9])
    expect(await mapped.result()).toEqual([16, 25])
    expect(total).toBe(5)
    expect(await chain.result()).toBe(70)
    expect(await empty.result()).toEqual([])
    expect(await skep.jobs.handle(chord.nextId as string).result()).toBe(5)
    expect(group.nextId).toBeNull()
    await worker.stop()
  })

  it('and says which member failed, or what became of each', async () => {
    const skep = openSkep(await openStore(name))
    const worker = skep.worker(handlers())
    const group = await skep.groups.group([square.job(1), square.job(-1), square.job(3)])
    const chord = await skep.groups.chord([square.job(-1)], sum.job(null))

    await expect(group.result()).rejects.toMatchObject({
      code: 'JOB_FAILED',
      facts: { id: group.id, member: 1, state: 'dead' },
    })
    expect((await group.settled()).map((one) => (one.ok ? one.result : one.state))).toEqual([1, 'dead', 9])
    await expect(chord.result()).rejects.toMatchObject({ code: 'JOB_FAILED' })
    await worker.stop()
  })
})

describe('the result of a group', () => {
  it('is awaited as long as the caller says', async () => {
    const scene = openScene()
    const group = await scene.skep.groups.group([square.job(1)])

    expect(await codeOf(scene.through(group.result({ timeout: '5s' })))).toBe('RESULT_TIMEOUT')
    const aborting = new AbortController()
    const waiting = group.settled({ signal: aborting.signal })
    aborting.abort(new Error('enough'))
    await expect(waiting).rejects.toThrow('enough')
    expect(await codeOf(group.result({ timout: 1 } as never))).toBe('OPTION_INVALID')
  })

  it('has what is needed, with a join that does not need all', async () => {
    const scene = openScene()
    scene.skep.worker(handlers())
    const some = await scene.skep.groups.group([square.job(-1), square.job(2)], { join: settled })
    const one = await scene.skep.groups.group([square.job(-1), square.job(3)], {
      join: first(1),
      next: sum.job(null),
    })

    expect(await scene.through(some.result())).toEqual([4])
    expect(await scene.through(one.result())).toEqual([9])
  })

  it('of a group that is not there is refused', async () => {
    const { skep } = openScene()
    expect(await codeOf(skep.groups.keyed('none').result())).toBe('JOB_NOT_FOUND')
  })
})

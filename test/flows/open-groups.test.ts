import { describe, expect, it } from 'vitest'
import { failFast, never, queue, settled } from '../../src/index.ts'
import { codeOf, openScene } from '../worker/support/scene.ts'

const square = queue<number, number>('square', { onError: never() })
const sum = queue<{ label: string }, number>('sum')
const after = queue<string>('after')

describe('a group that members join over time', () => {
  it('is found by its key, and followed once when it is sealed and all have ended', async () => {
    const scene = openScene()
    const sums: number[] = []
    const { groups } = scene.skep
    await groups.open('order 62', { next: sum.job({ label: 'all' }) })
    scene.skep.worker([
      square.handle(({ payload }) => payload * payload),
      sum.handle(async ({ results }) => {
        const all = await results<number>()
        const total = all.reduce((so, one) => so + (one.ok ? one.result : 0), 0)
        sums.push(total)
        return total
      }),
    ])

    await groups.keyed('order 62').add([square.job(1), square.job(2)])
    await scene.until(async () => (await groups.keyed('order 62').get())?.done === 2)
    expect(await groups.keyed('order 62').get()).toMatchObject({ size: 2, isOpen: true, endedAt: null })
    const again = await groups.open<number>('order 62', { next: sum.job({ label: 'ignored' }) })
    await again.add([square.job(3)], { seal: true })
    await again.seal()
    await scene.until(() => sums.length === 1)

    expect(sums).toEqual([14])
    expect(await again.get()).toMatchObject({ size: 3, isOpen: false, done: 3 })
    expect(await again.results()).toEqual([1, 4, 9].map((result) => ({ ok: true, result })))
  })

  it('is over at once if it is sealed empty', async () => {
    const scene = openScene()
    const said: string[] = []
    scene.skep.worker([after.handle(({ payload }) => void said.push(payload))])

    await (await scene.skep.groups.open('none', { next: after.job('empty') })).seal()
    await scene.until(() => said.length === 1)

    expect(said).toEqual(['empty'])
  })

  it('calls back when one was not done, and when all have ended', async () => {
    const scene = openScene()
    const said: string[] = []
    scene.skep.worker([
      square.handle(() => Promise.reject(new Error('boom'))),
      after.handle(({ payload }) => void said.push(payload)),
    ])
    const calls = { onFailure: after.job('failed'), onComplete: after.job('ended'), next: after.job('done') }
    const group = await scene.skep.groups.open('bad', calls)
    await group.add([square.job(1)])
    await scene.until(async () => (await group.get())?.failed === 1)
    expect(said).toEqual([])

    await group.seal()
    await scene.until(() => said.length === 2)

    expect(said.toSorted()).toEqual(['ended', 'failed'])
  })

  it('refuses what comes after the seal, and what it does not know, and enqueues nothing', async () => {
    const scene = openScene()
    const group = await scene.skep.groups.open('sealed')
    await group.add([square.job(1)], { seal: true })

    expect(await codeOf(group.add([square.job(2)]))).toBe('GROUP_SEALED')
    expect(await codeOf(scene.skep.groups.keyed('nobody').add([square.job(2)]))).toBe('JOB_NOT_FOUND')
    expect(await codeOf(scene.skep.groups.keyed('nobody').seal())).toBe('JOB_NOT_FOUND')

    expect((await scene.skep.jobs.list({ queue: 'square' })).jobs).toHaveLength(1)
  })

  it('adds once when the answer was lost, before or after the work was done', async () => {
    const scene = openScene()
    const said: string[] = []
    const group = await scene.skep.groups.open('lost', { next: after.job('done') })
    let added = 0
    scene.faults.next('addMembers', 'after', 'lost', 'before')
    void group.add([square.job(1), square.job(2)]).then(() => added++)
    await scene.until(() => added === 1)
    scene.faults.next('addMembers', 'lost', 'after')
    void group.add([square.job(3)], { seal: true }).then(() => added++)
    await scene.until(() => added === 2)

    scene.skep.worker([
      square.handle(({ payload }) => payload),
      after.handle(({ payload }) => void said.push(payload)),
    ])
    await scene.until(() => said.length === 1)

    expect(await group.get()).toMatchObject({ size: 3, done: 3 })
    expect(scene.faults.count('addMembers')).toBe(7)
  })

  it('says what it waits for', async () => {
    const scene = openScene()
    const group = await scene.skep.groups.open('explained')
    await group.add([square.job(1)])

    const { summary } = await scene.skep.jobs.explain(group.id)

    expect(summary).toContain('The group is open: it cannot complete before it is sealed.')
  })

  it('refuses joins that cancel, keys that are none, and too many at once', async () => {
    const { groups } = openScene().skep
    const failing = { join: failFast as never, onFailure: after.job('x') }
    const twice = { join: settled, next: after.job('x'), onComplete: after.job('y') }

    expect(await codeOf(groups.open('key', failing))).toBe('OPTION_INVALID')
    expect(await codeOf(groups.open('key', twice))).toBe('OPTION_INVALID')
    expect(await codeOf(groups.open(''))).toBe('KEY_INVALID')
    const many = Array.from({ length: 10_001 }, () => square.job(1))
    expect(await codeOf(groups.keyed('key').add(many))).toBe('BATCH_TOO_LARGE')
  })
})

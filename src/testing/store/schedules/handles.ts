import assert from 'node:assert/strict'
import type { Store } from '../../../store/store.ts'
import { SPACE, sample } from '../samples.ts'
import type { StoreCase } from '../scene.ts'
import { draft, FIRST, fire, fireAll, put, read } from './schedules.ts'

/** Two processes on the same schedules. */
export function scheduleHandlesCases(test: StoreCase, reopen: (store: Store) => Promise<Store>): void {
  test('of two processes that fire the same slots each slot is fired by one', async (scene) => {
    const other = await reopen(scene.store)
    try {
      const names = Array.from({ length: 50 }, (_, n) => `s${n}`)
      await put(scene, ...names.map((name) => draft(name)))
      scene.now = FIRST
      const there = scene.through(other)
      // Each slot's job has the same id for both, as it has in life; they come in opposite orders.
      const fires = names.map((name, n) => fire(name, { jobs: [sample(n + 1)] }))
      const halves = [fires.slice(0, 25), fires.slice(25)]

      const results = await Promise.all(
        halves.flatMap((half) => [fireAll(scene, ...half), fireAll(there, ...half.toReversed())]),
      )

      const fired = results.flat().filter(({ status }) => status === 'fired')
      assert.equal(fired.length, names.length)
      assert.equal((await scene.list('ready')).length, names.length)
    } finally {
      await other.close()
    }
  })

  test('a change by another process is seen before the fire, or the fire before the change', async (scene) => {
    const other = await reopen(scene.store)
    try {
      scene.now = FIRST
      for (let round = 0; round < 10; round++) {
        const name = `r${round}`
        await put(scene, draft(name))
        const expect = { revision: `${name}-1`, nextAt: FIRST }
        const change = draft(name, { revision: `${name}-2`, spec: '{}', nextAt: FIRST + 5, expect })
        const [fired, changed] = await Promise.all([
          fireAll(scene, fire(name, { jobs: [sample(round + 1)] })),
          put(scene.through(other), change),
        ])
        const isFired = fired[0]?.status === 'fired'
        assert.equal(changed[0], isFired ? 'refused' : 'ok')
        const { revision, fired: count } = (await read(scene, name, SPACE)) as {
          revision: string
          fired: number
        }
        assert.deepEqual([revision, count], isFired ? [`${name}-1`, 1] : [`${name}-2`, 0])
      }
    } finally {
      await other.close()
    }
  })
}

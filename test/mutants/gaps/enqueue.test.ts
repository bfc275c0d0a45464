import { expect, it } from 'vitest'
import { LIMITS } from '../../../src/core/limits.ts'
import { queue } from '../../../src/index.ts'
import type { InsertCall } from '../../../src/store/store.ts'
import { openScene } from '../../worker/support/scene.ts'

it('callers share an insert only up to what one call of a store may hold', async () => {
  const scene = openScene()
  const mail = queue<number>('mail')
  const items = Array.from({ length: 400 }, (_, n) => n)
  await scene.through(Promise.all(Array.from({ length: 8 }, () => scene.skep.enqueueMany(mail, items))))

  const inserts = scene.faults.calls.filter(({ operation }) => operation === 'insert')
  const sizes = inserts.map(({ argument }) => (argument as InsertCall).jobs.length)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(3_200)
  expect(Math.max(...sizes)).toBeLessThanOrEqual(LIMITS.storeBatch)
})

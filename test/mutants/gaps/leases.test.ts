// Leases as a worker sees them. Times are those of a virtual clock.

import { expect, it } from 'vitest'
import { queue } from '../../../src/index.ts'
import { type Runtime, sleep } from '../../../src/runtime/runtime.ts'
import type { Store } from '../../../src/store/store.ts'
import { aborted, openScene } from '../../worker/support/scene.ts'

const LEASE_MS = 30_000
const mail = queue<number, number>('mail')

/** A store that claims at once and answers late. */
function answersLate(ms: number, runtime: () => Runtime): (store: Store) => Store {
  return (store) => ({
    ...store,
    async claim(call) {
      const reply = await store.claim(call)
      if (reply.jobs.length > 0) await sleep(runtime(), ms)
      return reply
    },
  })
}

it('a lease counts from when the claim was sent: a late answer leaves less of it', async () => {
  const scene = openScene({ wrap: answersLate(20_000, () => scene.runtime) })
  let endedAt: number | null = null
  const handler = mail.handle(async ({ signal }) => {
    await aborted(signal)
    endedAt ??= scene.runtime.mono()
    return 1
  })
  await scene.through(scene.skep.worker([handler], { lease: LEASE_MS }).ready)
  await scene.skep.enqueue(mail, 1)
  scene.faults.break('before', ['extend'])
  const sentBy = scene.runtime.mono() + 1_000

  await scene.until(() => endedAt !== null)
  expect(endedAt).toBeLessThanOrEqual(sentBy + LEASE_MS)
})

it('a job whose claim was answered after its lease had ended is not started under it', async () => {
  const scene = openScene({ wrap: answersLate(LEASE_MS + 1_000, () => scene.runtime) })
  const left: number[] = []
  const handler = mail.handle(async ({ id }) => {
    const { leaseUntil } = await scene.job(id)
    left.push((leaseUntil ?? 0) - scene.runtime.now())
    return 1
  })
  await scene.through(scene.skep.worker([handler], { lease: LEASE_MS }).ready)
  scene.faults.break('before', ['expired'])
  const job = await scene.skep.enqueue(mail, 1)
  // It goes back, and the same call claims it anew.
  await scene.through(job.result())
  expect(left).toHaveLength(1)
  expect(left[0]).toBeGreaterThan(0)
})

it('a lease does not go by the wall clock: putting that back makes it no longer', async () => {
  const scene = openScene()
  const stops: number[] = []
  const handler = mail.handle(async ({ signal }) => {
    await aborted(signal)
    stops.push(scene.runtime.mono())
    return 1
  })
  await scene.through(scene.skep.worker([handler], { lease: LEASE_MS }).ready)
  await scene.skep.enqueue(mail, 1)
  await scene.advance(5_000)

  scene.faults.break('before', ['extend'])
  scene.runtime.jump(-3_600_000)
  await scene.advance(LEASE_MS)
  expect(stops).toHaveLength(1)
})

it('a lease does not go by the wall clock: putting that forward ends none', async () => {
  const scene = openScene()
  let isStopped = false
  const handler = mail.handle(async ({ signal }) => {
    await aborted(signal)
    isStopped = true
    return 1
  })
  await scene.through(scene.skep.worker([handler], { lease: LEASE_MS }).ready)
  await scene.skep.enqueue(mail, 1)
  await scene.advance(5_000)

  // The memory store goes by this clock too, so a lease that ends there could be taken away: there is nobody to do it.
  scene.faults.break('before', ['expired'])
  scene.runtime.jump(3_600_000)
  await scene.advance(1_000)
  expect(isStopped).toBe(false)
})

import { describe, expect, it } from 'vitest'
import { answeringStore } from '../../src/client/with-timeouts.ts'
import { memoryStore } from '../../src/memory.ts'
import type { ClaimCall, Store } from '../../src/store/store.ts'
import { type VirtualRuntime, virtualRuntime } from '../../src/testing.ts'
import { newJob } from '../support/new-job.ts'
import { FaultyStore } from '../worker/support/faulty-store.ts'
import { codeOf } from '../worker/support/scene.ts'

const ID = '01a31c50-0000-7000-8000-000000000001'
const JOB = newJob({ id: ID, space: 'default' })
const CLAIM: ClaimCall = {
  sources: [{ space: 'default', queue: 'mail', limit: 10 }],
  limit: 10,
  workerId: 'w',
  token: 't',
  leaseMs: 3_600_000,
}

/** A store with one job, whose next claim arrives after 70 s and is answered after 140 s. */
async function slowStore(): Promise<{ runtime: VirtualRuntime; truth: Store; store: Store }> {
  const runtime = virtualRuntime({ seed: 1 })
  const truth = memoryStore({ runtime })
  const faults = new FaultyStore(truth, runtime)
  await truth.insert({ jobs: [JOB] })
  faults.next('claim', { slowMs: 140_000 })
  return {
    runtime,
    truth,
    store: answeringStore(faults.store, { runtime, callMs: 60_000, insertMs: 10_000 }),
  }
}

describe('a claim that is answered too late', () => {
  it('gives its jobs back unrun, because nobody knows of them', async () => {
    const { runtime, truth, store } = await slowStore()

    const code = codeOf(store.claim(CLAIM))
    await runtime.advance(100_000)
    const [leased] = (await truth.get({ space: 'default', ids: [ID] })).jobs
    await runtime.advance(50_000)
    const [given] = (await truth.get({ space: 'default', ids: [ID] })).jobs

    expect(await code).toBe('STORE_UNKNOWN')
    expect(leased?.state).toBe('running')
    expect(given).toMatchObject({ state: 'ready', starts: 0, lost: 0 })
    expect(runtime.timers).toBe(0)
  })

  it('leaves its jobs to the worker that asked again and got them', async () => {
    const { runtime, truth, store } = await slowStore()

    const code = codeOf(store.claim(CLAIM))
    await runtime.advance(80_000)
    const { jobs } = await store.claim({ ...CLAIM, again: true })
    await runtime.advance(70_000)
    const [held] = (await truth.get({ space: 'default', ids: [ID] })).jobs

    expect(await code).toBe('STORE_UNKNOWN')
    expect(jobs.map(({ id }) => id)).toEqual([ID])
    expect(held).toMatchObject({ state: 'running', starts: 1, token: 't' })
  })
})

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { work } from './modules/queues.ts'
import { openStage, STORES, testModules, until } from './support.ts'

const module = testModules({ 'work.mjs': 'work.thread.ts' })

describe.each(STORES)('while threads are blocked, over %s', (store) => {
  it('the leases of their jobs are kept, and the event loop is free', async () => {
    const stage = await openStage(store)
    const file = join(stage.folder, 'go')
    const options = { lease: '1s' } as const
    const worker = await stage.worker([work.handleInThreads(module('work.mjs'), { threads: 2 })], options)
    // A second worker, that would take over what the first one lets go.
    await stage.worker([work.handleInThreads(module('work.mjs'), { threads: 1 })], options)
    const jobs = await stage.skep.enqueueMany(work, [
      { do: 'spin', until: file },
      { do: 'spin', until: file },
    ])
    await until(async () => (await stage.skep.queues.list([work]))[0]?.running === 2)
    let turns = 0
    const timer = setInterval(() => turns++, 1)

    // Three times the lease, told by what happens in the event loop meanwhile.
    const beats = (): number => worker.health().loops.find(({ name }) => name === 'heartbeat')?.ticks ?? 0
    const first = beats()
    await until(() => beats() >= first + 36)
    clearInterval(timer)
    const states = await Promise.all(jobs.map((job) => job.get()))
    writeFileSync(file, '')

    expect(turns).toBeGreaterThan(36)
    expect(states.map((view) => view?.state)).toEqual(['running', 'running'])
    for (const job of jobs) {
      expect(await job.result()).toBe('spun')
      expect(await job.get()).toMatchObject({ starts: 1, lost: 0 })
    }
  })
})

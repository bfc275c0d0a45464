import { describe, expect, it } from 'vitest'
import { createWorld } from './world.ts'

describe('what a Redis store says of its server', () => {
  it('is what it has in memory, and a warning when that is nearly full', async (t) => {
    const world = await createWorld(t)
    const store = await world.open()

    const well = await store.examine?.()
    // The memory of the server changes on its own, so its limit is set until it is nearly full at the same moment.
    let full: Awaited<ReturnType<typeof store.examine>> | undefined
    for (let tries = 0; tries < 20 && full?.[1] === undefined; tries++) {
      const [, used = '0'] = /used_memory:(\d+)/.exec(await world.cli('INFO', 'memory')) ?? []
      await world.cli('CONFIG', 'SET', 'maxmemory', String(Math.round(Number(used) * 1.05)))
      full = await store.examine?.()
    }

    expect(well).toMatchObject([{ name: 'storage', status: 'ok', fix: null }])
    expect(well?.[0]?.text).toMatch(/^the server has [\d.]+ [KM]B of 200 MB in memory/)
    expect(full?.[1]).toMatchObject({
      status: 'warn',
      fix: expect.stringMatching(/^Give it more: CONFIG SET maxmemory \d+$/),
    })
  })
})

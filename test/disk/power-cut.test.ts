import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runChain } from './power-cut.ts'
import { PowerDisk, whyNoPowerDisk } from './power-disk.ts'

const reason = whyNoPowerDisk()
if (reason !== undefined) console.warn(`Power cuts are not tested: ${reason}.`)

describe.skipIf(reason !== undefined)('A power cut under SQLite', () => {
  let disk: PowerDisk
  beforeAll(async () => {
    disk = await PowerDisk.start()
  })
  afterAll(() => disk?.stop())

  it('takes nothing that was acknowledged, however often it comes; and then everything is finished', async () => {
    const report = await runChain(disk, { seed: 11, cuts: 4, changes: [200, 3_000] })

    expect(report.violations).toEqual([])
    expect(report.cuts.length).toBe(4)
    expect(report.acknowledged).toBeGreaterThan(20)
  }, 90_000)

  it('leaves a database that is whole while the tables are being made', async () => {
    const report = await runChain(disk, { seed: 12, cuts: 3, changes: [2, 110] })

    expect(report.violations).toEqual([])
  }, 90_000)

  // What follows has to lose jobs: otherwise the tests above could not fail.

  it("does take what was acknowledged with synchronous: 'normal'", async () => {
    const options = { synchronous: 'normal', mode: 'forget', changes: [1_500, 1_500], drains: false } as const
    const report = await runChain(disk, { seed: 13, cuts: 1, ...options })

    expect(report.lost).toBeGreaterThan(0)
    expect(report.violations).not.toEqual([])
  }, 90_000)

  it('does take what was acknowledged when the disk lies about syncs', async () => {
    await disk.lie(true)
    const options = { mode: 'mix', changes: [1_500, 1_500], drains: false } as const
    const report = await runChain(disk, { seed: 14, cuts: 1, ...options })
    await disk.lie(false)

    expect(report.violations).not.toEqual([])
  }, 90_000)
})

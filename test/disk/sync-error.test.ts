import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Line, readEvidence } from './evidence.ts'
import { BYTES, startVictim } from './power-cut.ts'
import { PowerDisk, whyNoPowerDisk } from './power-disk.ts'
import { miscounts, readHoldings } from './sqlite-holdings.ts'
import { later, until } from './support.ts'
import { judge } from './verdict.ts'
import type { VictimOptions } from './victim.ts'

const reason = whyNoPowerDisk()
if (reason !== undefined) console.warn(`Failing syncs are not tested: ${reason}.`)

const acknowledgements = (lines: readonly Line[]): number =>
  lines.filter(
    ({ sign }) => sign === 'enqueued' || sign === 'finished' || sign === 'dead' || sign === 'cancelled',
  ).length

/**
 * One sync fails, as Linux fails it: what it should have saved stays visible and is never written, and all later syncs
 * succeed. Whoever goes on after it acknowledges what a power cut will take.
 */
describe.skipIf(reason !== undefined)('A sync that fails once under SQLite', () => {
  let disk: PowerDisk
  beforeAll(async () => {
    disk = await PowerDisk.start()
  })
  afterAll(() => disk?.stop())

  it('of the log: nothing is acknowledged any more, callers are told, and a power cut takes nothing', async () => {
    const { evidence, stopAndJudge } = await workOnDisk()
    await until(() => acknowledgements(readEvidence(evidence)) >= 100)

    const { failed } = await disk.failSync({ file: 'jobs.db-wal' })
    await failed
    // The sync has answered; what was acknowledged before it may still be on its way to the evidence.
    await until(() => readEvidence(evidence).some(({ sign }) => sign === 'refused'))
    const before = readEvidence(evidence)
    await sleep(500)
    const after = readEvidence(evidence)

    expect(acknowledgements(after)).toBe(acknowledgements(before))
    const codes = new Set(after.filter(({ sign }) => sign === 'refused').map(({ more }) => more))
    for (const code of codes) expect(['STORE_UNKNOWN', 'STORE_UNAVAILABLE']).toContain(code)
    expect(await stopAndJudge()).toEqual([])
  }, 60_000)

  it('of the database, while the log is taken over into it: a power cut takes nothing', async () => {
    const { evidence, stopAndJudge } = await workOnDisk()
    await until(() => acknowledgements(readEvidence(evidence)) >= 100)
    const { failed } = await disk.failSync({ file: 'jobs.db' })

    await failed
    // It may go on, because the log still has everything: then it must be true.
    const sofar = acknowledgements(readEvidence(evidence))
    await Promise.race([until(() => acknowledgements(readEvidence(evidence)) >= sofar + 200), sleep(3_000)])

    expect(await stopAndJudge()).toEqual([])
  }, 60_000)

  /** A program on a new disk; ended by a power cut that forgets whatever was not synced. */
  async function workOnDisk(): Promise<{ evidence: string; stopAndJudge: () => Promise<string[]> }> {
    await disk.replace()
    const folder = mkdtempSync(join(tmpdir(), 'skep-evidence-'))
    later(() => rmSync(folder, { recursive: true, force: true }))
    const evidence = join(folder, 'evidence')
    const victim = await startVictim()
    const ended = new Promise((resolve) => victim.once('exit', resolve))
    later(() => {
      victim.kill('SIGKILL')
      return ended
    })
    const { happened } = await disk.arm({
      afterChanges: Number.MAX_SAFE_INTEGER,
      beforeTheLast: true,
      mode: 'forget',
      seed: 1,
    })
    victim.send({
      file: join(disk.folder, 'jobs.db'),
      evidence,
      name: 'v',
      seed: 5,
      callers: 8,
      bytes: BYTES,
      synchronous: 'full',
      enqueueTimeoutMs: 100,
    } satisfies VictimOptions)

    return {
      evidence,
      async stopAndJudge() {
        await disk.cutNow()
        await happened
        victim.kill('SIGKILL')
        await disk.release()
        await ended
        await disk.copy(folder)
        await disk.restore()
        const file = join(folder, 'jobs.db')
        const { violations, ...holdings } = readHoldings(file)
        const verdict = judge(readEvidence(evidence), holdings, { drained: false, bytes: BYTES })
        return [...violations, ...verdict.violations, ...(await miscounts(file, holdings))]
      },
    }
  }
})

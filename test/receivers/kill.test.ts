import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { JobState } from '../../src/core/jobs/job.ts'
import { queue } from '../../src/index.ts'
import { hasDrained } from '../crash/chaos.ts'
import { readRecords, SLACK_MS } from '../crash/evidence.ts'
import { openProgram, type ProgramConfig } from '../crash/program.ts'
import { Slot } from '../crash/slot.ts'
import { openStage, type StoreName } from '../crash/stage.ts'
import { check, describeReport } from '../proof/checker/index.ts'
import type { HistoryRecord } from '../proof/history.ts'
import { recordedEnqueue } from '../proof/recorder.ts'
import { freePort } from '../servers/server.ts'
import { PersistentClient } from './support/persistent-client.ts'

/**
 * What a receiver says to another server than the one that gave it the job is told to the store like a rescue: accepted once, and
 * never as a repetition. But it is the word of whoever ran the job, and no rescue.
 */
function asOwn(record: HistoryRecord): HistoryRecord {
  return record.f === 'settle' && record.rescue && record.to === 'done'
    ? { ...record, rescue: false }
    : record
}

const KILLS = 4
/** Receivers, servers and the store share this machine, and all of them are busy. */
const BUSY_SLACK_MS = 4 * SLACK_MS
const LEASE_MS = 5_000
const mail = queue<{ n: number }, unknown>('mail')

describe('servers killed with SIGKILL while jobs are out on streams', { timeout: 170_000 }, () => {
  let programs = ''
  beforeAll(async () => {
    programs = mkdtempSync(join(fileURLToPath(new URL('.', import.meta.url)), 'support', '.programs-'))
    const input = fileURLToPath(new URL('./support/server-program.ts', import.meta.url))
    const build = await rolldown({
      input,
      platform: 'node',
      external: ['pg-native', 'postgres', '@photostructure/sqlite'],
      logLevel: 'silent',
    })
    await build.write({ file: join(programs, 'server.mjs'), format: 'esm', codeSplitting: false })
    await build.close()
  })
  afterAll(() => rmSync(programs, { recursive: true, force: true }))

  const closers: (() => unknown)[] = []
  afterEach(async () => {
    for (const close of closers.splice(0).toReversed()) await close()
  })

  it.each<StoreName>(['sqlite', 'postgres', 'redis'])('nothing is lost on %s', async (store) => {
    const folder = mkdtempSync(join(tmpdir(), `skep-receivers-${store}-`))
    closers.push(() => rmSync(folder, { recursive: true, force: true }))
    const stage = await openStage(store, folder)
    closers.push(() => stage.remove())
    const records = join(folder, 'records')
    mkdirSync(records)
    const surprises: string[] = []
    const config = (proc: string): ProgramConfig => ({
      proc,
      address: stage.address(proc.split('#')[0] as string),
      records,
      hints: true,
      seed: 1,
      leaseMs: LEASE_MS,
      rescueGraceMs: 1_000,
      concurrency: 10,
      callTimeoutMs: LEASE_MS,
      rate: 0,
      callers: 0,
      behind: 0,
    })
    const ports = [await freePort(), await freePort()]
    const slots = ports.map(
      (port, index) =>
        new Slot({
          name: `w${index + 1}`,
          script: join(programs, 'server.mjs'),
          config: (proc) => ({ ...config(proc), port }),
          onSurprise: (what) => void surprises.push(what),
        }),
    )
    for (const slot of slots) {
      slot.start()
      closers.push(() => slot.kill())
    }
    await Promise.all(slots.map(({ ready }) => ready))
    const urls = ports.map((port) => `http://127.0.0.1:${port}`)
    const clients = [0, 1, 2].map((n) => new PersistentClient(urls, n))
    closers.push(() => Promise.all(clients.map((client) => client.stop())))

    const { skep, recorder } = openProgram(config('p1#1'))
    let enqueued = 0
    const enqueue = async (): Promise<void> => {
      const tasks = Array.from({ length: 50 }, () => ({ n: enqueued++ }))
      await recordedEnqueue(recorder, 'mail', skep.enqueueMany(mail, tasks))
    }
    for (let kill = 0; kill < KILLS; kill++) {
      const slot = slots[kill % 2] as Slot
      for (let n = 0; n < 8; n++) {
        await enqueue()
        await sleep(40)
      }
      await slot.kill()
      recorder.write({ f: 'crash', type: 'ok', what: slot.proc })
      slot.start()
      await enqueue()
      await slot.ready
    }
    const beside = stage.open()
    closers.push(() => beside.close())
    const drained = await hasDrained(beside, 60_000)
    await Promise.all(clients.map((client) => client.stop()))
    await Promise.all(slots.map((slot) => slot.stop(20_000)))
    await skep.close()

    const counts = await beside.counts({ space: 'default' })
    const { audit, final, faults = [] } = await stage.read()
    const report = check({
      records: readRecords(records).map(asOwn),
      audit,
      final,
      facts: {
        drained,
        slackMs: BUSY_SLACK_MS,
        leaseMs: LEASE_MS,
        queues: {
          mail: {
            retries: { errors: 20, timeouts: 12, lost: 5 },
            backoffMs: { errors: 0, timeouts: 0, lost: 0 },
            discards: false,
          },
        },
        limits: [],
        overlapping: store === 'postgres',
        counts: Object.fromEntries(
          counts.queues.map(({ queue: name, states }) => [name, states as Record<JobState, number>]),
        ),
        leaks: {},
        liveness: beside.capabilities.liveness,
      },
    })
    expect(report.violations, describeReport(report)).toEqual([])
    expect(faults).toEqual([])
    expect(surprises).toEqual([])
    expect(drained).toBe(true)
    expect(report.counts).toMatchObject({ enqueued, lost: 0, unexpected: 0 })
    const seen = new Set(clients.flatMap((client) => [...client.seen.keys()]))
    expect(seen.size).toBe(enqueued)
  })
})

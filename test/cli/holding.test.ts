import { execFileSync } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { project, skep, start } from './cli.ts'

const CONFIG = `
import { appendFileSync } from 'node:fs'
import { defineConfig, queue } from 'skep'
import { sqliteStore } from 'skep/sqlite'

const fast = queue('fast')
const clean = queue('clean')

export default defineConfig({
  store: () => sqliteStore({ file: 'jobs.db' }),
  handlers: [
    fast.handle(async () => {
      appendFileSync('begun', '.')
      await new Promise((resolve) => setTimeout(resolve, 2))
    }),
    clean.handle(({ signal }) => new Promise((resolve) => {
      console.log('clean began')
      signal.addEventListener('abort', () => setTimeout(() => resolve('cleaned up'), 300))
    })),
  ],
})
`

const FILL = `
import { createSkep, queue } from 'skep'
import { sqliteStore } from 'skep/sqlite'

const skep = createSkep({ store: sqliteStore({ file: 'jobs.db' }) })
await skep.enqueueMany(queue('fast'), Array.from({ length: 5_000 }, (_, n) => n))
await skep.close()
`

describe('a worker process', () => {
  it('starts nothing that it has prefetched after skep queues pause --wait', async () => {
    const cwd = project({ 'skep.config.mjs': CONFIG, 'fill.mjs': FILL })
    execFileSync(process.execPath, ['fill.mjs'], { cwd })
    appendFileSync(join(cwd, 'begun'), '')
    const begun = (): number => readFileSync(join(cwd, 'begun')).length
    const workers = [start(['worker', '--json'], { cwd }), start(['worker', '--json'], { cwd })]
    await Promise.all(workers.map((worker) => worker.until(/"started"/)))
    await expect.poll(begun, { timeout: 60_000, interval: 5 }).toBeGreaterThan(100)

    const paused = await skep(['queues', 'pause', 'fast', '--wait', '60s'], { cwd })
    const atAnswer = begun()
    const shown = JSON.parse((await skep(['queues', 'fast', '--json'], { cwd })).stdout)
    for (const { child } of workers) child.kill('SIGTERM')
    await Promise.all(workers.map(({ ended }) => ended))

    expect(paused).toMatchObject({ code: 0, stdout: 'Paused fast.\n' })
    expect(shown.queues[0].ready).toBeGreaterThan(0)
    expect(begun()).toBe(atAnswer)
  })

  it('takes what its handlers answer after a second Ctrl-C, and refuses --timeout, which is for drain', async () => {
    const cwd = project({ 'skep.config.mjs': CONFIG })
    expect(existsSync(join(cwd, 'jobs.db'))).toBe(false)
    const id = (await skep(['enqueue', 'clean'], { cwd })).stdout.trim()
    const worker = start(['worker'], { cwd })
    await worker.until(/clean began/)

    worker.child.kill('SIGTERM')
    await worker.until(/Stopping: 1 job/)
    // The first is only another signal to stop; the second one hurries.
    worker.child.kill('SIGTERM')
    worker.child.kill('SIGINT')
    const { code } = await worker.ended

    expect(code).toBe(0)
    const { jobs } = JSON.parse((await skep(['jobs', 'get', id, '--json'], { cwd })).stdout)
    expect(jobs[0]).toMatchObject({ state: 'done', result: 'cleaned up', starts: 1 })
    expect((await skep(['queues', 'pause', 'clean', '--timeout', '1s'], { cwd })).code).toBe(2)
  })
})

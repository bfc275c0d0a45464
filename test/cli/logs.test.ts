import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { project, skep, start } from './cli.ts'

const UNKNOWN = '01890a5d-ac96-774b-bcce-b302099a8057'

/** A job that writes lines, waits until there is a file, and writes the rest. */
const CONFIG = `
import { existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { defineConfig, queue } from 'skep'
import { sqliteStore } from 'skep/sqlite'

const steps = queue('steps')
const go = new URL('./go', import.meta.url)

export default defineConfig({
  store: () => sqliteStore({ file: 'jobs.db' }),
  handlers: [
    steps.handle(async ({ log, progress, signal }) => {
      log('begun', { n: 1 })
      progress(50, 'half')
      while (!existsSync(go)) await setTimeout(20, undefined, { signal })
      log.warn('\\u001b[2Jred\\nforged line')
      progress(100)
      return 'all'
    }),
  ],
})
`

describe('skep jobs watch', () => {
  it('shows all that happens until the end, and says by its exit code how that was', async () => {
    const cwd = project({ 'skep.config.mjs': CONFIG })
    const worker = start(['worker', '--json'], { cwd })
    await worker.until(/"started"/)
    const id = (await skep(['enqueue', 'steps'], { cwd })).stdout.trim()
    const later = (await skep(['enqueue', 'steps', '--delay', '1h'], { cwd })).stdout.trim()

    const [watched, other] = [start(['jobs', 'watch', id], { cwd }), start(['jobs', 'watch', later], { cwd })]
    await Promise.all([watched.until(/50 half/), other.until(/delayed/)])
    writeFileSync(join(cwd, 'go'), '')
    await skep(['jobs', 'cancel', later], { cwd })
    const [done, cancelled] = await Promise.all([watched.ended, other.ended])
    const afterwards = await skep(['jobs', 'watch', later, '--json'], { cwd })
    const codes = []
    for (const args of [[UNKNOWN], [], [id, id]])
      codes.push((await skep(['jobs', 'watch', ...args], { cwd })).code)
    worker.child.kill('SIGTERM')
    await worker.ended

    expect(done.code).toBe(0)
    expect(done.stdout).toMatch(
      /Z running\n[\s\S]*begun[\s\S]*progress 50 half\n[\s\S]*red forged line\n[\s\S]*Z done\n$/,
    )
    expect(cancelled.stdout).toMatch(/Z delayed\n\S+Z cancelled[^\n]*\n$/)
    expect(cancelled.code).toBe(1)
    expect([afterwards.code, JSON.parse(afterwards.stdout)]).toEqual([
      1,
      { kind: 'state', state: 'cancelled' },
    ])
    expect(codes).toEqual([3, 2, 2])
  })
})

describe('skep jobs logs', () => {
  it('follows a job to its end, and shows it again later', async () => {
    const cwd = project({ 'skep.config.mjs': CONFIG })
    const worker = start(['worker', '--json'], { cwd })
    await worker.until(/"started"/)
    const id = (await skep(['enqueue', 'steps'], { cwd })).stdout.trim()

    const followed = start(['jobs', 'logs', id, '--follow'], { cwd })
    const asJson = start(['jobs', 'logs', id, '-f', '--json'], { cwd })
    await Promise.all([followed.until(/begun/), asJson.until(/half/)])
    const running = await skep(['jobs', 'get', id], { cwd })
    writeFileSync(join(cwd, 'go'), '')
    const [ended, events] = await Promise.all([followed.ended, asJson.ended])
    const shown = await skep(['jobs', 'logs', id], { cwd })
    const all = await skep(['jobs', 'logs', id, '--json'], { cwd })
    const one = await skep(['jobs', 'get', id, '--json'], { cwd })
    worker.child.kill('SIGTERM')
    await worker.ended

    expect(ended.code).toBe(0)
    expect(ended.stdout).toMatch(/^\S+Z info {2}begun \{"n":1\}\n\S+Z warn {2}red forged line\n$/)
    expect(ended.stderr).toMatch(/progress 50 half\n[\s\S]*done\n/)
    const kinds = events.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { kind: string; state?: string })
    expect(kinds.map(({ kind }) => kind)).toContain('progress')
    expect(kinds.at(-1)).toEqual({ kind: 'state', state: 'done' })
    expect(running.stdout).toMatch(/progress +50 half/)
    expect(shown.stdout).toBe(ended.stdout)
    expect(JSON.parse(all.stdout)).toMatchObject({
      progress: { value: 100, note: null },
      lines: [{ place: 1, message: 'begun', fields: { n: 1 } }, { level: 'warn' }],
      dropped: 0,
    })
    expect(JSON.parse(one.stdout).jobs[0].progress).toMatchObject({ value: 100 })
  })

  it('ends with Ctrl-C, tells what is not there, and wants one job', async () => {
    const cwd = project()
    const id = (await skep(['enqueue', 'mail', '-d', '1'], { cwd })).stdout.trim()
    const followed = start(['jobs', 'logs', id, '--follow'], { cwd })
    await followed.until(/ready/)

    followed.child.kill('SIGINT')
    const ended = await followed.ended
    const none = await skep(['jobs', 'logs', id], { cwd })
    const codes = []
    for (const args of [[UNKNOWN], [UNKNOWN, '--follow'], [], [id, id], ['x']])
      codes.push((await skep(['jobs', 'logs', ...args], { cwd })).code)

    expect(ended.code).toBe(0)
    expect(none).toMatchObject({ code: 0, stdout: '' })
    expect(none.stderr).toContain('No lines.')
    expect(codes).toEqual([3, 3, 2, 2, 2])
  })
})

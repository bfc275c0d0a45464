import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type NatsServer, startNats } from '../servers/index.ts'
import { project, skep, start } from './cli.ts'

let nats: NatsServer
beforeAll(async () => {
  const started = await startNats()
  if (!started.nats) throw new Error(`There is no NATS for the tests: ${started.reason}`)
  nats = started.nats
}, 60_000)
afterAll(() => nats?.stop())

function config(notifier: string): string {
  return `
    import { defineConfig, queue } from 'skep'
    import { sqliteStore } from 'skep/sqlite'
    import { natsNotifier } from 'skep/nats'
    export default defineConfig({
      store: () => sqliteStore({ file: 'jobs.db' }),
      notifier: ${notifier},
      handlers: [queue<{ name: string }>('hello').handle(({ payload }) => 'Hello, ' + payload.name + '!')],
    })`
}

describe('the notifier of a config', () => {
  it('is used by every command, and closed when the command ends', async () => {
    const cwd = project({
      'skep.config.ts': config(`() => natsNotifier({ servers: ${JSON.stringify(nats.urls)} })`),
    })
    const worker = start(['worker'], { cwd })
    await worker.until(/started/)

    const enqueued = await skep(['enqueue', 'hello', '-d', '{"name":"Ada"}', '--wait', '20s'], { cwd })
    const doctor = await skep(['doctor', '--json'], { cwd })
    worker.child.kill('SIGTERM')

    expect(enqueued).toMatchObject({ code: 0, stdout: '"Hello, Ada!"\n' })
    expect(doctor.stdout).toMatch(/NATS/)
    expect(await worker.ended).toMatchObject({ code: 0 })
  })

  it('is named when it is none', async () => {
    const { code, stderr } = await skep(['queues'], {
      cwd: project({ 'skep.config.ts': config('() => 5 as never') }),
    })

    expect(stderr).toContain('CONFIG_INVALID')
    expect(stderr).toContain('notifier is no notifier')
    expect(code).toBe(2)
  })
})

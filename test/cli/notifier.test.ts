import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openConnection } from '../nats/world.ts'
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

  it('shows its dead notices', async () => {
    const cwd = project({
      'skep.config.ts': config(
        `() => natsNotifier({ servers: ${JSON.stringify(nats.urls)}, prefix: 'dead-notices' })`,
      ),
    })
    expect(await skep(['dead', 'notices'], { cwd })).toMatchObject({ code: 0, stdout: '' })
    const worker = start(['worker'], { cwd })
    await worker.until(/started/)

    const connection = await openConnection(nats)
    const shown = async (): Promise<string> => {
      // What is published before the stream is there is lost.
      connection.publish('dead-notices.notices.default.hello', 'not a notice')
      const { stdout, stderr } = await skep(['dead', 'notices'], { cwd })
      return stdout + stderr
    }
    await expect.poll(shown, { timeout: 60_000, interval: 500 }).toMatch(/hello .*Not a notice: not a notice/)
    const { stdout } = await skep(['dead', 'notices', '--json', '--limit', '5'], { cwd })
    worker.child.kill('SIGTERM')
    await worker.ended

    expect(JSON.parse(stdout)).toMatchObject({ notices: [{ queue: 'hello', ids: [] }] })
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

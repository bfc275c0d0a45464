import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { asInstalled, CONFIG, project, skep, start } from './cli.ts'

asInstalled()

const HEAD = `import { defineConfig, queue } from 'skep'\nimport { memoryStore } from 'skep/memory'\n`

describe('the config file', () => {
  it('is TypeScript, with imports of its own, and found from folders below', async () => {
    const cwd = project({
      'skep.config.ts': `${HEAD}
        import { handlers } from './jobs'
        export default defineConfig({ store: memoryStore(), handlers, space: 'shop' })`,
      // What Node's own TypeScript refuses: an enum, and an import without its ending (above).
      'jobs.ts': `${HEAD}enum Kind { A = 'a' }\nexport const handlers = [queue('mail').handle(() => Kind.A)]`,
    })
    mkdirSync(join(cwd, 'deep/er'), { recursive: true })

    const { stdout, code } = await skep(['queues', '--json'], { cwd: join(cwd, 'deep/er') })

    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({ space: 'shop', queues: [], holds: [] })
  })

  it.each(['skep.config.mts', 'skep.config.js', 'skep.config.mjs'])('may be called %s', async (name) => {
    const cwd = project({
      'package.json': '{"type":"module"}',
      [name]: `${HEAD}export default defineConfig({ store: memoryStore() })`,
    })

    expect(await skep(['queues', '--json'], { cwd })).toMatchObject({ code: 0 })
  })

  it.each([
    ['throws', `throw new Error('no DATABASE_URL')`, 'no DATABASE_URL'],
    ['cannot be parsed', 'export default {', 'could not be loaded'],
    ['has no default export', 'export const a = 1', 'no default export'],
    ['exports something else', 'export default 7', 'not a config but a number'],
    ['has no store', 'export default { handlers: [] }', 'store is missing'],
    ['has a store that is none', 'export default { store: {} }', 'store is an object of another kind'],
    ['returns no store', 'export default { store: () => 5 }', 'returned no store'],
    [
      'has handlers that are none',
      'export default { store: () => 5, handlers: [() => 1] }',
      'handlers[0] is a function',
    ],
    ['imports what is not there', `import './gone.ts'`, 'gone.ts'],
  ])('is named when it %s', async (_, text, words) => {
    const { code, stderr } = await skep(['queues'], { cwd: project({ 'skep.config.ts': text }) })

    expect(stderr).toContain('CONFIG_INVALID')
    expect(stderr).toContain('skep.config.ts')
    expect(stderr).toContain(words)
    expect(code).toBe(2)
  })

  it('checks payloads against the queues it declares', async () => {
    const cwd = project({
      'skep.config.ts': `${HEAD}
        const schema = { '~standard': { version: 1, vendor: 'test', validate: (value: any) =>
          typeof value?.to === 'string' ? { value } : { issues: [{ message: 'to is missing' }] } } }
        const mail = queue('mail', { payload: schema as any })
        export default defineConfig({ store: memoryStore(), handlers: [mail.handle(() => 1)] })`,
    })

    const wrong = await skep(['enqueue', 'mail', '-d', '{}'], { cwd })
    const right = await skep(['enqueue', 'mail', '-d', '{"to":"ada"}'], { cwd })

    expect(wrong.stderr).toContain('to is missing')
    expect([wrong.code, right.code]).toEqual([2, 0])
  })

  it('lends its handlers to another database', async () => {
    const cwd = project({ 'skep.config.ts': CONFIG })
    const worker = start(['worker', '--db', 'other.db'], { cwd })
    await worker.until(/started/)

    const { stdout } = await skep(['enqueue', 'hello', '-d', '{"name":"Bo"}', '--db', 'other.db', '--wait'], {
      cwd,
    })

    expect(JSON.parse(stdout)).toEqual({ text: 'Hello, Bo!' })
  })
})

describe('skep worker', () => {
  it('runs the handlers a module exports', async () => {
    const cwd = project({ 'jobs.ts': `${HEAD}export const mail = queue('mail').handle(() => 'sent')` })
    const worker = start(['worker', 'jobs.ts', '--health-file', 'health'], { cwd })
    await worker.until(/started: queues mail/)

    const { stdout } = await skep(['enqueue', 'mail', '--wait', '20s'], { cwd })
    const wasHealthy = existsSync(join(cwd, 'health'))
    worker.child.kill('SIGTERM')

    expect(stdout).toBe('"sent"\n')
    expect(await worker.ended).toMatchObject({ code: 0 })
    expect([wasHealthy, existsSync(join(cwd, 'health'))]).toEqual([true, false])
  })

  it('prints one line for an attempt that is repeated, and the stack of the last one', async () => {
    const cwd = project({
      'jobs.mjs': `
        import { fixed, queue, retry } from 'skep'
        const pay = queue('pay', { onError: retry(1, fixed(0)) })
        export const handler = pay.handle(function charge() { throw new TypeError('Card declined') })`,
    })
    const worker = start(['worker', 'jobs.mjs'], { cwd })
    await worker.until(/started: queues pay/)

    const { stdout } = await skep(['enqueue', 'pay'], { cwd })
    await worker.until(/dead after 2 tries: .*\n.* at .*jobs\.mjs:4/)
    worker.child.kill('SIGTERM')
    const { stderr } = await worker.ended

    const id = stdout.trim()
    expect(stderr).toMatch(
      new RegExp(`pay ${id} try 1 failed, .*: TypeError: Card declined\n\\S+ pay ${id} dead`),
    )
    expect(stderr).toMatch(/dead after 2 tries: TypeError: Card declined\n\s+at .*charge .*jobs\.mjs:4:/)
    expect(stderr.match(/Card declined/g)).toHaveLength(2)
  })

  it('refuses a queue that nothing handles', async () => {
    const { code, stderr } = await skep(['worker', '--queues', 'helo'], {
      cwd: project({ 'skep.config.ts': CONFIG }),
    })

    expect(stderr).toContain('Did you mean "hello"?')
    expect(code).toBe(2)
  })

  it('hands running jobs back at a second Ctrl-C, with no try used up for another worker', async () => {
    const cwd = project({ 'skep.config.ts': CONFIG })
    const worker = start(['worker'], { cwd })
    await worker.until(/started/)
    const { stdout: id } = await skep(['enqueue', 'slow'], { cwd })
    await worker.until(/slow began/)

    worker.child.kill('SIGINT')
    await worker.until(/1 job may finish within 23s/)
    worker.child.kill('SIGINT')
    const { code } = await worker.ended
    const { stdout } = await skep(['jobs', 'get', id.trim(), '--json'], { cwd })

    expect(code).toBe(0)
    expect(JSON.parse(stdout).jobs[0]).toMatchObject({ state: 'ready', errors: 0, lost: 0 })
  })
})

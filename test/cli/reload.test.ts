import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { asInstalled, project, type Started, skep, start } from './cli.ts'

asInstalled()

const CONFIG = `
import { defineConfig, queue } from 'skep'
import { sqliteStore } from 'skep/sqlite'
import { greet } from './greet.ts'

export default defineConfig({
  store: () => sqliteStore({ file: 'jobs.db' }),
  handlers: [queue<string>('hello').handle(({ payload }) => greet(payload))],
})
`

const greet = (word: string): string =>
  `export const greet = (name: string): string => \`${word}, \${name}!\`\n`

/** From another folder: a command that is started beside a broken config says that it is broken. */
async function greeting(cwd: string): Promise<string> {
  const args = ['enqueue', 'hello', '-d', '"Ada"', '--wait', '60s', '--db', join(cwd, 'jobs.db')]
  const { stdout } = await skep(args, { cwd: project() })
  return JSON.parse(stdout) as string
}

/** What both commands have to do when files change. */
async function edited(cwd: string, running: Started): Promise<readonly string[]> {
  const first = await greeting(cwd)
  writeFileSync(join(cwd, 'greet.ts'), greet('Salve'))
  await running.until(/Reloaded greet\.ts/)
  const second = await greeting(cwd)
  writeFileSync(join(cwd, 'greet.ts'), 'export const greet = (name: string => name\n')
  await running.until(/could not be loaded.*greet\.ts:1/s)
  const third = await greeting(cwd)
  return [first, second, third]
}

describe('skep dev', () => {
  it('loads changed files anew, and goes on with the old ones where the new are broken', async () => {
    const cwd = project({ 'skep.config.ts': CONFIG, 'greet.ts': greet('Hello') })
    const dev = start(['dev', '--plain', '--port', '0'], { cwd })
    await dev.until(/Handlers +hello/)

    const greetings = await edited(cwd, dev)
    dev.child.kill('SIGINT')

    expect(greetings).toEqual(['Hello, Ada!', 'Salve, Ada!', 'Salve, Ada!'])
    expect(await dev.ended).toMatchObject({ code: 0 })
  })

  it('waits for a file that is broken from the beginning to be corrected', async () => {
    const cwd = project({ 'skep.config.ts': CONFIG, 'greet.ts': 'export const greet = (\n' })
    const dev = start(['dev', '--plain', '--port', '0'], { cwd })
    await dev.until(/Waiting for a change/)

    writeFileSync(join(cwd, 'greet.ts'), greet('Hello'))
    await dev.until(/Handlers +hello/)
    dev.child.kill('SIGINT')

    expect(await dev.ended).toMatchObject({ code: 0 })
  })
})

describe('skep worker --watch', () => {
  it('does the same', async () => {
    const cwd = project({ 'skep.config.ts': CONFIG, 'greet.ts': greet('Hello') })
    const worker = start(['worker', '--watch'], { cwd })
    await worker.until(/started/)

    const greetings = await edited(cwd, worker)
    worker.child.kill('SIGTERM')

    expect(greetings).toEqual(['Hello, Ada!', 'Salve, Ada!', 'Salve, Ada!'])
    expect(await worker.ended).toMatchObject({ code: 0 })
  })
})

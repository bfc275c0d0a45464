import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { builtPackage } from './cli.ts'

/** What opens each client, and the package that it needs. */
const CLIENTS = {
  pg: `(await import('skep/postgres')).postgresStore({ url: 'postgres://127.0.0.1:1/x' }).ready()`,
  ioredis: `(await import('skep/redis')).redisStore({ url: 'redis://127.0.0.1:1' }).ready()`,
  '@nats-io/transport-node': `(await import('skep/nats')).natsNotifier({ servers: 'nats://127.0.0.1:1', client: { timeout: 100 } })
    .notices.dead({ limit: 1 })`,
  // Newer ones have SQLite built in.
  '@photostructure/sqlite': `(process.getBuiltinModule = undefined, (await import('skep/sqlite')).sqliteStore({ file: 'jobs.db' }).ready())`,
} as const

/** Runs a program that opens the client, in a folder with Skep and these files in node_modules; returns its error. */
async function errorOf(
  name: keyof typeof CLIENTS,
  files: Readonly<Record<string, string>>,
): Promise<{ readonly code: string; readonly message: string; readonly cause: string }> {
  const cwd = mkdtempSync(join(tmpdir(), 'skep-clients-'))
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
  // A copy: a link would lead to the packages of this repository.
  cpSync(builtPackage(), join(cwd, 'node_modules/skep'), { recursive: true })
  for (const [path, text] of Object.entries(files)) {
    const file = join(cwd, 'node_modules', path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  const program = `try { await ${CLIENTS[name]} } catch ({ code, message, cause }) {
    console.log(JSON.stringify({ code, message, cause: cause?.message }))
  }
  process.exit()`
  writeFileSync(join(cwd, 'program.mjs'), program)
  const { stdout } = await promisify(execFile)(process.execPath, ['program.mjs'], { cwd })
  return JSON.parse(stdout)
}

describe.each(Object.keys(CLIENTS) as (keyof typeof CLIENTS)[])('the client %s', (name) => {
  const main = { [`${name}/package.json`]: JSON.stringify({ name, version: '9.9.9', main: 'main.js' }) }

  it('is named when it is not installed, with how to install it', async () => {
    const error = await errorOf(name, {})

    expect(error.code).toBe('CLIENT_MISSING')
    expect(error.message).toContain(`npm install ${name}`)
  })

  it('is not called missing when a package that it needs is missing', async () => {
    const error = await errorOf(name, { ...main, [`${name}/main.js`]: `require('pg-types-of-it')` })

    expect(error.code).toBe('CLIENT_MISSING')
    expect(error.message).toContain(
      `The package "${name}" could not be loaded: Cannot find module 'pg-types-of-it'`,
    )
    expect(error.message).not.toContain('npm install')
    expect(error.cause).toContain('pg-types-of-it')
  })

  it('is not called missing when it throws', async () => {
    const error = await errorOf(name, { ...main, [`${name}/main.js`]: `throw new Error('wrong ELF class')` })

    expect(error.message).toContain(`The package "${name}" could not be loaded: wrong ELF class.`)
    expect(error.message).not.toContain('not installed')
  })
})

import { execFile } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { builtPackage, type Ended } from './cli.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** This Node, and those that scripts/fetch-node.mjs has fetched: what Node does with TypeScript differs between versions. */
function nodes(): (readonly [version: string, program: string])[] {
  const cache = join(root, 'node_modules/.cache/node')
  const others = existsSync(cache) ? readdirSync(cache) : []
  return [
    [process.version, process.execPath] as const,
    ...others.map((name) => [name, join(cache, name, 'bin/node')] as const),
  ].filter(([, program]) => existsSync(program))
}

const FILES = {
  'package.json': '{"type":"module"}',
  'tsconfig.json': '{ "compilerOptions": { "paths": { "@app/*": ["./src/*"] } } }',
  'src/mail.ts': `import { queue } from 'skep'\nexport const mail = queue('mail').handle((): string => 'sent')`,
  'src/folder/index.ts': `export { mail } from '../mail.ts'`,
}

/** Runs `skep queues` in a project whose config imports its handler in this way. */
function run(
  program: string,
  { from, jiti, files = {} }: { from: string; jiti: boolean; files?: Readonly<Record<string, string>> },
): Promise<Ended> {
  const cwd = mkdtempSync(join(tmpdir(), 'skep-typescript-'))
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
  // A copy: a link would lead to the packages of this repository, jiti among them.
  cpSync(builtPackage(), join(cwd, 'node_modules/skep'), { recursive: true })
  for (const name of [...Object.keys(packageJson.dependencies), ...(jiti ? ['jiti'] : [])]) {
    mkdirSync(dirname(join(cwd, 'node_modules', name)), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), join(cwd, 'node_modules', name))
  }
  const config = `import { defineConfig } from 'skep'
    import { memoryStore } from 'skep/memory'
    import { mail } from ${JSON.stringify(from)}
    export default defineConfig({ store: memoryStore(), handlers: [mail] })`
  for (const [name, text] of Object.entries({ ...FILES, 'skep.config.ts': config, ...files })) {
    mkdirSync(dirname(join(cwd, name)), { recursive: true })
    writeFileSync(join(cwd, name), text)
  }
  const main = join(cwd, 'node_modules/skep/dist/esm/cli/main.js')
  return new Promise((resolve) => {
    const child = execFile(program, [main, 'queues', '--json'], { cwd }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    )
  })
}

describe.each(nodes())('a config in TypeScript on Node %s', (_, program) => {
  const IMPORTS = ['./src/mail', './src/mail.js', './src/folder', '@app/mail'] as const

  it.each([...IMPORTS, './src/mail.ts'])('is loaded with jiti when it imports %s', async (from) => {
    const { code, stdout, stderr } = await run(program, { from, jiti: true })

    expect([code, stderr]).toEqual([0, ''])
    expect(JSON.parse(stdout)).toMatchObject({ space: 'default' })
  })

  it.each(IMPORTS)('says without jiti that it would help when it imports %s', async (from) => {
    const { code, stderr } = await run(program, { from, jiti: false })

    expect(code).toBe(2)
    expect(JSON.parse(stderr).error.fix).toContain('npm install -D jiti')
  })

  it('is loaded with jiti beside a tsconfig.json that is broken', async () => {
    const files = { 'tsconfig.json': '{ "extends": "./not-there.json", "compilerOptions": { nonsense' }
    const { code, stderr } = await run(program, { from: './src/mail', jiti: true, files })

    expect([code, stderr]).toEqual([0, ''])
  })

  it('does not name jiti when that would not help', async () => {
    const files = { 'src/mail.ts': `throw new Error('no DATABASE_URL')\nexport const mail = 1` }
    const { stderr } = await run(program, { from: './src/mail.ts', jiti: true, files })

    expect(stderr).toContain('no DATABASE_URL')
    expect(stderr).not.toContain('jiti')
  })
})

import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { root } from './markdown.ts'

const tsc = join(root, 'node_modules/@typescript/native/bin/tsc')

/** A program by its path, such as `docs/errors.md.12.ts`. */
export interface Program {
  readonly path: string
  readonly text: string
}

export interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A temporary folder in which programs are compiled against the sources, all in one call, and run one by one. */
export interface Workshop {
  /** What the compiler says about the programs, a line each. */
  readonly faults: readonly string[]
  /** Runs a program to its end, in an empty folder of its own. */
  run(path: string, env?: Readonly<Record<string, string>>): Promise<Outcome>
  close(): void
}

export async function openWorkshop(programs: readonly Program[]): Promise<Workshop> {
  const folder = mkdtempSync(join(tmpdir(), 'skep-docs-'))
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }

  cpSync(join(root, 'src'), join(folder, 'src'), { recursive: true })
  cpSync(join(root, 'tsconfig.base.json'), join(folder, 'tsconfig.base.json'))
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
  for (const { path, text } of programs) put(path, text)
  put('package.json', '{ "type": "module" }')
  put(
    'tsconfig.json',
    JSON.stringify({
      extends: './tsconfig.base.json',
      compilerOptions: {
        rootDir: '.',
        outDir: 'out',
        paths: { skep: ['./src/index.ts'], 'skep/*': ['./src/*.ts'] },
      },
      files: programs.map(({ path }) => path),
    }),
  )

  // The compiled programs find `skep` as a user's program does: as a package with entries.
  put('out/package.json', '{ "type": "module" }')
  put(
    'out/node_modules/skep/package.json',
    JSON.stringify({ name: 'skep', type: 'module', exports: { '.': './src/index.js', './*': './src/*.js' } }),
  )
  const { stdout, stderr } = await runNode([tsc, '-p', folder, '--pretty', 'false'], folder)
  mkdirSync(join(folder, 'out/src'), { recursive: true })
  symlinkSync(join(folder, 'out/src'), join(folder, 'out/node_modules/skep/src'), 'junction')

  return {
    // The sources are checked elsewhere; here only what the documents say counts.
    faults: `${stdout}\n${stderr}`.split('\n').filter((line) => line !== '' && !line.startsWith('src/')),
    run(path, env = {}) {
      const cwd = mkdtempSync(join(folder, 'run-'))
      return runNode([join(folder, 'out', path.replace(/\.ts$/, '.js'))], cwd, env)
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  }
}

function runNode(
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd, env: { ...process.env, NODE_OPTIONS: '', ...env } })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (chunk: Buffer) => {
      stdout += chunk.toString()
    })
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString()
    })
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, stdout, stderr }))
  })
}

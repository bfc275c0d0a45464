// Runs the real command line, as its own process, from a build of the present sources.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished, vi } from 'vitest'

// Every step is a process of its own, and machines that test many things at once are slow.
vi.setConfig({ testTimeout: 120_000 })

const root = fileURLToPath(new URL('../..', import.meta.url))
// Inside node_modules, so that the build finds the database clients as an installed package does.
const builds = join(root, 'node_modules/.cache/skep-cli')

type Layout = 'bundled' | 'compiled'
let layout: Layout = 'bundled'
const built = new Map<Layout, string>()

/**
 * The folder of a package as a user would install it. Built once for each state of the sources. Most tests start many commands,
 * and one that reads a few large files takes half as long as one that reads hundreds of small ones; what depends on how the
 * files lie says {@link asInstalled}.
 */
export function builtPackage(): string {
  const folder = built.get(layout) ?? build()
  built.set(layout, folder)
  return folder
}

/** For all tests of a file: the package file by file, as it is published. */
export function asInstalled(): void {
  layout = 'compiled'
}

function build(): string {
  const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .sort()
  const hash = createHash('sha256')
  for (const name of sources) {
    const { mtimeMs, size } = statSync(join(root, 'src', name))
    hash.update(`${name} ${mtimeMs} ${size}\n`)
  }
  const folder = join(builds, `${layout}-${hash.digest('hex').slice(0, 16)}`)
  if (existsSync(folder)) return folder
  // Test files run side by side, so each builds in a folder of its own and the first one to finish wins.
  const draft = join(builds, `draft-${process.pid}-${layout}`)
  mkdirSync(join(draft, 'dist'), { recursive: true })
  copyFileSync(join(root, 'package.json'), join(draft, 'package.json'))
  cpSync(join(root, 'proto'), join(draft, 'proto'), { recursive: true })
  const bundler = fileURLToPath(new URL('./bundle.mjs', import.meta.url))
  const tsc = join(root, 'node_modules/@typescript/native/bin/tsc')
  const out = join(draft, 'dist/esm')
  try {
    const args = layout === 'bundled' ? [bundler, out] : [tsc, '-p', 'tsconfig.esm.json', '--outDir', out]
    execFileSync(process.execPath, args, { cwd: root, stdio: 'pipe' })
  } catch (error) {
    // Types are another step's business; only a compiler that wrote nothing stops us.
    if (!existsSync(join(out, 'cli/main.js'))) throw error
  }
  for (const old of readdirSync(builds)) {
    const path = join(builds, old)
    if (Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity) > 3_600_000) {
      rmSync(path, { recursive: true, force: true })
    }
  }
  try {
    renameSync(draft, folder)
  } catch {
    rmSync(draft, { recursive: true, force: true })
  }
  return folder
}

/** A folder of its own for one test, with these files, in which `skep` can be imported. */
export function project(files: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), 'skep-cli-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(builtPackage(), join(folder, 'node_modules/skep'))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  return folder
}

export interface RunOptions {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  /** What comes from stdin. Without it stdin is empty. */
  readonly input?: string
}

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A command that runs until it is told to stop. */
export interface Started {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  /** Waits until stdout or stderr shows this, and gives what it is. */
  until(pattern: RegExp): Promise<string>
}

export function start(args: readonly string[], options: RunOptions): Started {
  return startNode([join(builtPackage(), 'dist/esm/cli/main.js'), ...args], options)
}

/** Runs a program of Node in place of our command. */
export function startNode(args: readonly string[], { cwd, env = {}, input }: RunOptions): Started {
  const child = spawn(process.execPath, [...args], {
    cwd,
    env: { ...ownEnv(), ...env },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  child.stdin?.end(input)
  const output = { stdout: '', stderr: '' }
  const waiting = new Set<() => void>()
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (chunk: string) => {
      output[name] += chunk
      for (const look of waiting) look()
    })
  }
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      resolve({ code, ...output })
      for (const look of waiting) look()
    })
  })
  const until = (pattern: RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = pattern.exec(output.stdout) ?? pattern.exec(output.stderr)
        if (found !== null) resolve(found[0])
        else if (child.exitCode === null && child.signalCode === null) return
        else reject(new Error(`It ended before ${pattern}:\n${output.stdout}\n${output.stderr}`))
        waiting.delete(look)
      }
      waiting.add(look)
      look()
    })
  return { child, ended, until }
}

/** Runs a command to its end. */
export function skep(args: readonly string[], options: RunOptions): Promise<Ended> {
  return start(args, options).ended
}

/** Our own environment without what would change the command. */
function ownEnv(): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(SKEP_|NO_COLOR$|FORCE_COLOR$|NODE_)/.test(name),
  )
  return Object.fromEntries(kept)
}

/**
 * A config with a handler that succeeds, one that fails for good, and one that waits to be stopped. It is JavaScript as well as
 * TypeScript: most tests call it `skep.config.mjs`, because a command takes a quarter longer where Node does not read types itself.
 */
export const CONFIG = `
import { bury, defineConfig, queue } from 'skep'
import { sqliteStore } from 'skep/sqlite'

const hello = queue('hello')
const bad = queue('bad')
const slow = queue('slow')

export default defineConfig({
  store: () => sqliteStore({ file: 'jobs.db' }),
  handlers: [
    hello.handle(({ payload }) => ({ text: \`Hello, \${payload.name}!\` })),
    bad.handle(() => bury('it never works')),
    slow.handle(({ signal }) => new Promise((_, reject) => {
      console.log('slow began')
      signal.addEventListener('abort', () => reject(signal.reason))
    })),
  ],
})
`

import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundle, root } from './build.ts'
import type { Killer, Mutant } from './mutant.ts'
import { MUTANT_VARIABLE } from './plugin.ts'

/**
 * What a killer said about a build. green: nothing is wrong with it. killed: it found a bug, which `said` tells.
 * broken: it could not tell, because it did not run as it should, or not to its end in time.
 */
export interface Word {
  readonly word: 'green' | 'killed' | 'broken'
  readonly said: string
}

/** How long a killer may take for one mutant. */
const BUDGET_MS = 300_000

export function kindOf(killer: Killer): 'simulation' | 'model' | 'vitest' {
  return 'simulation' in killer ? 'simulation' : 'model' in killer ? 'model' : 'vitest'
}

/** Lets a killer look at a build with this mutant, or without any. */
export function ask(killer: Killer, mutant: Mutant | null, folder: string): Promise<Word> {
  if ('simulation' in killer) return askSimulator(killer, mutant, folder)
  if ('model' in killer) return askModel(killer.model, mutant, folder)
  return askVitest(killer, mutant, folder)
}

/** How the simulator and the model tell of a broken invariant, and of the seed that shows it. */
const VIOLATION = /^[IL]-\d+ .+$/m
const SEED = /\bseed (\d+)/g

async function askSimulator(
  { simulation, trials, kind = 'jobs' }: Extract<Killer, { simulation: string }>,
  mutant: Mutant | null,
  folder: string,
): Promise<Word> {
  const which = ['--store', simulation, '--kind', kind]
  const trial = (build: string, seed: number, count: number): Promise<Word & { output: string }> =>
    askProgram([build, ...which, '--seed', String(seed), '--trials', String(count), '--bail'])
  const { output, ...word } = await trial(await bundled(SIMULATOR, mutant, folder), 1, trials)
  if (word.word !== 'killed' || mutant === null) return word
  // The same seed must be green without the mutant, or it is not the mutant that was found.
  const seed = Number([...output.matchAll(SEED)].at(-1)?.[1])
  const sound = await trial(await bundled(SIMULATOR, null, folder), seed, 1)
  const said = `seed ${seed}: ${word.said}`
  if (sound.word === 'green') return { word: 'killed', said }
  return { word: 'broken', said: `without any mutant seed ${seed} is not green either: ${sound.said}` }
}

async function askModel(name: string, mutant: Mutant | null, folder: string): Promise<Word> {
  const { word, said } = await askProgram([await bundled(MODEL, mutant, folder), ...name.split(' ')])
  return { word, said }
}

const SIMULATOR = 'test/simulation/main.ts'
const MODEL = 'test/model/main.ts'
const builds = new Map<string, Promise<string>>()

function bundled(entry: string, mutant: Mutant | null, folder: string): Promise<string> {
  const key = `${folder} ${entry} ${mutant?.name}`
  const build = builds.get(key) ?? bundle(entry, mutant, folder)
  builds.set(key, build)
  return build
}

async function askProgram(args: readonly string[]): Promise<Word & { readonly output: string }> {
  // One violation is enough.
  const { code, output, errors } = await run(args, {}, (text) => VIOLATION.test(text))
  const violation = VIOLATION.exec(output)?.[0]
  if (violation !== undefined) return { word: 'killed', said: shortened(violation), output }
  if (code === 0) return { word: 'green', said: shortened(output.trim().split('\n').at(-1) ?? ''), output }
  return { word: 'broken', said: shortened(`exit ${code}: ${errors.trim() || output.trim()}`), output }
}

interface TestReport {
  readonly numTotalTests: number
  readonly numPassedTests: number
  readonly numFailedTests: number
  readonly success: boolean
  readonly testResults: readonly {
    readonly message: string
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[]
  }[]
}

let reports = 0

async function askVitest(
  { vitest, test }: Extract<Killer, { vitest: string }>,
  mutant: Mutant | null,
  folder: string,
): Promise<Word> {
  const report = join(folder, `report-${++reports}.json`)
  const args = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...vitest.split(' '), '--bail', '1']
  args.push('--reporter', 'json', '--outputFile', report)
  if (test !== undefined) args.push('--testNamePattern', escaped(test))
  const { code, output, errors } = await run(args, { [MUTANT_VARIABLE]: mutant?.name ?? '' })
  if (!existsSync(report))
    return { word: 'broken', said: shortened(`exit ${code}: ${errors.trim() || output.trim()}`) }
  const { success, numPassedTests, testResults } = JSON.parse(readFileSync(report, 'utf8')) as TestReport
  // A file that cannot be loaded, or a server that does not start, fails without a test: nothing was found.
  const failed = testResults
    .flatMap((file) => file.assertionResults)
    .find(({ status }) => status === 'failed')
  if (failed) return { word: 'killed', said: shortened(failed.fullName) }
  if (success && code === 0 && numPassedTests > 0)
    return { word: 'green', said: `${numPassedTests} tests passed` }
  const message = testResults.map((file) => file.message).find((text) => text !== '')
  return { word: 'broken', said: shortened(message ?? `exit ${code}, ${numPassedTests} tests passed`) }
}

interface Ended {
  readonly code: number | null
  readonly output: string
  readonly errors: string
}

/** Runs Node until it ends, its time is over, or `enough` says so. */
function run(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  enough: (output: string) => boolean = () => false,
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    let errors = ''
    const timer = setTimeout(() => {
      errors = `not done after ${BUDGET_MS} ms. ${errors}`
      child.kill('SIGKILL')
    }, BUDGET_MS)
    child.stdout.on('data', (chunk: Buffer) => {
      output += String(chunk)
      if (enough(output)) child.kill('SIGKILL')
    })
    child.stderr.on('data', (chunk: Buffer) => {
      errors = (errors + String(chunk)).slice(-10_000)
    })
    child.on('error', reject)
    child.on('close', (code) => {
      clearTimeout(timer)
      resolve({ code, output, errors })
    })
  })
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length > 300 ? `${line.slice(0, 300)} …` : line
}

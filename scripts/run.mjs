// How the scripts start other programs. Node built-ins only: these scripts run before anything is installed.

import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The repository's folder. */
export const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** A tool's own JavaScript file, run with this very Node: a shell wrapper could find another one on the PATH. */
export const tools = {
  tsc: join(root, 'node_modules/@typescript/native/bin/tsc'),
  biome: join(root, 'node_modules/@biomejs/biome/bin/biome'),
  oxlint: join(root, 'node_modules/oxlint/bin/oxlint'),
  vite: join(root, 'node_modules/vite/bin/vite.js'),
  vitest: join(root, 'node_modules/vitest/vitest.mjs'),
  publint: join(root, 'node_modules/publint/src/cli.js'),
  attw: join(root, 'node_modules/@arethetypeswrong/cli/dist/index.js'),
}

/**
 * Runs a program to its end and gives back its exit code. A signal counts as 128 + its number, as in a shell.
 *
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: NodeJS.ProcessEnv, quiet?: boolean }} [options] `quiet` shows the output only on failure.
 * @returns {Promise<number>}
 */
export async function run(command, args, { cwd = root, env = process.env, quiet = false } = {}) {
  const child = spawn(command, args, { cwd, env, stdio: quiet ? ['ignore', 'pipe', 'pipe'] : 'inherit' })
  /** @type {Buffer[]} */
  const output = []
  child.stdout?.on('data', (chunk) => output.push(chunk))
  child.stderr?.on('data', (chunk) => output.push(chunk))
  const code = await exitCode(child)
  if (quiet && code !== 0) process.stderr.write(Buffer.concat(output))
  return code
}

/**
 * @param {readonly string[]} args A script or tool and its arguments, run with this Node.
 * @param {Parameters<typeof run>[2]} [options]
 */
export function runNode(args, options) {
  return run(process.execPath, args, options)
}

/**
 * npm, run with this Node where possible, so that another Node on the PATH does not take over.
 *
 * @param {readonly string[]} args
 * @param {Parameters<typeof run>[2]} [options]
 */
export function runNpm(args, options) {
  const npm = process.env['npm_execpath']
  if (npm?.endsWith('.js')) return runNode([npm, ...args], options)
  return run(process.platform === 'win32' ? 'npm.cmd' : 'npm', args, options)
}

/**
 * @param {import('node:child_process').ChildProcess} child
 * @returns {Promise<number>}
 */
export function exitCode(child) {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code, signal) => resolve(code ?? (signal ? 128 + signalNumber(signal) : 1)))
  })
}

/** @param {NodeJS.Signals} signal */
function signalNumber(signal) {
  return { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 }[/** @type {string} */ (signal)] ?? 1
}

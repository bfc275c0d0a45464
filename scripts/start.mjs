// npm start: from a fresh clone to a running demo, with nothing but Node installed.

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { ensureBuilt, ensureInstalled } from './install.mjs'
import { exitCode, root } from './run.mjs'

await ensureInstalled()
await ensureBuilt()

const main = join(root, 'dist/esm/cli/main.js')
const child = spawn(process.execPath, [main, 'dev', '--demo', ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
})

// Ctrl-C in a terminal reaches every process in the foreground, the child among them. Passing it on would make two
// of it, and a second Ctrl-C means "stop at once". So on a terminal we only wait for the child to drain.
process.on('SIGINT', () => {
  if (!process.stdin.isTTY) passOn('SIGINT')
})
process.on('SIGTERM', () => passOn('SIGTERM'))
process.on('SIGHUP', () => passOn('SIGHUP'))

const sameSignalMs = 1_000
let passedOnAt = Number.NEGATIVE_INFINITY

/**
 * npm passes signals on as well, so one signal to the process group arrives here twice.
 *
 * @param {NodeJS.Signals} signal
 */
function passOn(signal) {
  if (performance.now() - passedOnAt < sameSignalMs) return
  passedOnAt = performance.now()
  child.kill(signal)
}

process.exit(await exitCode(child))

// npm start: from a fresh clone to a running demo, with nothing but Node installed.

import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { forwardSignals } from './forward-signals.mjs'
import { ensureBuilt, ensureInstalled } from './install.mjs'
import { exitCode, root } from './run.mjs'

await ensureInstalled()
await ensureBuilt()

const main = join(root, 'dist/esm/cli/main.js')
const child = spawn(process.execPath, [main, 'dev', '--demo', ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
})

forwardSignals(child)
process.exit(await exitCode(child))

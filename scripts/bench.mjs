// npm run bench -- [--quick] [--only postgres] [--scenario drain] [--rounds n] [--json [file]]
// Installs and builds what is missing, then measures the built package beside its rivals (bench/main.ts). With --json the
// result goes to the standard output, or to the file after it.

import { spawn } from 'node:child_process'
import { forwardSignals } from './forward-signals.mjs'
import { ensureBuilt, ensureInstalled } from './install.mjs'
import { exitCode, root } from './run.mjs'

await ensureInstalled()
await ensureBuilt()
const child = spawn(
  process.execPath,
  ['--import', 'jiti/register', 'bench/main.ts', ...process.argv.slice(2)],
  {
    cwd: root,
    stdio: 'inherit',
  },
)
forwardSignals(child)
process.exit(await exitCode(child))

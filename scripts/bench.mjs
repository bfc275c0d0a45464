// npm run bench -- [--quick] [--only postgres] [--scenario drain] [--rounds n] [--json [file]] [--publish]
// Installs and builds what is missing, then measures the built package beside its rivals (bench/main.ts). With --json the
// result goes to the standard output, or to the file after it. With --publish it goes into docs/benchmarks.md and
// bench/results/: a whole run replaces what is published, a part of one replaces what it measured.

import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { forwardSignals } from './forward-signals.mjs'
import { ensureBuilt, ensureInstalled } from './install.mjs'
import { exitCode, root } from './run.mjs'

const args = process.argv.slice(2).filter((arg) => arg !== '--publish')
const publishes = process.argv.includes('--publish')

await ensureInstalled()
await ensureBuilt()
const code = publishes ? await measureAndPublish() : await run('bench/main.ts', args)
process.exit(code)

/** @returns {Promise<number>} */
async function measureAndPublish() {
  const folder = mkdtempSync(join(tmpdir(), 'skep-bench-'))
  const file = join(folder, 'results.json')
  try {
    const code = await run('bench/main.ts', [...args, '--json', file])
    if (code !== 0) return code
    const isPart = args.some((arg) => /^--(only|scenario)/.test(arg))
    return await run('bench/report/main.ts', [...(isPart ? ['bench/results/results.json'] : []), file])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * @param {string} program
 * @param {string[]} args
 */
function run(program, args) {
  const child = spawn(process.execPath, ['--import', 'jiti/register', program, ...args], {
    cwd: root,
    stdio: 'inherit',
  })
  forwardSignals(child)
  return exitCode(child)
}

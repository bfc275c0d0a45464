// Type checks everything, and the sources once more under the stricter rules of each build.

import { runNode, tools } from './run.mjs'

let failed = false
for (const project of [
  'tsconfig.json',
  'tsconfig.esm.json',
  'tsconfig.cjs.json',
  'dashboard/tsconfig.json',
]) {
  const code = await runNode([tools.tsc, '-p', project, '--noEmit'])
  if (code !== 0) failed = true
}
process.exit(failed ? 1 : 0)

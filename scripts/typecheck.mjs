// Type checks everything: all TypeScript, the sources once more under the stricter rules of each build,
// and the plain JavaScript scripts.

import { runNode, tools } from './run.mjs'

let failed = false
for (const project of ['tsconfig.json', 'tsconfig.esm.json', 'tsconfig.cjs.json', 'tsconfig.scripts.json']) {
  const code = await runNode([tools.tsc, '-p', project, '--noEmit'])
  if (code !== 0) failed = true
}
process.exit(failed ? 1 : 0)

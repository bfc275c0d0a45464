// Format, non-typed rules (Biome), typed rules (oxlint), our own import boundaries, and the words of comments and documents.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { root, runNode, tools } from './run.mjs'

const folders = ['src', 'test', 'bench', 'dashboard', 'examples', 'scripts'].filter((name) =>
  existsSync(join(root, name)),
)

const codes = [
  await runNode([tools.biome, 'check', '--error-on-warnings', '--no-errors-on-unmatched']),
  await runNode([tools.oxlint, '--type-aware', '--quiet', ...folders]),
  await runNode(['scripts/boundaries.mjs']),
  await runNode(['scripts/language.mjs']),
]
process.exit(codes.every((code) => code === 0) ? 0 : 1)

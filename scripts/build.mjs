// Builds dist/: the ES modules, the CommonJS copy, and the executable. No source maps: stack traces show dist/, whose code
// has the names and the shape of the sources.
// `--if-outdated` does nothing when no source changed since the last build.

import { chmodSync, existsSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { buildOutdated } from './outdated.mjs'
import { root, runNode, tools } from './run.mjs'
import { pruneDeclarations, pruneEmpty, stripComments } from './slim.mjs'

if (process.argv.includes('--if-outdated') && !buildOutdated()) process.exit(0)

const dist = join(root, 'dist')
rmSync(dist, { recursive: true, force: true })

const startedAt = new Date()
const codes = await Promise.all([
  runNode([tools.tsc, '-p', 'tsconfig.esm.json']),
  runNode([tools.tsc, '-p', 'tsconfig.cjs.json']),
  runNode([tools.vite, 'build', 'dashboard', '--logLevel', 'warn']),
])
if (codes.some((code) => code !== 0)) {
  // A half-good build must not look like a build to the next command.
  rmSync(dist, { recursive: true, force: true })
  process.exit(1)
}

// The package is "type": "module"; this makes the one folder CommonJS again.
writeFileSync(join(dist, 'cjs/package.json'), `${JSON.stringify({ type: 'commonjs' })}\n`)

/** @type {{ exports: Record<string, { import: { default: string } } | string> }} */
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const entries = Object.values(manifest.exports)
  .filter((entry) => typeof entry === 'object')
  .map((entry) => basename(entry.import.default, '.js'))
await Promise.all([
  stripComments(join(dist, 'esm'), { module: true }),
  stripComments(join(dist, 'cjs'), { module: false }),
])
pruneEmpty(join(dist, 'esm'), [...entries, 'cli/main'])
pruneEmpty(join(dist, 'cjs'), entries)
pruneDeclarations(join(dist, 'cjs'), entries)
// One set of declarations for both: a Skep made with `import` is also a Skep for a file that uses `require`.
for (const name of entries) {
  writeFileSync(join(dist, `esm/${name}.d.ts`), `export * from '../cjs/${name}.js'\n`)
}

const main = join(dist, 'esm/cli/main.js')
if (existsSync(main)) {
  if (!readFileSync(main, 'utf8').startsWith('#!')) {
    console.error('src/cli/main.ts must start with "#!/usr/bin/env node".')
    process.exit(1)
  }
  chmodSync(main, 0o755)
}

// Dated from before the compiler read the sources: a file saved during the build is newer than this.
writeFileSync(join(dist, '.built'), `${startedAt.toISOString()}\n`)
utimesSync(join(dist, '.built'), startedAt, startedAt)

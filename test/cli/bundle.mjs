// Makes a few files of all sources: one for each sub-path of the package and for the command, and what they share.
//
//   node test/cli/bundle.mjs <folder>

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** @type {{ exports: Record<string, unknown> }} */
const manifest = JSON.parse(readFileSync(`${root}/package.json`, 'utf8'))
const names = Object.keys(manifest.exports)
  .filter((path) => path !== './package.json')
  .map((path) => (path === '.' ? 'index' : path.slice(2)))

const build = await rolldown({
  input: Object.fromEntries([...names, 'cli/main'].map((name) => [name, `${root}/src/${name}.ts`])),
  platform: 'node',
  // Packages stay outside; everything of ours goes in.
  external: (id) => !/^[./\0]/.test(id),
  logLevel: 'silent',
})
// All is one folder deep, as the command is: from there it looks for its package.
await build.write({
  dir: /** @type {string} */ (process.argv[2]),
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: 'cli/[name]-[hash].js',
})
await build.close()

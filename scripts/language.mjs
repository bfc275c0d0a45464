// node scripts/language.mjs [--update]
//
// Words that CONTRIBUTING.md ("How to write") replaces must not increase: each folder has a ceiling in language.json, which
// --update lowers to the present number. Part of lint.

import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { filesOf, lintedLines } from './shape/words.mjs'

/** @typedef {import('./shape/words.mjs').SourceFile} SourceFile */

/**
 * The folders that `actual` has more linted words in than `ceilings` allows; an unknown folder may have none.
 *
 * @param {Readonly<Record<string, number>>} actual
 * @param {Readonly<Record<string, number>>} ceilings
 */
export function overCeiling(actual, ceilings) {
  return Object.keys(actual).filter((folder) => (actual[folder] ?? 0) > (ceilings[folder] ?? 0))
}

/**
 * Code by top folder, and documents.
 *
 * @param {string} root
 * @returns {Readonly<Record<string, SourceFile[]>>}
 */
function foldersOf(root) {
  const folders = readdirSync(join(root, 'src'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => `src/${name}`)
    .sort()
  const entries = filesOf(root, 'src').filter(({ path }) => path.split('/').length === 2)
  const pages = readdirSync(root)
    .filter((name) => name.endsWith('.md') && name !== 'CHANGELOG.md' && name !== 'CONTRIBUTING.md')
    .map((name) => ({ path: name, text: readFileSync(join(root, name), 'utf8') }))
  return {
    src: entries,
    ...Object.fromEntries(folders.map((folder) => [folder, filesOf(root, folder)])),
    'dashboard/src': filesOf(root, 'dashboard/src'),
    docs: [...pages, ...filesOf(root, 'docs', ['.md']), ...filesOf(root, 'src', ['.md'])],
  }
}

/**
 * The lines that the work tree and the latest commit changed, as `path:line`.
 *
 * @param {string} root
 * @returns {Set<string>}
 */
function changedLines(root) {
  const { stdout } = spawnSync('git', ['diff', '--unified=0', 'HEAD~1'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 1e9,
  })
  let path = ''
  return new Set(
    (stdout ?? '').split('\n').flatMap((line) => {
      if (line.startsWith('+++ b/')) path = line.slice(6)
      const [, from, count = '1'] = /^@@ .* \+(\d+)(?:,(\d+))? @@/.exec(line) ?? []
      return from === undefined
        ? []
        : Array.from({ length: Number(count) }, (_, i) => `${path}:${Number(from) + i}`)
    }),
  )
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = dirname(dirname(fileURLToPath(import.meta.url)))
  const file = join(root, 'scripts/language.json')
  const folders = foldersOf(root)
  const found = Object.fromEntries(
    Object.entries(folders).map(([folder, files]) => [
      folder,
      files.flatMap((source) => lintedLines(source).map((line) => `${source.path}:${line}`)),
    ]),
  )
  const actual = Object.fromEntries(Object.entries(found).map(([folder, places]) => [folder, places.length]))
  /** @type {Record<string, number>} */
  const ceilings = JSON.parse(readFileSync(file, 'utf8'))
  const over = overCeiling(actual, ceilings)
  const fresh = over.length > 0 ? changedLines(root) : new Set()
  for (const folder of over) {
    console.error(
      `${folder}: ${actual[folder]} words to replace, at most ${ceilings[folder] ?? 0} are allowed.`,
    )
    const places = found[folder] ?? []
    const changed = places.filter((place) => fresh.has(place))
    for (const place of changed.length > 0 ? changed : places) console.error(`  ${place}`)
  }
  if (over.length > 0) {
    console.error('\nUse plain terms: see "How to write" in CONTRIBUTING.md.')
    process.exit(1)
  }
  if (process.argv.includes('--update')) writeFileSync(file, `${JSON.stringify(actual, null, 2)}\n`)
}

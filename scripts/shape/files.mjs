// Sizes of folders, documents and the package, and the words that the language lint looks for.

import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, extname, join } from 'node:path'
import { promisify } from 'node:util'
import ts from 'typescript'

/** @typedef {import('../shape.mjs').Row} Row */

/** @typedef {{ path: string, text: string }} SourceFile `path` starts at the root and has forward slashes. */

/** A file with more lines usually holds a second idea. */
const LONG_FILE_LINES = 400

const lintedWords =
  /\b(whoever|nobody|somebody|whatever|anew|so many|so much|so long|so often|told of|tells of|mend(s|ed|ing)?|shall|is over|stands at|by and by)\b/gi

/** @param {string} root @returns {Row[]} */
export function sizeRows(root) {
  const src = libraryFiles(root)
  const [fullest, count] = fullestFolder(src)
  return [
    { name: 'src, without src/testing and generated code', value: sizeOf(src) },
    { name: 'dashboard/src', value: sizeOf(filesOf(root, 'dashboard/src')) },
    { name: 'src/testing', value: sizeOf(filesOf(root, 'src/testing')) },
    { name: 'test', value: sizeOf(filesOf(root, 'test')) },
    { name: 'files in the fullest folder of src', value: `${count} (${fullest})` },
    {
      name: `files of src with more than ${LONG_FILE_LINES} lines`,
      value: src.filter(({ text }) => linesOf(text) > LONG_FILE_LINES).length,
    },
  ]
}

/** @param {string} root @returns {Row[]} */
export function wordRows(root) {
  const source = ['src', 'dashboard/src'].flatMap((folder) => filesOf(root, folder))
  const documents = documentsOf(root).flatMap(({ files }) => files)
  return [
    { name: 'comments and strings of src and dashboard/src', value: sum(source, proseWords) },
    { name: 'comments and strings of test', value: sum(filesOf(root, 'test'), proseWords) },
    { name: 'docs, README.md and ARCHITECTURE.md', value: sum(documents, ({ text }) => words(text)) },
  ]
}

/** @param {string} root @returns {Row[]} */
export function documentRows(root) {
  return documentsOf(root).map(({ name, files }) => ({
    name,
    value: sum(files, ({ text }) => Buffer.byteLength(text)),
  }))
}

/** @param {string} root @returns {Promise<Row[]>} */
export async function packageRows(root) {
  const name = 'installed package'
  if (!existsSync(join(root, 'dist'))) return [{ name, value: null }]
  // Without scripts: `prepack` would build, and a ruler changes nothing.
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts']
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  const { stdout } = await promisify(execFile)(npm, args, { cwd: root, maxBuffer: 64 * 1024 * 1024 })
  return [{ name, value: JSON.parse(stdout)[0].unpackedSize }]
}

/**
 * The files of src without the suites and without generated code.
 *
 * @param {string} root
 */
export function libraryFiles(root) {
  return filesOf(root, 'src').filter(({ path }) => !path.startsWith('src/testing/'))
}

/**
 * @param {string} root
 * @param {string} folder
 * @returns {SourceFile[]} Without generated code.
 */
function filesOf(root, folder) {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .filter((path) => ['.ts', '.tsx', '.mjs', '.css'].includes(extname(path)) && !path.includes('/gen/'))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

/** @param {string} root */
function documentsOf(root) {
  const read = (/** @type {string} */ path) => ({ path, text: readFileSync(join(root, path), 'utf8') })
  const pages = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))
  return [
    { name: 'ARCHITECTURE.md', files: [read('ARCHITECTURE.md')] },
    { name: 'README.md', files: [read('README.md')] },
    { name: 'docs/*.md', files: pages.map((name) => read(`docs/${name}`)) },
  ]
}

/**
 * @param {readonly SourceFile[]} files
 * @returns {[string, number]}
 */
function fullestFolder(files) {
  /** @type {Map<string, number>} */
  const counts = new Map()
  for (const { path } of files) counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1)
  return [...counts].sort(([, a], [, b]) => b - a)[0] ?? ['', 0]
}

/**
 * Words of the lint in comments, strings and the text of JSX: those of the whole file without names and regular expressions.
 *
 * @param {SourceFile} source
 */
function proseWords({ path, text }) {
  let count = words(text)
  if (count === 0 || path.endsWith('.css')) return count
  /** @param {import('typescript').Node} node */
  const visit = (node) => {
    if (ts.isMemberName(node) || ts.isRegularExpressionLiteral(node)) count -= words(node.text)
    ts.forEachChild(node, visit)
  }
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest))
  return count
}

/** @param {string} text */
function words(text) {
  return text.match(lintedWords)?.length ?? 0
}

/** @param {readonly SourceFile[]} files */
function sizeOf(files) {
  return [files.length, sum(files, ({ text }) => linesOf(text))]
}

/** @param {string} text */
function linesOf(text) {
  return text.split('\n').length - 1
}

/**
 * @param {readonly SourceFile[]} files
 * @param {(file: SourceFile) => number} measure
 */
function sum(files, measure) {
  return files.reduce((total, file) => total + measure(file), 0)
}

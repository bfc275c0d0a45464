// Sizes of folders, documents and the package, and the words that the language lint counts.

import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { filesOf, lintedLines } from './words.mjs'

/** @typedef {import('../shape.mjs').Row} Row */

/** @typedef {import('./words.mjs').SourceFile} SourceFile */

/** A file with more lines usually holds a second idea. */
const LONG_FILE_LINES = 400

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
    { name: 'comments and strings of src and dashboard/src', value: sum(source, wordCount) },
    { name: 'comments and strings of test', value: sum(filesOf(root, 'test'), wordCount) },
    { name: 'docs, README.md and ARCHITECTURE.md', value: sum(documents, wordCount) },
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

/** @param {SourceFile} source */
function wordCount(source) {
  return lintedLines(source).length
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

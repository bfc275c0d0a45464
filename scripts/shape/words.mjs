// Words that CONTRIBUTING.md ("How to write") replaces by plain terms: where they occur in comments, strings, JSX and documents.

import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import ts from 'typescript'

/** @typedef {{ path: string, text: string }} SourceFile `path` starts at the root and has forward slashes. */

const lintedWords =
  /\b(whoever|nobody|somebody|whatever|anew|so many|so much|so long|so often|told of|tells of|mend(s|ed|ing)?|shall|is over|stands at|by and by)\b/gi

/**
 * @param {string} root
 * @param {string} folder
 * @param {readonly string[]} [extensions]
 * @returns {SourceFile[]} Without generated code.
 */
export function filesOf(root, folder, extensions = ['.ts', '.tsx', '.mjs', '.css']) {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .filter((path) => extensions.includes(extname(path)) && !path.includes('/gen/'))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
}

/**
 * The lines with linted words, one entry per word. In code, names and regular expressions do not count.
 *
 * @param {SourceFile} source
 * @returns {number[]} Line numbers, from 1.
 */
export function lintedLines({ path, text }) {
  const found = [...text.matchAll(lintedWords)].map(({ index }) => index)
  if (found.length === 0 || path.endsWith('.css') || path.endsWith('.md')) return linesAt(text, found)
  /** @type {[number, number][]} */
  const names = []
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest)
  /** @param {import('typescript').Node} node */
  const visit = (node) => {
    if (ts.isMemberName(node) || ts.isRegularExpressionLiteral(node))
      names.push([node.getStart(file), node.end])
    ts.forEachChild(node, visit)
  }
  visit(file)
  return linesAt(
    text,
    found.filter((at) => !names.some(([from, to]) => from <= at && at < to)),
  )
}

/**
 * @param {string} text
 * @param {readonly number[]} places
 */
function linesAt(text, places) {
  return places.map((at) => text.slice(0, at).split('\n').length)
}

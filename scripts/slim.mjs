// What a build leaves out of dist/: comments of the JavaScript, modules that hold only types, and declarations that no
// public entry reaches. The sources are documented; the package is for running and for editors.

import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { minify } from 'rolldown/utils'

/**
 * Prints each module again without comments. Names and lines stay: a stack trace is read by people.
 *
 * @param {string} folder
 * @param {{ module: boolean }} format
 */
export async function stripComments(folder, { module }) {
  for (const path of filesIn(folder, '.js')) {
    const text = readFileSync(path, 'utf8')
    const { code, errors } = await minify(basename(path), text, {
      module,
      compress: false,
      mangle: false,
      codegen: { removeWhitespace: false },
    })
    if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`)
    // The command's first line is a comment to some printers, and what makes the file a program.
    const start = /^#!.*\n/.exec(text)?.[0] ?? ''
    writeFileSync(path, code.startsWith(start) ? code : start + code)
  }
}

/**
 * Deletes the declarations that no entry reaches.
 *
 * @param {string} folder
 * @param {readonly string[]} entries Names of entries, without an ending.
 */
export function pruneDeclarations(folder, entries) {
  /** @type {Set<string>} */
  const reached = new Set()
  const open = entries.map((name) => join(folder, `${name}.d.ts`))
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (reached.has(path)) continue
    reached.add(path)
    for (const [, to] of readFileSync(path, 'utf8').matchAll(
      /(?:from |import\(|import )['"](\.[^'"]+)\.[jt]s['"]/g,
    )) {
      const file = join(dirname(path), `${to}.d.ts`)
      // An example in a comment names files of users.
      if (existsSync(file)) open.push(file)
    }
  }
  for (const path of filesIn(folder, '.d.ts')) if (!reached.has(path)) rmSync(path)
}

/**
 * Deletes modules that hold only types: they are empty, and nothing imports them.
 *
 * @param {string} folder
 * @param {readonly string[]} entries
 */
export function pruneEmpty(folder, entries) {
  const kept = new Set(entries.map((name) => join(folder, `${name}.js`)))
  for (const path of filesIn(folder, '.js')) {
    const rest = readFileSync(path, 'utf8')
      .replace('"use strict";', '')
      .replace('Object.defineProperty(exports, "__esModule", { value: true });', '')
      .replace('export {};', '')
    if (rest.trim() === '' && !kept.has(path)) rmSync(path)
  }
}

/**
 * @param {string} folder
 * @param {string} ending
 */
function filesIn(folder, ending) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => join(entry.parentPath, entry.name))
}

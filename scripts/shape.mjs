// node scripts/shape.mjs [--root <folder>] [--compare <folder>] [--json]
//
// Measures the shape of the code base and prints a table: how large it is, how wide its contracts are, and how much code
// a job passes through. Restructurings are judged by it, so change what it counts only with a reason.
//
//   --root      the checkout to measure. Default: this repository
//   --compare   another checkout, shown beside it: before in the first column, after in the second
//   --json      prints the rows as JSON
//
// The journeys and the package size are measured in dist/, which has to be built first. A dash marks a row that could
// not be measured.
//
//   shape/files.mjs      sizes and the words of the language lint
//   shape/types.mjs      the store contract, public names, repeated type names, by the compiler
//   shape/journeys.mjs   what a job passes through; shape/run-journey.mjs counts what is executed, by V8's coverage

import { realpathSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { root as here } from './run.mjs'
import { documentRows, packageRows, sizeRows, wordRows } from './shape/files.mjs'
import { journeyRows } from './shape/journey-rows.mjs'
import { contractRows, repeatedNameRows } from './shape/types.mjs'

/**
 * One line of the table. Several numbers are shown with slashes between them.
 *
 * @typedef {{ name: string, value: number | string | readonly number[] | null }} Row
 */

/** @typedef {{ title: string, rows: readonly Row[] }} Section */

const { values } = parseArgs({
  options: {
    root: { type: 'string', default: here },
    compare: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
})
const after = await measure(values.root)
const before = values.compare === undefined ? null : await measure(values.compare)

if (values.json) console.log(JSON.stringify(before === null ? after : { before, after }, null, 2))
else printTable(before === null ? [after] : [before, after])

/**
 * @param {string} folder
 * @returns {Promise<readonly Section[]>}
 */
async function measure(folder) {
  const root = realpathSync(folder)
  return [
    { title: 'Source (files / lines)', rows: sizeRows(root) },
    { title: 'Contracts', rows: contractRows(root) },
    { title: 'Type names declared in more than one file of src', rows: repeatedNameRows(root) },
    { title: 'Words of the language lint', rows: wordRows(root) },
    { title: 'Documents and package (bytes)', rows: [...documentRows(root), ...(await packageRows(root))] },
    { title: 'Journeys (files / functions / calls executed)', rows: await journeyRows(root) },
  ]
}

/** @param {readonly (readonly Section[])[]} columns The sections of each checkout. */
function printTable(columns) {
  const cells = columns.map((sections) => new Map(sections.flatMap(({ rows }) => rows).map(cellOf)))
  const names = cells.flatMap((column) => [...column.keys()])
  const wide = Math.max(...names.map((name) => name.length))
  const widths = cells.map((column) => Math.max(...[...column.values()].map((cell) => cell.length)))
  const line = (/** @type {string} */ name, /** @type {readonly string[]} */ texts) =>
    [name.padEnd(wide), ...texts.map((text, index) => text.padEnd(widths[index] ?? 0))].join('   ').trimEnd()

  if (columns.length > 1) console.log(line('', ['before', 'after']))
  for (const { title, rows } of columns[0] ?? []) {
    console.log(`\n${title}`)
    for (const { name } of rows)
      console.log(
        line(
          name,
          cells.map((column) => column.get(name) ?? '–'),
        ),
      )
  }
}

/**
 * @param {Row} row
 * @returns {[string, string]}
 */
function cellOf({ name, value }) {
  if (value === null) return [name, '–']
  if (typeof value === 'string') return [name, value]
  const numbers = typeof value === 'number' ? [value] : value
  return [name, numbers.map((number) => number.toLocaleString('en')).join(' / ')]
}

// Writes docs/benchmarks.md with its charts, and bench/results/ with every figure, from results of the benchmark:
//
//   node --import jiti/register bench/report/main.ts [--to folder] results.json...
//
// Of several files, a later one replaces what it measured again. To add to what is published, name
// bench/results/results.json first. `npm run bench -- --publish` measures and calls this.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { root, runNode, tools } from '../../scripts/run.mjs'
import { chartsOf } from './charts.ts'
import { mergeResults } from './merge.ts'
import { PAGES, resultsParts, rewritePage, summaryParts } from './page.ts'
import { publish, readResult } from './published.ts'
import { checkTargets, countTargets } from './targets.ts'

const { values, positionals } = parseArgs({
  options: { to: { type: 'string', default: root } },
  allowPositionals: true,
})

const result = mergeResults(positionals.map((file) => readResult(readFileSync(file, 'utf8'))))
if (result.quick && values.to === root)
  throw new Error(
    'A quick run is not for publishing. Look at it with --to <folder>, or run the whole benchmark.',
  )

const charts = chartsOf(result)
const folder = join(values.to, 'docs/benchmarks')
const published = join(values.to, dirname(PAGES.results), 'results.json')
for (const place of [folder, dirname(published)]) mkdirSync(place, { recursive: true })

for (const name of readdirSync(folder).filter((file) => file.endsWith('.svg'))) rmSync(join(folder, name))
for (const { name, svg } of charts) writeFileSync(join(folder, `${name}.svg`), svg)
for (const [page, parts] of [
  [PAGES.summary, summaryParts(result, charts)],
  [PAGES.results, resultsParts(result)],
] as const) {
  writeFileSync(join(values.to, page), rewritePage(readFileSync(join(root, page), 'utf8'), parts))
}

writeFileSync(published, publish(result))
// The formatter puts the rounds of a measure on one line, and would complain about anything else.
if (values.to === root) await runNode([tools.biome, 'format', '--write', published], { quiet: true })

console.log(`${charts.length} charts. ${countTargets(checkTargets(result))}.`)

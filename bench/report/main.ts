// Writes docs/benchmarks.md, its charts and docs/benchmarks/results.json from results of the benchmark:
//
//   node --import jiti/register bench/report/main.ts [--to folder] results.json...
//
// Of several files, a later one replaces what it measured again. To add to what is published, name
// docs/benchmarks/results.json first.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root, runNode, tools } from '../../scripts/run.mjs'
import { chartsOf } from './charts.ts'
import { mergeResults } from './merge.ts'
import { partsOf, rewritePage } from './page.ts'
import { publish, readResult } from './published.ts'
import { checkTargets, countTargets } from './targets.ts'

const docs = join(root, 'docs')
const { values, positionals } = parseArgs({
  options: { to: { type: 'string', default: docs } },
  allowPositionals: true,
})

const result = mergeResults(positionals.map((file) => readResult(readFileSync(file, 'utf8'))))
if (result.quick && values.to === docs)
  throw new Error(
    'A quick run is not for publishing. Look at it with --to <folder>, or run the whole benchmark.',
  )

const charts = chartsOf(result)
const page = rewritePage(readFileSync(join(docs, 'benchmarks.md'), 'utf8'), partsOf(result, charts))

const folder = join(values.to, 'benchmarks')
mkdirSync(folder, { recursive: true })
for (const name of readdirSync(folder).filter((file) => file.endsWith('.svg'))) rmSync(join(folder, name))
for (const { name, svg } of charts) writeFileSync(join(folder, `${name}.svg`), svg)
writeFileSync(join(values.to, 'benchmarks.md'), page)

const published = join(folder, 'results.json')
writeFileSync(published, publish(result))
// The formatter puts the rounds of a measure on one line, and would complain about anything else.
if (values.to === docs) await runNode([tools.biome, 'format', '--write', published], { quiet: true })

console.log(`${charts.length} charts. ${countTargets(checkTargets(result))}.`)

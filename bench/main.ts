/**
 * npm run bench -- [--quick] [--only postgres,sqlite] [--scenario drain] [--rounds n] [--json]
 *
 * Measures the built package in interleaved rounds: every contestant runs every scenario once per round, each
 * on a fresh store, and the median and the spread are shown. The figures hold for this machine and this run.
 */
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { startPostgres } from '../test/servers/index.ts'
import { type Figure, FULL, QUICK } from './contest.ts'
import { makers } from './contestants.ts'
import { measureRaw, RAW_SCENARIOS } from './raw.ts'
import { measure, SCENARIOS } from './scenarios.ts'
import { table } from './table.ts'

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    only: { type: 'string' },
    scenario: { type: 'string' },
    rounds: { type: 'string' },
  },
})
const sizes = {
  ...(values.quick ? QUICK : FULL),
  ...(values.rounds ? { rounds: Number(values.rounds) } : {}),
}
const postgres = await startPostgres()
const figures: Figure[] = []
const settings = new Map<string, string>()

try {
  const all = makers(postgres.url)
  const chosen = values.only?.split(',') ?? Object.keys(all)
  const scenarios = Object.entries(SCENARIOS).filter(([name]) => name.includes(values.scenario ?? ''))
  for (let round = 1; round <= sizes.rounds; round++) {
    for (const [scenario, run] of scenarios) {
      for (const name of chosen) {
        const make = all[name]
        if (make === undefined)
          throw new Error(`There is no "${name}". Choose from: ${Object.keys(all).join(', ')}.`)
        const contestant = await make()
        try {
          const raw = name.startsWith('raw-') ? RAW_SCENARIOS[scenario] : undefined
          if (name.startsWith('raw-') && raw === undefined) continue
          const perSecond = Math.round(
            raw ? await measureRaw(raw, contestant, sizes) : await measure(run, contestant, sizes),
          )
          settings.set(name, contestant.settings)
          figures.push({ scenario, contestant: name, perSecond })
          process.stderr.write(`round ${round}/${sizes.rounds}  ${scenario}  ${name}  ${perSecond}/s\n`)
        } finally {
          await contestant.remove()
        }
      }
    }
  }
} finally {
  await postgres.stop()
}

const machine = { node: process.version, cpus: cpus().length, model: cpus()[0]?.model ?? 'unknown' }
if (values.json) {
  console.log(JSON.stringify({ machine, sizes, settings: Object.fromEntries(settings), figures }, null, 2))
} else {
  console.log(
    `\nNode ${machine.node}, ${machine.cpus} × ${machine.model}; jobs per second, median (lowest..highest)\n`,
  )
  console.log(table(figures))
  for (const [name, text] of settings) console.log(`${name}: ${text}`)
}
process.exit()

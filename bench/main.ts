/**
 * npm run bench -- [--quick] [--only postgres,sqlite] [--scenario drain] [--rounds n] [--json [file]]
 *
 * Measures Skep, its rivals and the raw databases in interleaved rounds. This process starts the servers and tells others
 * what to do (scenarios/); what is measured happens in processes of their own (player/), each of which opens the queue of
 * one contestant (lines/). The figures hold for this machine and this run.
 */
import { writeFileSync } from 'node:fs'
import { ensureRivals } from '../scripts/rivals.mjs'
import { CONTESTANTS } from './contestants.ts'
import { type CountsOptions, measureCounts } from './counts/main.ts'
import { countsOptions } from './counts/options.ts'
import { type DashboardOptions, measureDashboard } from './dashboard/main.ts'
import { dashboardOptions } from './dashboard/options.ts'
import { entrant, machine } from './entrants.ts'
import { type Options, readOptions } from './options.ts'
import { bundlePlayer } from './player/bundle.ts'
import { copyPackage } from './player/package-copy.ts'
import { renderTable } from './report/table.ts'
import type { Result } from './result.ts'
import { built, root } from './root.ts'
import { estimateSeconds, playRounds } from './rounds.ts'
import { SCENARIOS } from './scenarios/index.ts'
import { Servers } from './servers.ts'

process.exitCode = await main()
// Libraries and servers may keep timers; the results are written.
process.exit()

async function main(): Promise<number> {
  let options: Options | DashboardOptions | CountsOptions
  try {
    const args = process.argv.slice(2)
    options =
      countsOptions(args) ??
      dashboardOptions(args) ??
      readOptions(args, { contestants: CONTESTANTS, scenarios: SCENARIOS })
  } catch (error) {
    console.error((error as Error).message)
    return 2
  }
  if ('counted' in options) return measureCounts(options)
  if ('stores' in options) {
    // It compares Skep with itself, at two sizes, and has a table of its own.
    await measureDashboard(options)
    return 0
  }
  const { contestants, sizes, quick, json } = options
  if (contestants.some(({ kind }) => kind === 'rival') && !(await ensureRivals())) {
    console.error('\nThe rivals could not be installed; npm says above why. Go without: --only skep,raw')
    return 1
  }
  const at = new Date().toISOString()
  const entrants = contestants.map(entrant)
  const minutes = Math.max(1, Math.round(estimateSeconds(options) / 60))
  console.error(`${contestants.length} contestants, ${sizes.rounds} rounds: about ${minutes} minutes.`)

  const bundle = await bundlePlayer(root)
  const copy = copyPackage(root, built)
  const servers = await Servers.start(contestants)
  try {
    const { figures, series, notes, failures } = await playRounds(options, {
      servers,
      program: { file: bundle.file, root, built: copy.folder },
      say: (line) => console.error(line),
    })
    const result: Result = {
      machine: machine(await servers.versions()),
      at,
      quick,
      rounds: sizes.rounds,
      contestants: entrants,
      figures,
      ...(series.length > 0 && { series }),
      ...(notes.length > 0 && { notes }),
    }
    if (json === '-') console.log(JSON.stringify(result, null, 2))
    else console.log(renderTable(result))
    if (json !== null && json !== '-') writeFileSync(json, `${JSON.stringify(result, null, 2)}\n`)
    for (const failure of failures) console.error(`FAILED  ${failure}`)
    return failures.length === 0 ? 0 : 1
  } finally {
    await servers.stop()
    bundle.remove()
    copy.remove()
  }
}

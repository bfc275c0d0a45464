import type { Contestant } from './contest.ts'
import { nodeOf } from './entrants.ts'
import type { Options } from './options.ts'
import type { PlayerProgram } from './player/player.ts'
import type { Note, RoundFigure, Series } from './result.ts'
import { CANNOT, canTakePart, type Measured, missing, type Scenario, wants } from './scenarios/scenario.ts'
import { Stage } from './scenarios/stage.ts'
import type { Servers } from './servers.ts'

export interface Found {
  readonly figures: readonly RoundFigure[]
  readonly series: readonly Series[]
  readonly notes: readonly Note[]
  /** What did not work. A measurement that failed has no figures. */
  readonly failures: readonly string[]
}

export interface Hall {
  readonly servers: Servers
  /** The player's program and its Node, for each contestant. */
  readonly program: Omit<PlayerProgram, 'node'>
  say(line: string): void
}

/** About how long it will take. */
export function estimateSeconds({ contestants, scenarios, sizes }: Options): number {
  let seconds = 0
  for (const scenario of scenarios) {
    const count = contestants.filter((contestant) => canTakePart(scenario, contestant)).length
    const times = scenario.when === 'together' ? Math.min(1, count) : count
    seconds += times * scenario.seconds(sizes) * (scenario.when === undefined ? sizes.rounds : 1)
  }
  return seconds
}

/**
 * In every round every contestant does every scenario once, each on a fresh store, and the next round begins again from the
 * first: a machine that is slower for some minutes then slows down all of them.
 */
export async function playRounds({ contestants, scenarios, sizes }: Options, hall: Hall): Promise<Found> {
  const figures: RoundFigure[] = []
  const series: Series[] = []
  const notes: Note[] = []
  const failures: string[] = []

  const play = async (round: number, scenario: Scenario, contestant: Contestant): Promise<void> => {
    const title = `round ${round}/${sizes.rounds}  ${scenario.name}  ${contestant.name}`
    const startedAt = performance.now()
    try {
      const measured = await measure(scenario, contestant, sizes, hall)
      figures.push(...measured.figures.map((value) => ({ ...value, contestant: contestant.name, round })))
      series.push(...(measured.series ?? []).map((one) => ({ ...one, contestant: contestant.name })))
      if (measured.note !== undefined) {
        const missing = measured.figures[0]?.scenario ?? scenario.name
        notes.push({ scenario: missing, contestant: contestant.name, note: measured.note })
      }
      const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
      hall.say(`${title}  ${summary(measured)}  (${seconds} s)`)
    } catch (error) {
      const failure = `${contestant.name}, ${scenario.name}, round ${round}: ${messageOf(error)}`
      failures.push(failure)
      const note = `failed in round ${round}: ${messageOf(error)}`
      notes.push({ scenario: scenario.name, contestant: contestant.name, note })
      hall.say(`FAILED  ${failure}`)
    }
  }

  for (let round = 1; round <= sizes.rounds; round++) {
    for (const scenario of scenarios) {
      if (round > 1 && scenario.when !== undefined) continue
      const taking = contestants.filter((contestant) => canTakePart(scenario, contestant))
      if (round === 1) notes.push(...cannot(scenario, contestants))
      if (scenario.when === 'together') {
        await Promise.all(taking.map((contestant) => play(round, scenario, contestant)))
      } else {
        for (const contestant of taking) await play(round, scenario, contestant)
      }
    }
  }
  return { figures, series, notes, failures }
}

/** Who would take part, if only it could. */
function cannot(scenario: Scenario, contestants: readonly Contestant[]): Note[] {
  return contestants.flatMap((contestant) => {
    const need = wants(scenario, contestant) ? missing(scenario, contestant) : null
    return need === null ? [] : [{ scenario: scenario.name, contestant: contestant.name, note: CANNOT[need] }]
  })
}

async function measure(
  scenario: Scenario,
  contestant: Contestant,
  sizes: Options['sizes'],
  { servers, program }: Hall,
): Promise<Measured> {
  const { appendfsync } = contestant.options as { readonly appendfsync?: string }
  const store = await servers.fresh(contestant.store, appendfsync)
  const node = await nodeOf(contestant)
  const stage = new Stage({ contestant, sizes, address: store.address, program: { ...program, node } })
  try {
    return await scenario.run(stage)
  } finally {
    await stage.end()
    await store.remove()
  }
}

function summary({ figures, note }: Measured): string {
  const values = figures.map(({ scenario, measure, value }, i) => {
    const name = scenario === figures[i - 1]?.scenario ? measure : `${scenario}: ${measure}`
    return `${name} ${value.toLocaleString('en-US', { maximumFractionDigits: value < 100 ? 2 : 0 })}`
  })
  return [...values, ...(note ? [`(${note})`] : [])].join('  ')
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

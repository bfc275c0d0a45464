import type { Entrant, Machine, Result, RoundFigure } from '../result.ts'

/** Puts results together. What a contestant did in a scenario is taken whole from the last result that has it. */
export function mergeResults(results: readonly Result[]): Result {
  const [first, ...others] = results
  if (!first) throw new Error('There is no result to report.')
  return others.reduce(mergeTwo, first)
}

/** When the run began in which this contestant went through this scenario. */
export function runOf(result: Result, scenario: string, contestant: string): string {
  const figure = result.figures.find((one) => one.scenario === scenario && one.contestant === contestant)
  return figure?.at ?? result.at
}

/** When each run began that has a figure here, the oldest first. */
export function runsOf(result: Result): string[] {
  return [...new Set(result.figures.map(({ at }) => at ?? result.at))].sort()
}

function mergeTwo(old: Result, fresh: Result): Result {
  // Figures of two machines, or of small and large sizes, must not stand side by side in one table.
  const machine = mergeMachines(old.machine, fresh.machine)
  if (machine === null)
    throw new Error(
      `The runs of ${old.at} and ${fresh.at} are from different machines, or on different servers. Run all again on one.`,
    )
  if (old.quick !== fresh.quick)
    throw new Error(`Of the runs of ${old.at} and ${fresh.at} only one is quick. Their sizes differ.`)

  const replaced = new Set([fresh.figures, fresh.series ?? [], fresh.notes ?? []].flat().map(keyOf))
  const kept = old.figures.filter((figure) => !replaced.has(keyOf(figure)))
  checkVersions(old, fresh, kept)
  const merge = <T extends Key>(before: readonly T[] = [], after: readonly T[] = []): T[] => [
    ...before.filter((one) => !replaced.has(keyOf(one))),
    ...after,
  ]
  return {
    ...fresh,
    machine,
    rounds: Math.max(old.rounds, fresh.rounds),
    contestants: mergeEntrants(old.contestants, fresh.contestants),
    figures: [...kept.map((figure) => ({ ...figure, at: figure.at ?? old.at })), ...fresh.figures],
    series: merge(old.series, fresh.series),
    notes: merge(old.notes, fresh.notes),
    ...(old.remarks && { remarks: old.remarks }),
  }
}

/** A run on one store starts no other server, so the lists of servers may differ, but not the version of one of them. */
function mergeMachines(a: Machine, b: Machine): Machine | null {
  const [systemA, ...serversA] = a.os.split('; ')
  const [systemB, ...serversB] = b.os.split('; ')
  const servers = [...new Set([...serversA, ...serversB])]
  const names = new Set(servers.map((server) => server.split(' ')[0]))
  const isSame = systemA === systemB && a.node === b.node && a.cpus === b.cpus && a.model === b.model
  return isSame && names.size === servers.length ? { ...a, os: [systemA, ...servers].join('; ') } : null
}

interface Key {
  readonly scenario: string
  readonly contestant: string
}

function keyOf({ scenario, contestant }: Key): string {
  return JSON.stringify([scenario, contestant])
}

function checkVersions(old: Result, fresh: Result, kept: readonly RoundFigure[]): void {
  for (const entrant of fresh.contestants) {
    const before = old.contestants.find(({ name }) => name === entrant.name)
    const remains = kept.some(({ contestant }) => contestant === entrant.name)
    if (before && remains && !isSame(before, entrant))
      throw new Error(
        `${entrant.name} is not the same in the runs of ${old.at} and ${fresh.at}: ` +
          'its version, settings or Node changed. Run all of its scenarios again.',
      )
  }
}

function isSame(a: Entrant, b: Entrant): boolean {
  return a.version === b.version && a.settings === b.settings && a.node === b.node && a.store === b.store
}

function mergeEntrants(old: readonly Entrant[], fresh: readonly Entrant[]): Entrant[] {
  const find = (name: string): Entrant | undefined => fresh.find((entrant) => entrant.name === name)
  const known = old.map((entrant) => find(entrant.name) ?? entrant)
  return [...known, ...fresh.filter(({ name }) => !old.some((entrant) => entrant.name === name))]
}

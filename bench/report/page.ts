import type { Result } from '../result.ts'
import { behind, behindList } from './behind.ts'
import type { Chart } from './charts.ts'
import { plainTable } from './markdown.ts'
import { runsOf } from './merge.ts'
import { groupsOf } from './programme.ts'
import { STORE_NAMES, storesOf } from './standing.ts'
import { behindPart, summaryPart } from './summary.ts'
import { groupTable } from './table.ts'
import { checkTargets, countTargets, type Verdict } from './targets.ts'

/** The two generated pages. The text outside of their markers is written by hand. */
export const PAGES = {
  /** For users: ratios, charts and how it is measured. */
  summary: 'docs/benchmarks.md',
  /** Every figure, the settings of every contestant, the targets. */
  results: 'bench/results/README.md',
} as const

/** Replaces the text between `<!-- bench:begin name -->` and `<!-- bench:end name -->`. */
export function rewritePage(page: string, parts: Readonly<Record<string, string>>): string {
  return Object.entries(parts).reduce((text, [name, part]) => {
    const [begin, end] = [`<!-- bench:begin ${name} -->`, `<!-- bench:end ${name} -->`]
    const [from, to] = [text.indexOf(begin), text.indexOf(end)]
    if (from === -1 || to < from)
      throw new Error(`The page has no place for "${name}". Put ${begin} and ${end} into it.`)
    return `${text.slice(0, from + begin.length)}\n${part.trim()}\n${text.slice(to)}`
  }, page)
}

/** The generated parts of `docs/benchmarks.md`. */
export function summaryParts(result: Result, charts: readonly Chart[]): Record<string, string> {
  return {
    machine: machinePart(result),
    summary: summaryPart(result),
    behind: behindPart(result),
    charts: charts.map(({ name, heading }) => `![${heading}](benchmarks/${name}.svg)`).join('\n\n'),
  }
}

/** The generated parts of `bench/results/README.md`. */
export function resultsParts(result: Result): Record<string, string> {
  return {
    machine: machinePart(result),
    contestants: contestantsPart(result),
    targets: targetsPart(checkTargets(result)),
    tables: tablesPart(result),
    behind: behindList(behind(result)) || 'In no measure of this run is a rival on the same store ahead.',
  }
}

function machinePart(result: Result): string {
  const { node, cpus, model, os } = result.machine
  const days = [...new Set(runsOf(result).map((at) => at.slice(0, 10)))]
  const period = days.length > 1 ? `${days[0]} to ${days.at(-1)}` : days[0]
  return [
    `- Measured ${period}, ${result.rounds} ${result.rounds === 1 ? 'round' : 'rounds'}, with the code of ${days.length > 1 ? 'those days' : 'that day'}.`,
    `- Machine: ${cpus} cores (${model}), ${os}. Clients, workers and the database share them.`,
    `- Node ${node}, except for rivals that need a newer one.`,
    ...(result.remarks ?? []).map((remark) => `- ${remark}`),
  ].join('\n')
}

function contestantsPart({ contestants }: Result): string {
  return plainTable(
    ['', 'Version', 'Store', 'Node', 'Settings'],
    contestants.map(({ name, kind, version, store, node, settings }) => [
      kind === 'skep' ? `**${name}**` : name,
      version ?? '–',
      STORE_NAMES[store],
      node,
      settings,
    ]),
  )
}

function targetsPart(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(({ target, asked, shown, met, reached, note }) => [
    STORE_NAMES[target.store],
    target.title,
    asked + against(target.against),
    shown,
    reached === null ? 'not measured' : met ? 'yes' : '**no**',
    note,
  ])
  return `${countTargets(verdicts)}.\n\n${plainTable(['Store', 'Measure', 'Target', 'Reached', 'Met', 'Compared with'], rows)}`
}

function against(how: Verdict['target']['against']): string {
  if (how === 'rival') return ' the best rival'
  if (how === 'raw') return ' of the limit'
  if (how === 'value') return ''
  if ('rival' in how) return ` ${how.rival}`
  return 'settings' in how ? ' of everysec' : ' before'
}

function tablesPart(result: Result): string {
  return storesOf(result)
    .flatMap((store) => [
      `### ${STORE_NAMES[store]}`,
      ...groupsOf(result).flatMap((group) => {
        const table = groupTable(result, group, store)
        return table === null ? [] : [`**${group.title}**`, table]
      }),
    ])
    .concat('Every round of every figure is in [results.json](results.json).')
    .join('\n\n')
}

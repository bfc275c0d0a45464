import type { Result } from '../result.ts'
import { behind, behindList } from './behind.ts'
import type { Chart } from './charts.ts'
import { plainTable } from './markdown.ts'
import { runsOf } from './merge.ts'
import { groupsOf } from './programme.ts'
import { STORE_NAMES, storesOf } from './standing.ts'
import { groupTable } from './table.ts'
import { checkTargets, countTargets, type Verdict } from './targets.ts'

/** Writes anew what stands between `<!-- bench:begin name -->` and `<!-- bench:end name -->`. The rest is written by hand. */
export function rewritePage(page: string, parts: Readonly<Record<string, string>>): string {
  return Object.entries(parts).reduce((text, [name, part]) => {
    const [begin, end] = [`<!-- bench:begin ${name} -->`, `<!-- bench:end ${name} -->`]
    const [from, to] = [text.indexOf(begin), text.indexOf(end)]
    if (from === -1 || to < from)
      throw new Error(`The page has no place for "${name}". Put ${begin} and ${end} into it.`)
    return `${text.slice(0, from + begin.length)}\n${part.trim()}\n${text.slice(to)}`
  }, page)
}

export function partsOf(result: Result, charts: readonly Chart[]): Record<string, string> {
  return {
    machine: machinePart(result),
    contestants: contestantsPart(result),
    targets: targetsPart(checkTargets(result)),
    charts: charts.map(({ name, title }) => `![${title}](benchmarks/${name}.svg)`).join('\n\n'),
    tables: tablesPart(result),
    behind: behindList(behind(result)) || 'In no measure of this run is a rival on the same store ahead.',
  }
}

function machinePart(result: Result): string {
  const { node, cpus, model, os } = result.machine
  const runs = runsOf(result).map((at) => at.slice(0, 16).replace('T', ' '))
  return [
    `- Machine: ${cpus} cores (${model}), ${os}. Clients, workers and the database share them.`,
    `- Node ${node}, unless the list below says otherwise.`,
    `- Measured ${runs.join(' and ')} UTC, ${result.rounds} ${result.rounds === 1 ? 'round' : 'rounds'}.`,
    ...(runs.length > 1
      ? ['- Some scenarios were run again later. A comparison across runs says so in the targets.']
      : []),
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
  return `${countTargets(verdicts)}.\n\n${plainTable(['Store', 'Measure', 'Asked', 'Reached', 'Met', 'Compared with'], rows)}`
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
    .concat('Every round of every figure is in [results.json](benchmarks/results.json).')
    .join('\n\n')
}

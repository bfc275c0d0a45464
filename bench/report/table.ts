import type { StoreKind } from '../contest.ts'
import type { Entrant, Note, Result } from '../result.ts'
import { markdownTable } from './markdown.ts'
import { advantage, higherIsBetter, percent, show, times } from './measure.ts'
import { type Column, type Group, groupsOf } from './programme.ts'
import { type Rank, rank, STORE_NAMES, standing, storesOf } from './standing.ts'

/** All tables, as Markdown that also reads well in a terminal. */
export function renderTable(result: Result): string {
  const tables = groupsOf(result).flatMap((group) =>
    storesOf(result).flatMap((store) => {
      const table = groupTable(result, group, store)
      return table === null ? [] : [`${STORE_NAMES[store]}: ${group.title}\n\n${table}`]
    }),
  )
  return `${tables.join('\n\n')}\n`
}

/** The table of one group on one store; where nobody has a figure, why. Null if nobody there was meant to take part. */
export function groupTable(result: Result, group: Group, store: StoreKind): string | null {
  const columns = group.columns.filter((column) => standing(result, store, column).ranks.length > 0)
  const why = group.isMore ? null : notes(result, store, group.columns)
  if (columns.length === 0) return why
  const order = ['skep', 'rival', 'raw']
  const rows = result.contestants
    .filter((entrant) => entrant.store === store)
    .filter((entrant) =>
      columns.some(
        (column) =>
          rank(result, entrant, column) !== null || (why !== null && hasNote(result, entrant, column)),
      ),
    )
    .sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind))
    .map((entrant) => [
      label(entrant),
      ...columns.map((column) => cell(rank(result, entrant, column), roundsOf(result, store, column))),
    ])
  const head = ['', ...columns.map(({ title }) => title)]
  const table = markdownTable(head, [...rows, ...comparisons(result, store, columns)])
  return why === null ? table : `${table}\n\n${why}`
}

/** There is a reason why it has no figure. */
function hasNote({ notes = [] }: Result, { name }: Entrant, column: Column): boolean {
  return notes.some(({ scenario, contestant }) => scenario === column.scenario && contestant === name)
}

/** Why somebody has a dash. Null if there is nothing to say. */
function notes(result: Result, store: StoreKind, columns: readonly Column[]): string | null {
  const isOurs = ({ scenario, contestant }: Note): boolean =>
    columns.some((column) => column.scenario === scenario) &&
    result.contestants.some((entrant) => entrant.name === contestant && entrant.store === store)
  const lines = (result.notes ?? []).filter(isOurs).map(({ contestant, note }) => `${contestant}: ${note}.`)
  return lines.length > 0 ? [...new Set(lines)].join(' ') : null
}

/** The rows below the contestants: how far Skep is ahead, and what it leaves of the limit. */
function comparisons(result: Result, store: StoreKind, columns: readonly Column[]): string[][] {
  const standings = columns.map((column) => ({ column, ...standing(result, store, column) }))
  const ahead = standings.map(({ column, skep, rivals: [best] }) =>
    skep && best ? times(advantage(column, skep.summary.median, best.summary.median)) : '–',
  )
  const share = standings.map(({ column, skep, raw }) =>
    // A share of the limit is said of rates alone: the raw loop's memory or latency limits nobody.
    skep && raw && higherIsBetter(column) ? percent(skep.summary.median / raw.summary.median) : '–',
  )
  return [
    ['*Skep against the best rival*', ...ahead],
    ['*Skep against the limit*', ...share],
  ].filter(([, ...cells]) => cells.some((text) => text !== '–'))
}

function label({ name, kind }: Entrant): string {
  if (kind === 'skep') return `**${name}**`
  return kind === 'raw' ? `${name} (limit)` : name
}

/** How many rounds those have who took part in all. Some scenarios are run once. */
function roundsOf(result: Result, store: StoreKind, column: Column): number {
  return Math.max(0, ...standing(result, store, column).ranks.map(({ summary }) => summary.rounds))
}

function cell(one: Rank | null, expected: number): string {
  if (one === null) return '–'
  const { median, lowest, highest, rounds } = one.summary
  const value = rounds === 1 ? show(median) : `${show(median)} (${show(lowest)}..${show(highest)})`
  // A round that failed must not go unseen.
  return rounds < expected ? `${value} in ${rounds} of ${expected}` : value
}

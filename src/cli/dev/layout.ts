import { JOB_STATES, type JobState } from '../../index.ts'
import type { WorkerSummary } from '../../operations/schema/outputs.ts'
import type { JobEvent } from '../format/event-lines.ts'
import { clock, compact, count, rate, span, sparkline } from '../format/numbers.ts'
import { STATE_STYLES } from '../format/states.ts'
import { clean, pad, widthOf } from '../format/text.ts'
import type { Style } from '../output.ts'
import type { QueueRow, Snapshot } from './dashboard.ts'
import { type Canvas, lineOf, type Piece, spread, wrap } from './widgets.ts'

export interface FrameOptions extends Canvas {
  readonly rows: number
  readonly title: string
  readonly place: string
  /** What to try, at the foot. */
  readonly tip: string
  /** What each queue is there to show. */
  readonly captions: ReadonlyMap<string, string>
  /** The keys that do something. */
  readonly keys: string
  /** A message, shown in place of the keys. @default '' */
  readonly word?: string
  /** Where the dashboard is; null: it is not open. */
  readonly url?: string | null
  /** Whether gRPC is served there. */
  readonly grpc?: boolean
  /** The queue that the keys are about. */
  readonly selected?: string | undefined
  /** The list below the queues. @default 'recent' */
  readonly list?: 'recent' | 'workers'
}

/** A picture of the board that fills the terminal and never leaves it. */
export function frame(seen: Snapshot, options: FrameOptions): string[] {
  const snapshot = withOwn(seen)
  const { rows } = options
  const head = [header(snapshot, options), ...addressLine(options), '', ...trouble(snapshot, options)]
  const foot = [footer(snapshot, options)]
  const shownRows = Math.max(1, rows - head.length - foot.length - 9)
  const body = [
    ...queueTable(snapshot, options, shownRows),
    '',
    summary(snapshot, options),
    ...flowLine(snapshot, options),
    '',
  ]
  const space = rows - head.length - body.length - foot.length - 1
  const list = space > 1 ? lower(snapshot, space, options) : []
  const lines = [...head, ...body, ...list].slice(0, Math.max(0, rows - 1))
  while (lines.length < rows - 1) lines.push('')
  return [...lines, ...foot]
}

/** Who has just written a handler looks for its queue, although it had no job yet. */
function withOwn(snapshot: Snapshot): Snapshot {
  const { rows, own, status } = snapshot
  if (status === 'connecting') return snapshot
  const states = Object.fromEntries(JOB_STATES.map((state) => [state, 0])) as QueueRow['states']
  const idle = own
    .filter((name) => !rows.some((row) => row.name === name))
    .map((name): QueueRow => ({ name, states, rate: 0, oldestMs: null, hold: null, workers: 1 }))
  return { ...snapshot, rows: [...rows, ...idle].sort((a, b) => a.name.localeCompare(b.name)) }
}

function lower(snapshot: Snapshot, space: number, options: FrameOptions): string[] {
  if (options.list === 'workers') return workerTable(snapshot.presences, space, options)
  return [title('RECENT', options), ...events(snapshot.events, space - 1, options)]
}

const STATUS: Readonly<Record<Snapshot['status'], readonly [string, Style]>> = {
  connecting: ['◌ connecting', 'yellow'],
  running: ['● running', 'green'],
  away: ['○ away', 'red'],
  stopping: ['◍ stopping', 'yellow'],
}

function header({ status, upMs }: Snapshot, options: FrameOptions): string {
  const [text, style] = STATUS[status]
  const left: Piece[] = [
    { text: ' ⬡ ', style: 'yellow' },
    { text: `skep ${options.title}`, style: 'bold' },
    { text: `  ${options.place}`, style: 'dim' },
  ]
  return spread(
    left,
    [
      { text: `up ${span(Math.max(1_000, upMs)).replace(/\.\d/, '')}  `, style: 'dim' },
      { text: `${text} `, style },
    ],
    options,
  )
}

function addressLine(options: FrameOptions): string[] {
  if (options.url === undefined || options.url === null) return []
  const left: Piece[] = [
    { text: '   dashboard  ', style: 'dim' },
    { text: options.url, style: ['cyan', 'bold'] },
    { text: `   HTTP${options.grpc === true ? ' and gRPC' : ''} on the same port`, style: 'dim' },
  ]
  return [lineOf(left, options)]
}

/** What is wrong, in as many lines as it needs. */
function trouble({ trouble: text }: Snapshot, options: FrameOptions): string[] {
  if (text === null) return []
  const lines = wrap(text, options.columns - 2).slice(0, 4)
  return [...lines.map((line) => lineOf([{ text: ` ${line}`, style: 'red' }], options)), '']
}

function footer({ status }: Snapshot, options: FrameOptions): string {
  if (status === 'stopping') {
    return lineOf(
      [{ text: ' Running jobs may finish. Ctrl-C again hands them back now.', style: 'yellow' }],
      options,
    )
  }
  const { word = '' } = options
  if (word !== '') return lineOf([{ text: ` ${word}`, style: 'cyan' }], options)
  const keys: Piece = { text: ` ${options.keys}`, style: 'dim' }
  const tip: Piece = { text: `${options.tip} `, style: 'dim' }
  // Who does not know the keys cannot do without them.
  if (widthOf(keys.text) + widthOf(tip.text) > options.columns) return lineOf([keys], options)
  return spread([keys], [tip], options)
}

function title(text: string, options: FrameOptions): string {
  return lineOf([{ text: ` ${text}`, style: 'dim' }], options)
}

// ── queues ───────────────────────────────────────────────────────────────────────────────────────

interface Col {
  readonly title: string
  readonly width: number
  cell(row: QueueRow): Piece
}

function number(value: number, style: Style): Piece {
  return value === 0 ? { text: '·', style: 'dim' } : { text: compact(value), style }
}

/** The columns that fit. States that say little come only when there is room, or something to say. */
function columnsFor({ rows }: Snapshot, { columns }: FrameOptions, nameWidth: number): Col[] {
  const has = (state: JobState): boolean => rows.some((row) => row.states[state] > 0)
  const rare: readonly JobState[] = ['failed', 'cancelled']
  const state = (name: JobState): Col => ({
    title: name,
    width: Math.max(6, name.length) + 1,
    cell: (row) => number(row.states[name], STATE_STYLES[name]),
  })
  const rest: Col[] = [
    {
      title: 'jobs/s',
      width: 8,
      cell: (row) => ({
        text: row.rate === 0 ? '·' : rate(row.rate),
        style: row.rate === 0 ? 'dim' : 'bold',
      }),
    },
    {
      title: 'oldest',
      width: 8,
      cell: (row) => ({ text: row.oldestMs === null ? '·' : span(row.oldestMs), style: 'dim' }),
    },
  ]
  const workers: Col = {
    title: 'workers',
    width: 9,
    cell: (row) =>
      row.workers === 0 ? { text: 'none', style: 'red' } : { text: String(row.workers), style: 'dim' },
  }
  const usual = JOB_STATES.filter((name) => !rare.includes(name)).map(state)
  const chosen = [...usual, ...rare.filter(has).map(state), ...rest]
  const used = (list: readonly Col[]): number => list.reduce((sum, col) => sum + col.width, nameWidth + 1)
  return used([...chosen, workers]) <= columns ? [...chosen, workers] : chosen
}

function queueTable(snapshot: Snapshot, options: FrameOptions, most: number): string[] {
  const { rows } = snapshot
  if (rows.length === 0) {
    const text = snapshot.status === 'connecting' ? 'Waiting for the database.' : 'No queues yet.'
    return [title('QUEUE', options), lineOf([{ text: ` ${text}`, style: 'dim' }], options)]
  }
  const longest = Math.max(8, ...rows.map((row) => widthOf(row.name) + (row.hold === null ? 0 : 2)))
  let nameWidth = Math.min(longest, 32)
  let cols = columnsFor(snapshot, options, nameWidth)
  const used = cols.reduce((sum, col) => sum + col.width, 1)
  if (used + nameWidth > options.columns) {
    nameWidth = Math.max(8, options.columns - used)
    cols = columnsFor(snapshot, options, nameWidth)
  }
  const tableWidth = cols.reduce((sum, col) => sum + col.width, 1 + nameWidth)
  const captionWidth = Math.max(0, ...rows.map((row) => widthOf(options.captions.get(row.name) ?? '')))
  const hasCaptions = captionWidth > 0 && tableWidth + 3 + captionWidth <= options.columns
  const line = (name: Piece, cells: readonly Piece[], caption: string): string =>
    lineOf(
      [
        { text: ' ' },
        { ...name, text: pad(name.text, nameWidth) },
        ...cols.map((col, index) => {
          const cell = cells[index] as Piece
          return { ...cell, text: pad(cell.text, col.width, 'right') }
        }),
        { text: hasCaptions ? `   ${caption}` : '', style: 'dim' },
      ],
      options,
    )
  const heading = line(
    { text: 'QUEUE', style: 'dim' },
    cols.map((col) => ({ text: col.title, style: 'dim' })),
    '',
  )
  const shown = rows.length > most ? busiest(rows, most - 1, options.selected) : rows
  const hidden = rows.length - shown.length
  return [
    heading,
    ...shown.map((row) =>
      line(
        {
          text: row.hold === null ? row.name : `${row.name} ⏸`,
          style: row.name === options.selected ? ['bold', 'inverse'] : 'bold',
        },
        cols.map((col) => col.cell(row)),
        options.captions.get(row.name) ?? '',
      ),
    ),
    ...(hidden > 0 ? [lineOf([{ text: ` … and ${hidden} more: skep queues`, style: 'dim' }], options)] : []),
  ]
}

/** The queues where most happens, in their usual order, so that rows do not jump about. */
function busiest(rows: readonly QueueRow[], most: number, selected: string | undefined): QueueRow[] {
  const activity = (row: QueueRow): number =>
    (row.name === selected ? Infinity : 0) +
    row.states.running * 1e6 +
    row.states.ready * 1e3 +
    row.rate * 1e3 +
    row.states.delayed +
    row.states.dead
  const chosen = new Set([...rows].sort((a, b) => activity(b) - activity(a)).slice(0, Math.max(0, most)))
  return rows.filter((row) => chosen.has(row))
}

function summary(snapshot: Snapshot, options: FrameOptions): string {
  const { history, workers, running, slots, finished, retried, dead } = snapshot
  const part = (name: string, value: string, style: Style): Piece[] => [
    { text: `  ${name} `, style: 'dim' },
    { text: value, style },
  ]
  const bars = options.columns >= 100 ? 30 : 8
  return lineOf(
    [
      { text: ` ${rate(snapshot.rate).padStart(5)}/s `, style: 'bold' },
      { text: sparkline(history.slice(-bars)), style: 'green' },
      ...part('workers', String(workers), 'bold'),
      ...part('running', `${running}/${slots}`, 'cyan'),
      // Totals are of this process, so without workers there are none.
      ...(options.list === 'workers'
        ? []
        : [
            ...part('done', count(finished), 'green'),
            ...part('retried', count(retried), 'yellow'),
            ...part('dead', count(dead), dead > 0 ? 'red' : 'dim'),
          ]),
    ],
    options,
  )
}

/** The flows that run, if any do. */
function flowLine({ flows }: Snapshot, options: FrameOptions): string[] {
  if (flows.running + flows.failed === 0) return []
  const more = flows.isAll ? '' : ' or more'
  const names = flows.names.map(({ name, running }) => `${name} ${count(running)}`).join(', ')
  return [
    lineOf(
      [
        { text: '  flows ', style: 'dim' },
        { text: `${count(flows.running)}${more} running`, style: 'cyan' },
        { text: flows.failed === 0 ? '' : `  ${count(flows.failed)} failed`, style: 'red' },
        { text: names === '' ? '' : `  ${names}`, style: 'dim' },
      ],
      options,
    ),
  ]
}

// ── workers ──────────────────────────────────────────────────────────────────────────────────────

function workerTable(workers: readonly WorkerSummary[], most: number, options: FrameOptions): string[] {
  if (workers.length === 0) {
    return [title('WORKERS', options), lineOf([{ text: ' None is on the list.', style: 'dim' }], options)]
  }
  const where = ({ host, pid }: WorkerSummary): string => `${clean(host)}:${pid}`
  const width = Math.min(32, Math.max(...workers.map((worker) => widthOf(where(worker)))))
  const shown = [...workers].sort((a, b) => b.running - a.running).slice(0, most - 2)
  const rest = workers.length - shown.length
  return [
    title('WORKERS', options),
    ...shown.map((worker) =>
      lineOf(
        [
          { text: ` ${pad(where(worker), width)}  ` },
          worker.life === 'gone'
            ? { text: pad('gone', 9), style: 'red' }
            : { text: pad(`${worker.running}/${worker.concurrency}`, 9), style: 'cyan' },
          { text: `  ${worker.queues.map(clean).join(', ')}`, style: 'dim' },
        ],
        options,
      ),
    ),
    ...(rest > 0 ? [lineOf([{ text: ` … and ${rest} more: skep workers`, style: 'dim' }], options)] : []),
  ]
}

// ── events ───────────────────────────────────────────────────────────────────────────────────────

const MARKS: Readonly<Record<JobEvent['kind'], readonly [string, Style]>> = {
  done: ['✓', 'green'],
  error: ['↻', 'yellow'],
  dead: ['✗', 'red'],
  other: ['·', 'cyan'],
}

function events(list: readonly JobEvent[], most: number, options: FrameOptions): string[] {
  const shown = list.slice(0, Math.max(0, most))
  const nameWidth = Math.min(24, Math.max(8, ...shown.map((event) => widthOf(event.queue))))
  const whatWidth = Math.min(
    32,
    Math.max(16, ...shown.filter(({ why }) => why !== '').map(({ what }) => widthOf(what))),
  )
  return shown.map(({ at, kind, queue, what, why }) => {
    const [mark, style] = MARKS[kind]
    return lineOf(
      [
        { text: ` ${clock(at)} `, style: 'dim' },
        { text: `${mark} `, style },
        { text: queue === '' ? '' : `${pad(queue, nameWidth)}  ` },
        { text: why === '' ? what : pad(what, whatWidth), style },
        { text: why === '' ? '' : `  ${why}`, style: 'dim' },
      ],
      options,
    )
  })
}

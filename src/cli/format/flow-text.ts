import { type Explanation, RUN_STATUSES, type RunStatus } from '../../index.ts'
import type { WireFlow, WireMembers, WireRun } from '../../operations/schema/outputs.ts'
import type { Wire } from '../../operations/schema/serialize.ts'
import { usage } from '../exit.ts'
import type { Output, Paint } from '../output.ts'
import { suggest } from '../suggest.ts'
import { count, fromNow, timeText } from './numbers.ts'
import { STATE_STYLES } from './states.ts'
import { type Cell, table } from './table.ts'
import { clean, quote, safeJson } from './text.ts'

/** How many runs each flow has, one line for each version. */
export function flowTable(flows: readonly WireFlow[], out: Output): string {
  const lines = table(
    [
      { title: 'FLOW', flexible: true },
      { title: 'VERSION', align: 'right' },
      ...RUN_STATUSES.map((status) => ({ title: status.toUpperCase(), align: 'right' }) as const),
    ],
    flows.map(({ name, version, runs }) => [
      clean(name),
      String(version),
      ...RUN_STATUSES.map(
        (status): Cell =>
          runs[status] === 0
            ? { text: '0', style: 'dim' }
            : { text: count(runs[status]), style: STATE_STYLES[status] },
      ),
    ]),
    { width: out.width, paint: out.paint },
  )
  return lines.join('\n')
}

/** A page of runs, one line each. */
export function runTable(runs: readonly WireRun[], out: Output, now: number): string {
  const isWide = out.width >= WIDE
  const lines = table(
    [
      { title: 'ID' },
      { title: 'FLOW', flexible: true },
      { title: 'STATUS' },
      { title: 'STEP', flexible: true },
      { title: 'WAITS FOR', flexible: true },
      { title: 'PROGRESS', align: 'right' },
      ...(isWide ? [{ title: 'STARTED' }, { title: 'ATTRIBUTES', flexible: true }] : []),
    ],
    runs.map((run) => [
      run.id,
      `${clean(run.flow)} v${run.version}`,
      { text: run.status, style: STATE_STYLES[run.status] },
      clean(run.position.step ?? ''),
      run.status === 'failed' ? clean(run.failure?.message ?? '') : waitsText(run, now),
      percent(run.progress),
      ...(isWide ? [fromNow(run.startedAt, now), clean(run.attributes.join(' '))] : []),
    ]),
    { width: out.width, paint: out.paint },
  )
  return lines.join('\n')
}

/** Narrower terminals omit the start and the attributes. */
const WIDE = 120

/** One run: its position, the reason, and its open and failed members. */
export function runPage(
  run: WireRun,
  { open, failed }: WireMembers,
  explanation: Wire<Explanation>,
  paint: Paint,
  now: number,
): string {
  const moment = (when: string | null): string | null => timeText(when, now, paint)
  const { step, isUndoing } = run.position
  const parts: readonly (readonly [string, string | null])[] = [
    ['id', run.id],
    ['flow', `${clean(run.flow)} ${paint('dim', `version ${run.version}`)}`],
    ['branch of', run.branchOf === null ? null : run.branchOf.root],
    ['status', paint(STATE_STYLES[run.status], run.status)],
    ['step', step === null ? null : `${clean(step)}${isUndoing ? paint('yellow', ' (taking it back)') : ''}`],
    ['waits for', waitsText(run, now) || null],
    ['progress', percent(run.progress) || null],
    ['attributes', run.attributes.length === 0 ? null : clean(run.attributes.join(' '))],
    ['started', moment(run.startedAt)],
    ['ended', moment(run.endedAt)],
    ['state', indent(safeJson(run.state, 2))],
    ['result', run.result === null ? null : indent(safeJson(run.result, 2))],
    ['failure', run.failure === null ? null : paint('red', clean(run.failure.message))],
    ['open', open.length === 0 ? null : memberLines(open, paint)],
    ['failed', failed.length === 0 ? null : memberLines(failed, paint)],
    [
      'why',
      run.status === 'done' ? null : indent(explanation.causes.map(({ text }) => clean(text)).join('\n')),
    ],
  ]
  return parts
    .filter(([, text]) => text !== null)
    .map(([name, text]) => `${paint('dim', name.padEnd(11))} ${text}`)
    .join('\n')
}

/** Indents all lines but the first. */
function indent(text: string): string {
  return text.replaceAll('\n', `\n${' '.repeat(12)}`)
}

function memberLines(members: WireMembers['open'], paint: Paint): string {
  const lines = members.map(({ id, kind, name, state, failure }) => {
    const shown = state === null ? paint('dim', 'gone') : paint(STATE_STYLES[state], state)
    const why = failure === null ? '' : ` ${paint('dim', clean(failure.message))}`
    return `${kind} ${id} ${clean(name ?? '')} ${shown}${why}`
  })
  return indent(lines.join('\n'))
}

/** What a run waits for, on one line. */
export function waitsText({ position: { waits } }: WireRun, now: number): string {
  if (waits === null) return ''
  const until = waits.until === null ? '' : fromNow(waits.until, now)
  switch (waits.kind) {
    case 'moment':
      return `the time, ${until}`
    case 'signal':
      return `a signal${until === '' ? '' : `, at most ${until}`}`
    default: {
      const failed = waits.failed === 0 ? '' : `, ${count(waits.failed)} failed`
      return `${waits.kind}, ${count(waits.done)} of ${count(waits.size)} done${failed}`
    }
  }
}

export function percent(progress: number | null): string {
  return progress === null ? '' : `${Math.floor(progress * 100)}%`
}

/** The status of `--status failed`. */
export function readStatus(name: string | undefined): RunStatus | undefined {
  const status = RUN_STATUSES.find((one) => one === name)
  if (name === undefined || status !== undefined) return status
  const near = suggest(name, RUN_STATUSES)
  throw usage(
    `${quote(name)} is not a status.${near === undefined ? '' : ` Did you mean "${near}"?`}`,
    `Use: ${RUN_STATUSES.join(', ')}`,
  )
}

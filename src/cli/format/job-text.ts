import type { Explanation, ProgressView } from '../../index.ts'
import type { WireJob } from '../../operations/schema/outputs.ts'
import type { Wire } from '../../operations/schema/serialize.ts'
import type { Output, Paint } from '../output.ts'
import { fromNow, span, timeText } from './numbers.ts'
import { STATE_STYLES } from './states.ts'
import { table } from './table.ts'
import { clean, cleanLines, safeJson } from './text.ts'

/** A page of jobs, one line each. */
export function jobTable(jobs: readonly WireJob[], out: Output, now: number): string {
  const lines = table(
    [
      { title: 'ID' },
      { title: 'QUEUE' },
      { title: 'STATE' },
      { title: 'WHEN' },
      { title: 'TRIES', align: 'right' },
      { title: 'WHAT', flexible: true },
    ],
    jobs.map((job) => [
      job.id,
      clean(job.queue),
      { text: job.state, style: STATE_STYLES[job.state] },
      fromNow(whenOf(job), now),
      String(job.starts),
      whatOf(job),
    ]),
    { width: out.width, paint: out.paint },
  )
  return lines.join('\n')
}

/** When it is due, started or ended, depending on its state. */
function whenOf(job: WireJob): string {
  if (job.state === 'running') return job.startedAt ?? job.dueAt
  return job.finishedAt ?? job.dueAt
}

/** The failure, or else the payload. */
function whatOf(job: WireJob): string {
  if (job.failure !== null) return clean(failureLine(job.failure))
  return clean(safeJson(job.payload))
}

export function failureLine(failure: { readonly name?: string; readonly message: string }): string {
  const name = failure.name === undefined || failure.name === 'Error' ? '' : `${failure.name}: `
  return name + failure.message
}

/** Everything about one job. */
export function jobPage(job: WireJob, paint: Paint, now: number): string {
  const moment = (when: string | null): string | null => timeText(when, now, paint)
  const tries = [
    `${job.starts} started`,
    ...(['errors', 'timeouts', 'lost', 'snoozes'] as const)
      .filter((name) => job[name] > 0)
      .map((name) => `${job[name]} ${name}`),
  ]
  const took =
    job.startedAt !== null && job.finishedAt !== null
      ? span(Date.parse(job.finishedAt) - Date.parse(job.startedAt))
      : null
  const parts: readonly (readonly [string, string | null])[] = [
    ['id', job.id],
    ['queue', clean(job.queue)],
    ['space', clean(job.space)],
    ['state', paint(STATE_STYLES[job.state], job.state)],
    ['tries', tries.join(', ')],
    ['progress', job.progress ? progressLine(job.progress, now, paint) : null],
    ['priority', job.priority === 0 ? null : String(job.priority)],
    ['generation', job.generation === 0 ? null : String(job.generation)],
    ['unique', job.unique === null ? null : clean(job.unique)],
    ['enqueued', moment(job.enqueuedAt)],
    ['due', moment(job.dueAt)],
    ['started', moment(job.startedAt)],
    ['finished', moment(job.finishedAt)],
    ['took', took],
    ['kept until', moment(job.expiresAt)],
    ['worker', job.worker === null ? null : clean(job.worker)],
    ['stop asked', job.cancelReason === null ? null : clean(job.cancelReason)],
    ['headers', Object.keys(job.headers).length === 0 ? null : block(job.headers)],
    ['payload', block(job.payload)],
    ['result', job.result === undefined || job.result === null ? null : block(job.result)],
    ['failure', job.failure === null ? null : paint('red', indent(failureText(job.failure)))],
  ]
  return parts
    .filter(([, text]) => text !== null)
    .map(([name, text]) => `${paint('dim', name.padEnd(11))} ${text}`)
    .join('\n')
}

function progressLine(progress: NonNullable<WireJob['progress']>, now: number, paint: Paint): string {
  return `${progressText(progress)} ${paint('dim', `(${fromNow(progress.at, now)})`)}`
}

/** The progress of a job, on one line. */
export function progressText({ value, note }: Pick<ProgressView, 'value' | 'note'>): string {
  return note === null ? String(value) : `${value} ${clean(note)}`
}

/** The state of a job, a run or a group, with a line for each cause. */
export function explanationPage(explanation: Wire<Explanation>, paint: Paint): string {
  const { id, kind, state, queue, flow, causes } = explanation
  const name = kind === 'run' ? `flow ${clean(flow ?? '')}` : (kind === 'group' && kind) || clean(queue ?? '')
  const head =
    state === null ? `${clean(id)} ${name}`.trim() : `${id} ${name} ${paint(STATE_STYLES[state], state)}`
  return [
    head,
    ...causes.map(({ cause, text }) => `  ${paint('yellow', cause.padEnd(12))} ${clean(text)}`),
  ].join('\n')
}

function failureText(failure: NonNullable<WireJob['failure']>): string {
  const { kind, stack, causes = [] } = failure
  const head = stack ?? failureLine(failure)
  const chain = causes.map((cause) => `caused by ${cause.name}: ${cause.message}`)
  return cleanLines([`${kind}: ${head}`, ...chain].join('\n'))
}

function block(value: unknown): string {
  return indent(safeJson(value, 2))
}

/** Indents all lines but the first. */
function indent(text: string): string {
  return text.replaceAll('\n', `\n${' '.repeat(12)}`)
}

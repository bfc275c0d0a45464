import { type JobState, type JobEvent as LibraryJobEvent, SkepError } from '../../../index.ts'
import type { Wire } from '../../../operations/schema/serialize.ts'
import type { OutputOf } from '../../../operations/table.ts'
import type { Call } from '../../command.ts'
import { type Backend, callOrNull } from '../../connect/backend.ts'
import { reaching } from '../../connect/connect.ts'
import { listenForStop } from '../../connect/stop.ts'
import { EXIT, notFound, usage } from '../../exit.ts'
import { progressText } from '../../format/job-text.ts'
import { many } from '../../format/numbers.ts'
import { clean, safeJson } from '../../format/text.ts'
import type { Output, Style } from '../../output.ts'

type JobEvent = Wire<LibraryJobEvent>
type LogLine = OutputOf<'jobs.logs'>['lines'][number]

const LEVEL_STYLES: Readonly<Record<LogLine['level'], Style>> = {
  debug: 'dim',
  info: 'blue',
  warn: 'yellow',
  error: 'red',
}

/** Shows the log of a job; with `--follow` also new lines until the job has ended. */
export async function showLogs(call: Call, ids: readonly string[]): Promise<number> {
  const id = oneOf(ids, 'skep jobs logs <id>')
  const isFollowed = call.args.on('follow')
  return reaching(call, { create: false }, ({ backend }) =>
    isFollowed ? follow(call.out, backend, id) : showAll(call.out, backend, id),
  )
}

/** Shows the events of a job until it has ended. Fails if the job is not done, so that a script can wait for it. */
export async function watchJob(call: Call, ids: readonly string[]): Promise<number> {
  const id = oneOf(ids, 'skep jobs watch <id>')
  const { out } = call
  return reaching(call, { create: false }, async ({ backend }) => {
    let last: JobState | null = null
    await eachEvent(backend, id, (event) => {
      if (event.kind === 'state') last = event.state
      if (out.json) out.object(shortly(event))
      else if (event.kind === 'log') out.data(lineText(event, out))
      else out.data(`${out.paint('dim', new Date().toISOString())} ${happened(event, out)}`)
    })
    return last === null || last === 'done' ? EXIT.ok : EXIT.failure
  })
}

function oneOf(ids: readonly string[], command: string): string {
  const [id, ...others] = ids
  if (id === undefined || others.length > 0) throw usage('Which job? One at a time.', command)
  return id
}

function happened(event: Exclude<JobEvent, { kind: 'log' }>, { paint }: Output): string {
  if (event.kind === 'progress') return `progress ${progressText(event)}`
  const { state, failure } = event.job
  const why = failure === null ? '' : `  ${clean(failure.message)}`
  return `${paint(state === 'done' ? 'green' : failure === null ? 'bold' : 'red', state)}${why}`
}

async function showAll(out: Output, backend: Backend, id: string): Promise<number> {
  const lines: LogLine[] = []
  let page = await callOrNull(backend, 'jobs.logs', { id })
  if (page === null) throw missing(id)
  lines.push(...page.lines)
  while (page.more) {
    page = await backend.call('jobs.logs', { id, after: page.cursor })
    lines.push(...page.lines)
  }
  const { progress, dropped } = page
  if (out.json) {
    out.object({ progress, lines, dropped })
    return EXIT.ok
  }
  if (lines.length > 0) out.data(lines.map((line) => lineText(line, out)).join('\n'))
  else out.note('No lines.')
  if (dropped > 0) out.note(out.paintNote('dim', `${many(dropped, 'older line')} not kept`))
  if (progress !== null) out.note(out.paintNote('dim', `progress ${progressText(progress)}`))
  return EXIT.ok
}

async function follow(out: Output, backend: Backend, id: string): Promise<number> {
  await eachEvent(backend, id, (event) => {
    if (out.json) out.object(shortly(event))
    else if (event.kind === 'log') out.data(lineText(event, out))
    else if (event.kind === 'progress') out.note(out.paintNote('dim', `progress ${progressText(event)}`))
    else out.note(out.paintNote('dim', event.state))
  })
  return EXIT.ok
}

/** Until the job has ended, or Ctrl-C. */
async function eachEvent(backend: Backend, id: string, show: (event: JobEvent) => void): Promise<void> {
  const end = (): void => process.exit(EXIT.ok)
  const stop = listenForStop({ onHurry: end, onForce: end })
  try {
    for await (const event of backend.watch(id, { signal: stop.signal })) show(event)
  } catch (error) {
    if (error instanceof SkepError && /^(JOB_)?NOT_FOUND$/.test(error.code)) throw missing(id)
    if (!stop.signal.aborted) throw error
  } finally {
    stop.release()
  }
}

function shortly(event: JobEvent): object {
  return event.kind === 'state' ? { kind: event.kind, state: event.state } : event
}

function lineText({ at, level, message, fields }: LogLine, { paint }: Output): string {
  const rest = Object.keys(fields).length === 0 ? '' : ` ${paint('dim', clean(safeJson(fields)))}`
  return `${paint('dim', at)} ${paint(LEVEL_STYLES[level], level.padEnd(5))} ${clean(message)}${rest}`
}

function missing(id: string): Error {
  return notFound(`There is no job ${clean(id)} in this space.`)
}

import type { Durability } from '../../index.ts'
import type { ServerClient } from '../../server.ts'
import type { Call, Command } from '../command.ts'
import { type Reached, reach } from '../connect/connect.ts'
import type { Opened } from '../connect/open.ts'
import { EXIT } from '../exit.ts'
import { explain } from '../explain-error.ts'
import { many, span } from '../format/numbers.ts'
import { clean } from '../format/text.ts'

/** One thing the doctor looked at. `fix` says what to do when it is not well. */
interface Finding {
  readonly name: string
  readonly status: 'ok' | 'warn' | 'fail'
  readonly detail: string
  readonly fix?: string
}

export const doctorCommand: Command = {
  name: 'doctor',
  summary: 'Check the database, its durability, workers and queues',
  usage: ['doctor'],
  flags: {},
  examples: ['skep doctor --db postgres://localhost/shop', 'skep doctor --json'],

  async run(call) {
    const findings: Finding[] = []
    const show = (finding: Finding): void => {
      findings.push(finding)
      if (!call.out.json) call.out.data(line(finding, call))
    }
    await examine(call, show)
    const failed = findings.some(({ status }) => status === 'fail')
    const warned = findings.filter(({ status }) => status === 'warn').length
    if (call.out.json) call.out.object({ ok: !failed, findings })
    else if (!failed)
      call.out.note(warned === 0 ? 'All is well.' : `It works, with ${many(warned, 'warning')}.`)
    return failed ? EXIT.failure : EXIT.ok
  },
}

function line({ name, status, detail, fix }: Finding, { out }: Call): string {
  const style = { ok: 'green', warn: 'yellow', fail: 'red' } as const
  const todo = fix === undefined ? '' : `\n${' '.repeat(18)}${out.paint('dim', '→')} ${clean(out.mask(fix))}`
  return `${out.paint(style[status], status.padEnd(4))}  ${name.padEnd(10)}  ${clean(out.mask(detail))}${todo}`
}

async function examine(call: Call, show: (finding: Finding) => void): Promise<void> {
  show({
    name: 'node',
    status: 'ok',
    detail: `${process.versions.node} on ${process.platform} ${process.arch}`,
  })
  let reached: Reached
  try {
    reached = await reach(call, { create: false, isPatient: true })
  } catch (error) {
    const { code, message, fix } = explain(error)
    const name = code === 'CONFIG_INVALID' ? 'config' : 'database'
    show({ name, status: 'fail', detail: message, ...(fix === undefined ? {} : { fix }) })
    return
  }
  if (reached.server !== null) return examineServer(reached.server, reached.place.label, show)
  const opened = reached.opened as Opened
  const { skep, config, handlers, place } = opened
  try {
    show({
      name: 'config',
      status: 'ok',
      detail: config === null ? 'no config file' : `${config.file}, ${many(handlers.length, 'handler')}`,
    })
    const durability = await connect(opened, show)
    if (durability === null) return
    show({ name: 'schema', status: 'ok', detail: 'up to date' })
    const { findings } = await skep.doctor()
    for (const { name, status, text, fix } of findings) {
      show({ name, status, detail: text, ...(fix === null ? {} : { fix }) })
    }
  } catch (error) {
    const { message, fix } = explain(error, place.label)
    show({ name: 'database', status: 'fail', detail: message, ...(fix === undefined ? {} : { fix }) })
  } finally {
    await opened.close()
  }
}

const STATUSES = { ok: 'ok', warning: 'warn', failed: 'fail' } as const

/** What the server finds where it runs. */
async function examineServer(
  server: ServerClient,
  label: string,
  show: (finding: Finding) => void,
): Promise<void> {
  try {
    const startedAt = performance.now()
    const { checks, server: at } = await server.call('system.get')
    const took = span(performance.now() - startedAt)
    show({ name: 'server', status: 'ok', detail: `${label} answers (${took}), version ${at.version}` })
    for (const { name, status, text, fix } of checks) {
      show({ name, status: STATUSES[status], detail: text, ...(fix === null ? {} : { fix }) })
    }
  } catch (error) {
    const { message, why, fix } = explain(error, label)
    const detail = why === undefined ? message : `${message} (${why})`
    show({ name: 'server', status: 'fail', detail, ...(fix === undefined ? {} : { fix }) })
  }
}

/** Connects. Null when that failed, with the reason already shown. */
async function connect(
  { skep, place }: Opened,
  show: (finding: Finding) => void,
): Promise<Durability | null> {
  const startedAt = performance.now()
  try {
    const durability = await skep.ready()
    const took = span(performance.now() - startedAt)
    show({ name: 'database', status: 'ok', detail: `${place.label} answers (${took})` })
    return durability
  } catch (error) {
    const { code, message, why, fix } = explain(error, place.label)
    const isSchema = code.startsWith('SCHEMA_')
    if (isSchema) show({ name: 'database', status: 'ok', detail: `${place.label} answers` })
    show({
      name: isSchema ? 'schema' : 'database',
      status: 'fail',
      detail: `${isSchema ? '' : `${place.label}: `}${message}${why === undefined ? '' : ` (${why})`}`,
      ...(fix === undefined ? {} : { fix }),
    })
    return null
  }
}

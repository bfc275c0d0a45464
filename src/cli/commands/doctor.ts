import type { Durability, QueueView, Skep, WorkerView } from '../../index.ts'
import type { Call, Command } from '../command.ts'
import { EXIT } from '../exit.ts'
import { explain } from '../explain.ts'
import { holdText } from '../holding.ts'
import { count, many, span } from '../numbers.ts'
import { type Opened, open } from '../open.ts'
import { clean } from '../text.ts'

/** One thing the doctor looked at. `fix` says what to do when it is not well. */
interface Finding {
  readonly name: string
  readonly status: 'ok' | 'warn' | 'fail'
  readonly detail: string
  readonly fix?: string
}

/** A job that is due for longer than this is worth a word. */
const LONG_MS = 10 * 60_000
/** Hints need a connection of their own, which takes a moment. */
const NOTIFIER_WAIT_MS = 3_000

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
  let opened: Opened
  try {
    opened = await open(call, { create: false })
  } catch (error) {
    const { code, message, fix } = explain(error)
    const name = code === 'CONFIG_INVALID' ? 'config' : 'database'
    show({ name, status: 'fail', detail: message, ...(fix === undefined ? {} : { fix }) })
    return
  }
  const { skep, store, config, handlers, place } = opened
  try {
    show({
      name: 'config',
      status: 'ok',
      detail: config === null ? 'no config file' : `${config.file}, ${many(handlers.length, 'handler')}`,
    })
    const durability = await reach(opened, show)
    if (durability === null) return
    show({ name: 'schema', status: 'ok', detail: 'up to date' })
    show(durabilityFinding(durability))
    for (const warning of durability.warnings) show({ name: 'store', status: 'warn', detail: warning })
    const can = Object.entries(store.capabilities).filter(([, able]) => able)
    show({ name: 'can', status: 'ok', detail: can.map(([name]) => name).join(', ') || 'nothing special' })
    show(await notifierFinding(opened))
    const [workers, queues] = [await skep.workers(), await skep.counts()]
    show(workerFinding(workers))
    for (const finding of queueFindings(queues, workers, skep)) show(finding)
  } catch (error) {
    const { message, fix } = explain(error, place.label)
    show({ name: 'database', status: 'fail', detail: message, ...(fix === undefined ? {} : { fix }) })
  } finally {
    await skep.close().catch(() => {})
  }
}

/** Connects. Null when that failed, with the reason already shown. */
async function reach({ skep, place }: Opened, show: (finding: Finding) => void): Promise<Durability | null> {
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

function durabilityFinding({ level, detail }: Durability): Finding {
  const meaning = {
    disk: 'jobs survive the loss of power',
    process: 'jobs survive the end of the process; a power cut may lose the last ones',
    memory: 'jobs end with the process',
  }[level]
  const status = level === 'disk' ? 'ok' : 'warn'
  return { name: 'durability', status, detail: `${level}: ${meaning}. ${detail}` }
}

async function notifierFinding({ store }: Opened): Promise<Finding> {
  const notifier = store.notifier?.()
  if (notifier === undefined) {
    return { name: 'notifier', status: 'ok', detail: 'within the process only; others find work by polling' }
  }
  const subscription = notifier.subscribe(() => {})
  try {
    const until = Date.now() + NOTIFIER_WAIT_MS
    while (notifier.health().status !== 'up' && Date.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  } finally {
    subscription.end()
  }
  const { status, detail } = notifier.health()
  if (status !== 'down') return { name: 'notifier', status: 'ok', detail: `${status}: ${detail}` }
  return {
    name: 'notifier',
    status: 'warn',
    detail: `down: ${detail}`,
    fix: 'Jobs still run, found by polling. Through a pooler, give the notifier a direct connection.',
  }
}

function workerFinding(workers: readonly WorkerView[]): Finding {
  const here = workers.filter(({ life }) => life !== 'gone')
  const gone = workers.length - here.length
  const running = here.reduce((sum, worker) => sum + worker.running, 0)
  const slots = here.reduce((sum, worker) => sum + worker.concurrency, 0)
  const detail =
    here.length === 0 ? 'none' : `${count(here.length)}, running ${count(running)} of ${count(slots)}`
  if (gone === 0) return { name: 'workers', status: 'ok', detail }
  return { name: 'workers', status: 'ok', detail: `${detail}; ${count(gone)} ended without a word lately` }
}

function* queueFindings(
  queues: readonly QueueView[],
  workers: readonly WorkerView[],
  skep: Skep,
): Generator<Finding> {
  const served = new Set(workers.filter(({ life }) => life !== 'gone').flatMap((worker) => worker.queues))
  const total = queues.reduce((sum, queue) => sum + queue.ready + queue.delayed + queue.running, 0)
  yield {
    name: 'queues',
    status: 'ok',
    detail: `${count(queues.length)} in space "${skep.space}", ${many(total, 'job')} waiting or running`,
  }
  for (const queue of queues) {
    const name = clean(queue.queue)
    const [hold] = queue.holds
    if (hold !== undefined && queue.ready > 0) {
      const detail = `${name}: ${many(queue.ready, 'job')} ready, and held: ${holdText(hold, Date.now())}`
      const release = hold.kind === 'pause' ? 'resume' : 'unblock'
      yield { name: 'queues', status: 'warn', detail, fix: `If it may run again: skep queues ${release}` }
    } else if (queue.ready > 0 && !served.has(queue.queue)) {
      const detail = `${name}: ${many(queue.ready, 'job')} ready, and no worker takes them`
      yield {
        name: 'queues',
        status: 'warn',
        detail,
        fix: 'Start a worker with a handler for it: skep worker',
      }
    } else if (queue.oldestMs !== null && queue.oldestMs > LONG_MS) {
      const detail = `${name}: the next job has been due for ${span(queue.oldestMs)}`
      yield { name: 'queues', status: 'warn', detail, fix: 'Start more workers, or raise their concurrency.' }
    }
    if (queue.dead > 0) {
      const detail = `${name}: ${many(queue.dead, 'dead job')}`
      yield { name: 'queues', status: 'warn', detail, fix: `Look at them: skep dead list --queue ${name}` }
    }
    if (queue.missing > 0) {
      const detail = `${name}: ${many(queue.missing, 'job')} put aside because nothing handles the queue`
      yield {
        name: 'queues',
        status: 'warn',
        detail,
        fix: 'They come back when a worker with a handler starts.',
      }
    }
  }
}

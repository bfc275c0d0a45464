import { rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Handler, Logger, Worker, WorkerOptions } from '../../index.ts'
import { durationMs } from '../arguments.ts'
import type { Call, Command } from '../command.ts'
import { type AnyFlow, invalid } from '../connect/config-file.ts'
import { type Opened, using } from '../connect/open.ts'
import { aborted, listenForStop, whenOutputCloses } from '../connect/stop.ts'
import { EXIT, usage } from '../exit.ts'
import { briefly, complain, explain, isAway, isUnmigrated } from '../explain-error.ts'
import { limited, watchJobs } from '../format/event-lines.ts'
import { clock, many, span } from '../format/numbers.ts'
import { clean, quote } from '../format/text.ts'
import { declareAnew, Reloader } from '../reload/reloader.ts'
import { suggest } from '../suggest.ts'

const HEALTH_EVERY_MS = 2_000
/** How often a worker that found no tables looks for them. */
const MIGRATION_LOOK_MS = 1_000

export const workerCommand: Command = {
  name: 'worker',
  summary: 'Run the handlers of your config until stopped',
  asksNoServer: true,
  usage: ['worker [entry] [flags]'],
  flags: {
    queues: { kind: 'text', value: 'a,b', help: 'Only these queues. Default: all with a handler' },
    concurrency: { kind: 'text', value: 'n', help: 'Concurrent handlers. Default: the config, else 10' },
    drain: { kind: 'text', value: '23s', help: 'Drain timeout: time to finish after a stop. Default: 23s' },
    grace: { kind: 'text', value: '5s', help: 'Time to clean up after the drain timeout. Default: 5s' },
    watch: { kind: 'switch', help: 'Reload handlers on change' },
    'health-file': {
      kind: 'text',
      value: 'path',
      help: 'File that is touched every 2 s while the worker is healthy',
    },
  },
  examples: [
    'skep worker',
    'skep worker jobs.ts --watch',
    'skep worker jobs.ts --queues mail.send,report.build --concurrency 50',
  ],

  async run(call) {
    const [entry, ...rest] = call.args.words
    if (rest[0] !== undefined)
      throw usage(`${quote(rest[0])} is an unexpected argument.`, 'skep worker [entry]')
    const said = (level: 'warn' | 'error') => (message: string) => {
      // This command reports these at length itself.
      if (!/^(The worker cannot start|Job \S+ of queue |\d+ more failed)/.test(message))
        say(call, `${level === 'warn' ? 'warning' : 'error'} ${clean(message)}`)
    }
    const logger: Logger = { debug: () => {}, info: () => {}, warn: said('warn'), error: said('error') }
    const reloader = call.args.on('watch') ? new Reloader(call, entry) : null
    const load = reloader === null ? {} : { load: reloader.load }
    return using(call, { create: true, entry, logger, ...load }, (opened) => work(call, opened, reloader))
  },
}

async function work(call: Call, opened: Opened, reloader: Reloader | null): Promise<number> {
  const { out } = call
  const { skep, place } = opened
  const { handlers, flows } = choose(call, opened)
  const options = workerOptions(call, opened)
  const lines = limited(5, (line) => out.note(line))
  const unwatch = watchJobs(skep, ({ at, kind, queue, id, what, why, stack }) => {
    if (kind !== 'error' && kind !== 'dead') return
    lines.write(`${clock(at)} ${queue} ${id} ${what}: ${kind === 'dead' && stack ? stack : why}`)
  })
  whenOutputCloses(() => {
    // The output is closed; the worker continues.
  })

  let worker = skep.worker([...handlers, ...flows], options)
  const former: Worker[] = []
  const stop = listenForStop({
    onHurry: () => {
      say(
        call,
        `Aborting ${many(worker.health().running, 'running job')}: ${graceOf(options)} to end, then handed back. Ctrl-C again exits at once.`,
      )
      for (const one of [worker, ...former]) void one.stop({ drain: 0 })
    },
    onForce: () => process.exit(EXIT.failure),
  })
  void skep.ready().catch((error: unknown) => {
    const report = explain(error, place.label)
    // Everything else ends the worker, which then reports it.
    if (stop.signal.aborted || !(isAway(report) || isUnmigrated(report))) return
    complain(report, out)
    say(call, isAway(report) ? 'Retrying until it is available.' : 'Retrying until the tables exist.')
  })
  /** In a deploy the worker may start before the migration, so it waits for the tables. */
  const started = async (): Promise<void> => {
    for (;;) {
      try {
        return await worker.ready
      } catch (error) {
        if (stop.signal.aborted || !isUnmigrated(explain(error))) throw error
      }
      await worker.stop()
      await delay(MIGRATION_LOOK_MS)
      if (stop.signal.aborted) return
      worker = skep.worker([...handlers, ...flows], options)
    }
  }
  const endHealth = keepHealthFile(call, () => worker)
  const replace = async (files: readonly string[]): Promise<void> => {
    const config = await reloader?.again()
    if (!config) return
    const anew = { ...opened, config, handlers: config.handlers, flows: config.flows }
    const next = choose(call, anew)
    declareAnew(skep, opened.config, config)
    const before = worker
    worker = skep.worker([...next.handlers, ...next.flows], workerOptions(call, anew))
    await worker.ready
    former.push(before)
    void before.stop()
    say(call, `Reloaded ${files.join(', ')}: ${many(next.handlers.length + next.flows.length, 'handler')}`)
  }
  try {
    await Promise.race([started(), aborted(stop.signal)])
    if (!stop.signal.aborted) {
      const names = handlers.map(({ queue }) => queue.name)
      tell(call, 'started', worker, {
        queues: names,
        ...(flows.length === 0 ? {} : { flows: flows.map(({ name, version }) => `${name} v${version}`) }),
        concurrency: options.concurrency ?? 10,
        store: place.label,
      })
      reloader?.onChange((files) => {
        replace(files).catch((error: unknown) => complain(explain(error, place.label), out))
      })
      // One that was replaced stops as well, and that ends nothing.
      for (let seen: Worker | null = null; seen !== worker && !stop.signal.aborted; ) {
        seen = worker
        await Promise.race([aborted(stop.signal), worker.stopped])
      }
      if (!stop.signal.aborted) say(call, 'Stopped by an operator.')
    }
    const { running } = worker.health()
    const startedAt = Date.now()
    if (running > 0 && stop.signal.aborted) {
      const drain = span(durationMs(options.drain ?? '23s'))
      say(call, `Stopping: ${many(running, 'job')} may finish within ${drain}. Ctrl-C again aborts them now.`)
    }
    await Promise.all([worker, ...former].map((one) => one.stop()))
    lines.end()
    tell(call, 'stopped', worker, { drainedMs: Date.now() - startedAt })
    return EXIT.ok
  } finally {
    reloader?.close()
    endHealth()
    unwatch()
    stop.release()
  }
}

/** The one line that a start and a stop are worth. */
function tell({ out }: Call, event: string, { id }: Worker, facts: Record<string, unknown>): void {
  if (out.json) {
    out.object({ event, at: new Date().toISOString(), worker: id, ...facts })
    return
  }
  const text = Object.entries(facts).map(([name, value]) => {
    if (name === 'drainedMs') return `after ${span(value as number)}`
    return `${name} ${Array.isArray(value) ? value.join(',') : clean(String(value))}`
  })
  out.data(`${clock(Date.now())} worker ${id} ${event}: ${text.join(', ')}`)
}

function choose(
  { args }: Call,
  { config, handlers, flows }: Opened,
): { readonly handlers: readonly Handler[]; readonly flows: readonly AnyFlow[] } {
  if (handlers.length === 0 && flows.length === 0) {
    throw config === null
      ? invalid(
          'A worker needs handlers, and there is no config file.',
          'Make a skep.config.ts, or name a module: skep worker jobs.ts',
        )
      : invalid(`"${config.file}" has no handlers.`, 'Add them: handlers: [mail.handle(send)]')
  }
  const names = args.names('queues')
  if (names === undefined) return { handlers, flows }
  const known = [...handlers.map(({ queue }) => queue.name), ...flows.map(queueOfFlow)]
  for (const name of names) {
    if (known.includes(name)) continue
    const near = suggest(name, known)
    throw usage(
      `There is no handler for queue ${quote(name)}.${near === undefined ? '' : ` Did you mean "${near}"?`}`,
      `The config handles: ${known.join(', ')}`,
    )
  }
  return {
    handlers: handlers.filter(({ queue }) => names.includes(queue.name)),
    flows: flows.filter((flow) => names.includes(queueOfFlow(flow))),
  }
}

/** The queue of the jobs that move its runs on. */
function queueOfFlow({ tree }: AnyFlow): string {
  return tree.queue
}

function workerOptions({ args }: Call, { config }: Opened): WorkerOptions {
  const concurrency = args.whole('concurrency', { min: 1, max: 100_000 })
  const drain = args.duration('drain')
  const grace = args.duration('grace')
  return {
    ...config?.config.worker,
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(drain === undefined ? {} : { drain }),
    ...(grace === undefined ? {} : { grace }),
  }
}

function graceOf({ grace = '5s' }: WorkerOptions): string {
  return span(durationMs(grace))
}

/** Touches the file while the worker is healthy, so that a supervisor can check its age. */
function keepHealthFile({ args, cwd, out }: Call, workerNow: () => Worker): () => void {
  const name = args.text('health-file')
  if (name === undefined) return () => {}
  const path = resolve(cwd, name)
  let started = false
  let complained = false
  void workerNow().ready.then(
    () => {
      started = true
      touch()
    },
    () => {},
  )
  const touch = (): void => {
    const worker = workerNow()
    if (!started || worker.health().status !== 'running') return
    try {
      writeFileSync(path, `${new Date().toISOString()} ${worker.id}\n`)
    } catch (error) {
      if (!complained) out.warn(`The health file cannot be written: ${briefly(error)}`)
      complained = true
    }
  }
  const timer = setInterval(touch, HEALTH_EVERY_MS)
  return () => {
    clearInterval(timer)
    rmSync(path, { force: true })
  }
}

function say({ out }: Call, text: string): void {
  out.note(`${clock(Date.now())} ${text}`)
}

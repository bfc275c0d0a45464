import { existsSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type Handler, type Logger, queue } from '../../../index.ts'
import type { Call, Command } from '../../command.ts'
import type { LoadedConfig } from '../../connect/config-file.ts'
import { type Opened, type OpenOptions, open } from '../../connect/open.ts'
import { PORT_FLAG } from '../../connect/serve.ts'
import { aborted, listenForStop } from '../../connect/stop.ts'
import { demoCaptions, demoFlows, demoHandlers, demoSchedules, produce } from '../../dev/demo.ts'
import { runSession } from '../../dev/session.ts'
import type { Work } from '../../dev/workers.ts'
import { EXIT, usage } from '../../exit.ts'
import { complain, explain } from '../../explain-error.ts'
import { quote } from '../../format/text.ts'
import { isUsersFault, Reloader } from '../../reload/reloader.ts'

const DEMO_FILE = join('.skep', 'demo.db')

export const devCommand: Command = {
  name: 'dev',
  summary: 'Run your handlers, the server and the dashboard; reloads on save; --demo shows a shop at work',
  asksNoServer: true,
  usage: ['dev [entry] [flags]', 'dev --demo'],
  flags: {
    demo: { kind: 'switch', help: `A live demonstration in ${DEMO_FILE}` },
    ...PORT_FLAG,
    'no-open': { kind: 'switch', help: 'Do not open the dashboard in a browser' },
    concurrency: { kind: 'text', value: 'n', help: 'Concurrent handlers. Default: the config, else 10' },
    for: { kind: 'text', value: '30s', help: 'Exit after this duration' },
    plain: { kind: 'switch', help: 'Print lines instead of a live view' },
  },
  examples: ['skep dev --demo', 'skep dev', 'skep dev jobs.ts --db postgres://localhost/shop'],

  async run(call) {
    const [entry, ...rest] = call.args.words
    if (rest[0] !== undefined) throw usage(`${quote(rest[0])} is an unexpected argument.`, 'skep dev [entry]')
    // What the library warns of must not be written over the picture, which does not exist yet.
    const relay: { to: Logger['warn'] } = { to: () => {} }
    const silent = (): void => {}
    const logger: Logger = {
      debug: silent,
      info: silent,
      warn: (message) => relay.to(message),
      error: (message) => relay.to(message),
    }
    const concurrency = call.args.whole('concurrency', { min: 1, max: 100_000 })
    if (call.args.on('demo')) {
      if (entry !== undefined) throw usage('--demo has handlers of its own and takes no entry.')
      return demo(call, logger, relay, concurrency)
    }

    const reloader = new Reloader(call, entry)
    const opened = await openPatiently(call, reloader, { create: true, entry, logger, fallback: true })
    if (opened === null) return EXIT.ok
    const workOf = (config: LoadedConfig | null): Work => {
      const { handlers = [], flows = [] } = config ?? {}
      const isExample = handlers.length === 0 && flows.length === 0
      return {
        handlers: isExample ? [exampleHandler()] : handlers,
        flows,
        options: { ...config?.config.worker, ...(concurrency === undefined ? {} : { concurrency }) },
      }
    }
    const work = workOf(opened.config)
    const isExample = opened.handlers.length === 0 && opened.flows.length === 0
    return runSession(call, {
      opened,
      work,
      workOf,
      workers: 1,
      title: 'dev',
      tip: isExample ? exampleTip(opened) : (opened.config?.file ?? ''),
      hint: isExample ? exampleHint(call.cwd) : '',
      captions: new Map(),
      reloader: reloader.isWatching ? reloader : null,
      relay,
    })
  },
}

/** A file with a mistake is reported, and loaded again when it changes. Null: stopped. */
async function openPatiently(call: Call, reloader: Reloader, options: OpenOptions): Promise<Opened | null> {
  const stop = listenForStop({
    onHurry: () => process.exit(EXIT.failure),
    onForce: () => process.exit(EXIT.failure),
  })
  try {
    for (;;) {
      try {
        return await open(call, { ...options, load: reloader.load })
      } catch (error) {
        if (!isUsersFault(error) || !reloader.isWatching) throw error
        complain(explain(error), call.out)
        call.out.note(call.out.paintNote('dim', 'Waiting for a change. Ctrl-C exits.'))
        await Promise.race([reloader.changed(), aborted(stop.signal)])
        if (stop.signal.aborted) return null
        reloader.begin()
      }
    }
  } finally {
    stop.release()
  }
}

async function demo(
  call: Call,
  logger: Logger,
  relay: { to: Logger['warn'] },
  concurrency = 4,
): Promise<number> {
  const db = call.args.typed('db') ? call.args.text('db') : undefined
  const opened = await openDemo(call, logger, db)
  opened.skep.schedules.declare(demoSchedules)
  const work: Work = { handlers: demoHandlers, flows: demoFlows, options: { concurrency, prune: '5s' } }
  return runSession(call, {
    opened,
    work,
    workOf: () => work,
    reloader: null,
    workers: 2,
    title: 'demo',
    tip: opened.place.kind === 'memory' ? '' : `look inside: npx skep jobs --db ${opened.place.label}`,
    hint: 'a shop at work',
    captions: demoCaptions,
    produce: (say) => produce(opened.skep, say),
    relay,
  })
}

/**
 * The demo's file is worth nothing, so one that this version cannot read, or that is damaged, is replaced instead of
 * explained. A database in --db is left alone.
 */
async function openDemo(call: Call, logger: Logger, db: string | undefined): Promise<Opened> {
  const opened = await open(call, { create: true, logger, file: db ?? DEMO_FILE, fallback: true })
  if (db !== undefined) return opened
  try {
    await opened.skep.ready()
    return opened
  } catch (error) {
    const { code } = explain(error)
    const damaged = (error as { facts?: { trouble?: unknown } }).facts?.trouble === 'broken'
    if (!code.startsWith('SCHEMA_') && !damaged) return opened
    await opened.close()
    for (const ending of ['', '-wal', '-shm', '-hints']) {
      rmSync(resolve(call.cwd, DEMO_FILE) + ending, { force: true, recursive: true })
    }
    return open(call, { create: true, logger, file: DEMO_FILE, fallback: true })
  }
}

/** Jobs in memory are seen by this process alone. */
function exampleTip({ place }: Opened): string {
  return place.kind === 'memory'
    ? 'try: the Playground of the dashboard'
    : `try: skep enqueue hello -d '{"name":"you"}'`
}

/** How to get from the example to one's own. */
function exampleHint(cwd: string): string {
  const found = ['jobs.ts', 'jobs.mts', 'jobs.js', 'jobs.mjs', 'src/jobs.ts', 'src/jobs.js'].find((name) =>
    existsSync(resolve(cwd, name)),
  )
  return `an example; yours: ${found === undefined ? 'skep init' : `skep dev ${found}`}`
}

/** Something to play with where there is no config yet. */
function exampleHandler(): Handler {
  return queue<{ readonly name?: string } | null>('hello').handle(({ payload }) => ({
    greeting: `Hello, ${payload?.name ?? 'world'}!`,
  }))
}

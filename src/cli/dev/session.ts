import type { Logger } from '../../index.ts'
import { durationMs } from '../arguments.ts'
import type { Call } from '../command.ts'
import type { LoadedConfig } from '../connect/config-file.ts'
import type { Reached } from '../connect/connect.ts'
import { LocalBackend } from '../connect/local.ts'
import type { Opened } from '../connect/open.ts'
import { listen, openBrowser, type Serving, serverLogger, wantsBrowser } from '../connect/serve.ts'
import { aborted, listenForStop, whenOutputCloses } from '../connect/stop.ts'
import { EXIT } from '../exit.ts'
import { briefly, explain, isAway } from '../explain-error.ts'
import { count, many, span } from '../format/numbers.ts'
import { clean } from '../format/text.ts'
import { declareAnew, type Reloader } from '../reload/reloader.ts'
import { Board } from './dashboard.ts'
import { devKeys, keysOf } from './keys.ts'
import type { Key } from './screen.ts'
import { factLines } from './status.ts'
import { liveView, plainView, type View, type ViewOptions } from './view.ts'
import { Crew, type Work } from './workers.ts'

export interface SessionOptions {
  readonly opened: Opened
  readonly work: Work
  /** How many workers to start in this process. */
  readonly workers: number
  readonly title: string
  readonly tip: string
  /** What to say about the handlers at the start. */
  readonly hint: string
  readonly captions: ReadonlyMap<string, string>
  /** Reloads the handlers when their files change. */
  readonly reloader: Reloader | null
  /** The work of a reloaded config. */
  readonly workOf: (config: LoadedConfig | null) => Work
  /** Enqueues jobs until the returned function is called. */
  readonly produce?: (say: (queue: string, what: string) => void) => () => Promise<void>
  /** Where the library's warnings go from now on. */
  readonly relay: { to: Logger['warn'] }
}

const REDRAW_MS = 250
const LOOK_MS = 500

/** Runs workers and a server and shows what they do, until it is stopped. */
export async function runSession(call: Call, options: SessionOptions): Promise<number> {
  const { opened, reloader } = options
  const { skep, place } = opened
  const crew = new Crew(skep, {
    size: options.workers,
    onGone: () => view.say(`An operator stopped a worker.${reloader === null ? '' : ' r starts another.'}`),
  })
  const stop = listenForStop({
    onHurry: () => {
      view.say(`Aborting ${many(crew.running, 'running job')}. Ctrl-C again exits at once.`)
      void crew.stop({ drain: 0 })
    },
    onForce: () => process.exit(EXIT.failure),
  })
  whenOutputCloses(() => {
    if (!stop.signal.aborted) stop.request()
  })

  const board = new Board(new LocalBackend(skep, { by: 'skep dev', place: place.label }), {
    skep,
    queues: new Set(options.work.handlers.map(({ queue }) => queue.name)),
    workers: crew.workers,
  })
  let serving: Serving | null = null
  const reloads = reloader === null ? null : new Reloads(crew, board, options, (text) => view.say(text))
  const pressed = devKeys({
    skep,
    board,
    say: (text) => view.say(text),
    url: () => serving?.at.url ?? null,
    reload: reloads === null ? null : () => reloads.ask([]),
    stop: (how) => {
      if (how === 'interrupt' || !stop.signal.aborted) stop.request()
    },
  })
  const view = makeView(call, options, board, {
    keys: keysOf({ reload: reloads === null ? null : () => {} }),
    onKey: (key) => {
      pressed(key)
      view.update()
    },
    look: () => ({ url: serving?.at.url ?? null, grpc: serving?.at.grpc ?? false }),
  })
  options.relay.to = (message) => view.say(clean(message))
  const forText = call.args.duration('for')
  const timers = [
    setInterval(() => view.update(), REDRAW_MS),
    setInterval(() => void board.look(), LOOK_MS),
    ...(forText === undefined
      ? []
      : [setTimeout(() => !stop.signal.aborted && stop.request(), durationMs(forText))]),
  ]
  let failed = true
  try {
    view.update()
    serving = await openPort(call, opened, (text) => view.say(text))
    view.facts(factLines({ opened, at: serving?.at ?? null, work: options.work, hint: options.hint }))
    if (serving !== null && wantsBrowser(call)) void openBrowser(serving.at.url)
    if (
      await connect({ place, ready: () => skep.ready(), migrate: () => skep.migrate() }, board, stop.signal)
    ) {
      await Promise.race([crew.begin(options.work), aborted(stop.signal)])
      reloader?.onChange((files) => reloads?.ask(files))
      const stopProducing = options.produce?.((queue, what) => board.say(queue, what))
      await aborted(stop.signal)
      board.set('stopping')
      view.update()
      if (crew.running > 0)
        view.say(`Stopping: ${many(crew.running, 'job')} may finish. Ctrl-C again hands them back now.`)
      await Promise.all([stopProducing?.(), crew.stop(), serving?.server.close()])
      await board.look()
    }
    failed = false
  } finally {
    for (const timer of timers) clearInterval(timer)
    reloader?.close()
    const { finished, retried, dead, upMs } = board.snapshot()
    board.close()
    view.close()
    options.relay.to = () => {}
    await serving?.server.close().catch(() => {})
    await opened.close()
    stop.release()
    if (!failed && !call.out.json && !call.out.quiet) {
      const counts = `${count(finished)} done, ${count(retried)} retried, ${count(dead)} dead`
      const where = place.kind === 'memory' ? '' : ` The jobs stay in ${place.label}.`
      call.out.data(`Stopped after ${span(upMs)}: ${counts}.${where}`)
    }
  }
  return EXIT.ok
}

/** Without a port the handlers still run; what is wrong with it is said. */
async function openPort(
  call: Call,
  { skep, place }: Opened,
  say: (text: string) => void,
): Promise<Serving | null> {
  try {
    const logger = serverLogger((text) => say(clean(text)))
    return await listen(call, skep, { place: place.label, environment: 'development', logger })
  } catch (error) {
    // A requested port that is not available is an error.
    if (call.args.typed('port')) throw error
    say(`The dashboard is not available: ${briefly(error)}`)
    return null
  }
}

/** Brings changed files to work, one loading at a time. */
class Reloads {
  readonly #crew: Crew
  readonly #board: Board
  readonly #options: SessionOptions
  readonly #say: (text: string) => void
  #config: LoadedConfig | null
  #asked: readonly string[] | null = null
  #busy = false

  constructor(crew: Crew, board: Board, options: SessionOptions, say: (text: string) => void) {
    this.#crew = crew
    this.#board = board
    this.#options = options
    this.#say = say
    this.#config = options.opened.config
  }

  /** `files` are those that changed; none: a key was pressed. */
  ask(files: readonly string[]): void {
    this.#asked = files
    if (!this.#busy) void this.#work()
  }

  async #work(): Promise<void> {
    this.#busy = true
    while (this.#asked !== null) {
      const files = this.#asked
      this.#asked = null
      await this.#once(files).catch((error: unknown) => {
        const { message, fix } = explain(error)
        this.#board.complain(clean(`${message.replace(/\.$/, '')}. The handlers before go on. ${fix ?? ''}`))
      })
    }
    this.#busy = false
  }

  async #once(files: readonly string[]): Promise<void> {
    const { reloader, opened, workOf } = this.#options
    if (reloader === null) return
    const startedAt = performance.now()
    const config = await reloader.again()
    const work = workOf(config)
    if (config !== null) declareAnew(opened.skep, this.#config, config)
    await this.#crew.begin(work)
    this.#config = config
    this.#board.complain(null)
    this.#board.serve(work.handlers.map(({ queue }) => queue.name))
    const what = files.length === 0 ? '' : ` ${files.slice(0, 3).join(', ')}`
    const took = span(Math.max(1, Math.round(performance.now() - startedAt)))
    this.#say(`Reloaded${what} in ${took}: ${many(work.handlers.length + work.flows.length, 'handler')}`)
  }
}

function makeView(
  call: Call,
  { title, tip, captions, opened }: SessionOptions,
  board: Board,
  rest: Pick<ViewOptions, 'keys' | 'look'> & { readonly onKey: (key: Key) => void },
): View {
  const shown = { board, title, tip, captions, place: opened.place.label, ...rest }
  const isLive =
    process.stdout.isTTY && !call.out.json && !call.args.on('plain') && call.env['TERM'] !== 'dumb'
  return isLive ? liveView(call, shown) : plainView(call, shown)
}

interface Connectable extends Pick<Reached, 'place'> {
  ready(): Promise<unknown>
  migrate(): Promise<unknown>
}

/**
 * Waits until the store is available, and reports failures. A schema that is too new is an error. False if it was stopped
 * meanwhile.
 */
export async function connect(
  { place, ready, migrate }: Connectable,
  board: Board,
  stop: AbortSignal,
): Promise<boolean> {
  let migrated = false
  for (let failures = 1; !stop.aborted; failures++) {
    try {
      await ready()
      board.set('running')
      await board.look()
      return true
    } catch (error) {
      const report = explain(error, place.label)
      const { code, fix } = report
      const isOld = code === 'SCHEMA_MISSING' || code === 'SCHEMA_OUTDATED'
      if (isOld && !migrated && place.kind !== 'server') {
        // A development session migrates by itself; the tables are Skep's alone.
        await migrate()
        migrated = true
        continue
      }
      if (!isAway(report)) throw error
      const waitMs = Math.min(5_000, 500 * 2 ** (failures - 1))
      const todo = fix === undefined ? '' : ` ${fix}`
      board.set('connecting', `${place.label} does not answer: ${briefly(error)}. Trying again.${todo}`)
      await Promise.race([new Promise((resolve) => setTimeout(resolve, waitMs)), aborted(stop)])
    }
  }
  return false
}

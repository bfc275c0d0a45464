import type { Handler, Logger, Worker, WorkerOptions } from '../../index.ts'
import { durationMs } from '../arguments.ts'
import type { Call } from '../command.ts'
import type { AnyFlow } from '../config-file.ts'
import { EXIT } from '../exit.ts'
import { briefly, explain, isAway } from '../explain.ts'
import { count, many, span } from '../numbers.ts'
import type { Opened } from '../open.ts'
import { aborted, listenForStop, whenOutputCloses } from '../stopping.ts'
import { clean } from '../text.ts'
import { Board } from './board.ts'
import { liveView, plainView, type View, type ViewOptions } from './view.ts'

export interface SessionOptions {
  readonly opened: Opened
  readonly handlers: readonly Handler[]
  readonly flows: readonly AnyFlow[]
  readonly worker: WorkerOptions
  /** How many workers to start in this process. */
  readonly workers: number
  readonly title: string
  readonly tip: string
  readonly captions: ReadonlyMap<string, string>
  /** Enqueues jobs until the function it returns is called. */
  readonly produce?: (say: (queue: string, what: string) => void) => () => Promise<void>
  /** Where the library's warnings go from now on. */
  readonly relay: { to: Logger['warn'] }
}

const REDRAW_MS = 250
const LOOK_MS = 500

/** Runs workers and shows what they do, until somebody says stop. */
export async function runSession(call: Call, options: SessionOptions): Promise<number> {
  const { opened, handlers } = options
  const { skep, place } = opened
  const workers: Worker[] = []
  const running = (): number => workers.reduce((sum, worker) => sum + worker.health().running, 0)
  const stop = listenForStop({
    onHurry: () => {
      view.say(`Handing back ${many(running(), 'running job')} now. Ctrl-C again ends at once.`)
      for (const worker of workers) void worker.stop({ drain: 0 })
    },
    onForce: () => process.exit(EXIT.failure),
  })
  whenOutputCloses(() => {
    if (!stop.signal.aborted) stop.request()
  })

  const board = new Board(skep, { queues: handlers.map(({ queue }) => queue.name), workers })
  const view = makeView(call, options, board, (key) => {
    if (key === 'interrupt' || (key === 'quit' && !stop.signal.aborted)) stop.request()
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
    if (await connect(opened, board, stop.signal)) {
      for (let n = 0; n < options.workers; n++)
        workers.push(skep.worker([...handlers, ...options.flows], options.worker))
      await Promise.race([Promise.all(workers.map((worker) => worker.ready)), aborted(stop.signal)])
      const stopProducing = options.produce?.((queue, what) => board.say(queue, what))
      await aborted(stop.signal)
      board.set('stopping')
      view.update()
      if (running() > 0)
        view.say(`Stopping: ${many(running(), 'job')} may finish. Ctrl-C again hands them back now.`)
      await Promise.all([stopProducing?.(), ...workers.map((worker) => worker.stop())])
      await board.look()
    }
    failed = false
  } finally {
    for (const timer of timers) clearInterval(timer)
    const { finished, retried, dead, upMs } = board.snapshot()
    board.close()
    view.close()
    options.relay.to = () => {}
    await skep.close().catch(() => {})
    stop.release()
    if (!failed && !call.out.json && !call.out.quiet) {
      const counts = `${count(finished)} done, ${count(retried)} retried, ${count(dead)} dead`
      const where = place.kind === 'memory' ? '' : ` The jobs stay in ${place.label}.`
      call.out.data(`Stopped after ${span(upMs)}: ${counts}.${where}`)
    }
  }
  return EXIT.ok
}

function makeView(call: Call, options: SessionOptions, board: Board, onKey: ViewOptions['onKey']): View {
  const { title, tip, captions, opened } = options
  const keys = 'q quit · Ctrl-C drains and stops'
  const shown = { board, title, tip, captions, keys, place: opened.place.label, onKey }
  const isLive =
    process.stdout.isTTY && !call.out.json && !call.args.on('plain') && call.env['TERM'] !== 'dumb'
  return isLive ? liveView(call, shown) : plainView(call, shown)
}

/**
 * Waits until the store answers. One that is away may come back, so it goes on trying and says so; a schema that is too
 * new does not get better by waiting. False when somebody said stop meanwhile.
 */
export async function connect({ skep, place }: Opened, board: Board, stop: AbortSignal): Promise<boolean> {
  let migrated = false
  for (let failures = 1; !stop.aborted; failures++) {
    try {
      await skep.ready()
      board.set('running')
      await board.look()
      return true
    } catch (error) {
      const report = explain(error)
      const { code, fix } = report
      if ((code === 'SCHEMA_MISSING' || code === 'SCHEMA_OUTDATED') && !migrated) {
        // Whoever starts a development session wants it to run; the tables are ours alone.
        await skep.migrate()
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

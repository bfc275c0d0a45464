import { durationMs } from '../arguments.ts'
import type { Call, Command } from '../command.ts'
import { type Reached, reaching } from '../connect/connect.ts'
import { aborted, listenForStop, whenOutputCloses } from '../connect/stop.ts'
import { Board, type Snapshot } from '../dev/dashboard.ts'
import type { Key } from '../dev/screen.ts'
import { connect } from '../dev/session.ts'
import { liveView, plainView } from '../dev/view.ts'
import { EXIT, usage } from '../exit.ts'
import { briefly } from '../explain-error.ts'
import { quote } from '../format/text.ts'

const REDRAW_MS = 250
const LOOK_MS = 1_000

export const topCommand: Command = {
  name: 'top',
  summary: 'Show queues and workers live; pause and resume queues',
  usage: ['top [flags]'],
  flags: {
    for: { kind: 'text', value: '30s', help: 'Exit after this duration' },
    plain: { kind: 'switch', help: 'Print lines instead of a live view' },
  },
  examples: ['skep top', 'skep top --db postgres://localhost/shop', 'skep top --json --for 10s'],

  async run(call) {
    const [word] = call.args.words
    if (word !== undefined) throw usage(`${quote(word)} is an unexpected argument.`, 'skep top [flags]')
    return reaching(call, { create: false, isPatient: true }, (reached) => watch(call, reached))
  },
}

/** Shows queues and workers until it is stopped. It runs no jobs. */
async function watch(call: Call, reached: Reached): Promise<number> {
  const { backend, opened, place } = reached
  const stop = listenForStop({ onHurry: () => process.exit(EXIT.ok), onForce: () => process.exit(EXIT.ok) })
  whenOutputCloses(() => {
    if (!stop.signal.aborted) stop.request()
  })
  const board = new Board(backend, {
    queues: new Set(),
    workers: [],
    ...(place.kind === 'server' ? { where: 'The server' } : {}),
  })
  const keys = new Keys(reached, board, () => stop.request())
  const shown = {
    board,
    title: 'top',
    tip: 'skep jobs explain <id>: why one does not run',
    captions: new Map<string, string>(),
    keys: 'q quit · ↑ ↓ choose · p pause or resume',
    place: place.label,
    onKey: (key: Key) => {
      keys.pressed(key)
      view.update()
    },
    look: () => ({ selected: keys.selected, list: 'workers' as const }),
  }
  const isLive =
    process.stdout.isTTY && !call.out.json && !call.args.on('plain') && call.env['TERM'] !== 'dumb'
  const view = isLive ? liveView(call, shown) : plainView(call, shown)
  const forText = call.args.duration('for')
  const timers = [
    setInterval(() => view.update(), REDRAW_MS),
    setInterval(() => void board.look(), LOOK_MS),
    ...(forText === undefined
      ? []
      : [setTimeout(() => !stop.signal.aborted && stop.request(), durationMs(forText))]),
  ]
  try {
    view.update()
    if (
      await connect(
        { place, ready: () => backend.ready(), migrate: async () => opened?.skep.migrate() },
        board,
        stop.signal,
      )
    ) {
      view.update()
      await aborted(stop.signal)
    }
  } finally {
    for (const timer of timers) clearInterval(timer)
    board.close()
    view.close()
    stop.release()
  }
  return EXIT.ok
}

/** The keys: select a queue, pause and resume it. */
class Keys {
  readonly #reached: Reached
  readonly #board: Board
  readonly #onQuit: () => void
  #selected: string | undefined

  constructor(reached: Reached, board: Board, onQuit: () => void) {
    this.#reached = reached
    this.#board = board
    this.#onQuit = onQuit
  }

  get selected(): string | undefined {
    return this.#selected
  }

  pressed(key: Key): void {
    if (key === 'quit' || key === 'interrupt' || key === 'escape') this.#onQuit()
    const { rows } = this.#board.snapshot()
    if (key === 'down' || key === 'j') this.#move(rows, 1)
    else if (key === 'up' || key === 'k') this.#move(rows, -1)
    else if (key === 'p') void this.#togglePause(rows)
  }

  #move(rows: Snapshot['rows'], step: number): void {
    if (rows.length === 0) return
    const at = rows.findIndex(({ name }) => name === this.#selected)
    const next = at < 0 ? (step > 0 ? 0 : rows.length - 1) : at + step
    this.#selected = rows[Math.min(rows.length - 1, Math.max(0, next))]?.name
  }

  async #togglePause(rows: Snapshot['rows']): Promise<void> {
    const row = rows.find(({ name }) => name === this.#selected)
    if (row === undefined) return
    const { backend } = this.#reached
    try {
      await backend.call(row.hold === null ? 'holds.pause' : 'holds.resume', { queue: row.name })
      await this.#board.look()
    } catch (error) {
      this.#board.set('running', `${row.name} was not changed: ${briefly(error)}`)
    }
  }
}

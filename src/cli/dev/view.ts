import type { Call } from '../command.ts'
import type { JobEvent } from '../format/event-lines.ts'
import { clock, count, rate, span } from '../format/numbers.ts'
import { clean } from '../format/text.ts'
import type { Board, QueueRow, Snapshot } from './dashboard.ts'
import { type FrameOptions, frame } from './layout.ts'
import { type Key, Screen } from './screen.ts'

/** A way to show the board. */
export interface View {
  /** Shows how things are now. */
  update(): void
  /** Says something outside of the board. */
  say(text: string): void
  /** Says where everything is, once. */
  facts(facts: readonly (readonly [string, string])[]): void
  close(): void
}

export interface ViewOptions
  extends Omit<FrameOptions, 'columns' | 'rows' | 'paint' | 'selected' | 'list' | 'url' | 'grpc'> {
  readonly board: Board
  readonly onKey: (key: Key) => void
  /** What can change while it is shown. */
  readonly look?: () => Pick<FrameOptions, 'selected' | 'list' | 'url' | 'grpc'>
}

/** How long a message stays in the footer: among busy queues its line scrolls away. */
const SAID_MS = 4_000

/** A picture that fills the terminal. */
export function liveView({ out }: Call, options: ViewOptions): View {
  const { board, onKey } = options
  let said = { text: '', until: 0 }
  const update = (): void => {
    const { columns, rows } = screen.size
    // The last column stays free: erasing the rest of a line would take a letter there with it.
    const look = options.look?.() ?? {}
    const snapshot = board.snapshot()
    const word = snapshot.at < said.until ? said.text : ''
    screen.draw(frame(snapshot, { ...options, ...look, word, columns: columns - 1, rows, paint: out.paint }))
  }
  const screen = new Screen({
    onKey,
    onLine: (line) => board.say('', line),
    onResize: update,
  })
  return {
    update,
    say(text) {
      board.say('', clean(text))
      said = { text: clean(text), until: Date.now() + SAID_MS }
      update()
    },
    // The picture has them already.
    facts: () => update(),
    close: () => screen.close(),
  }
}

const PERIOD_MS = 5_000

/** Lines, for a file, a pipe or a terminal that can do no more. */
export function plainView(call: Call, { board, title, place, look }: ViewOptions): View {
  const { out } = call
  const told = new Map<string, string>()
  let next = Date.now() + 2_000
  let lastEvent = 0
  let lastStatus = ''
  if (!out.json) out.data(`${clock(Date.now())} skep ${title} on ${place}`)

  const write = (snapshot: Snapshot, news: readonly JobEvent[]): void => {
    if (out.json) {
      out.object({ ...snapshot, url: look?.().url ?? null, events: news })
      return
    }
    for (const row of snapshot.rows) {
      const line = rowLine(row)
      if (told.get(row.name) !== line) out.data(`${clock(snapshot.at)} ${line}`)
      told.set(row.name, line)
    }
    const { running, failed } = snapshot.flows
    const flows = running + failed === 0 ? '' : `flows  running ${count(running)}  failed ${count(failed)}`
    if (flows !== (told.get('') ?? ''))
      out.data(`${clock(snapshot.at)} ${flows || 'flows  running 0  failed 0'}`)
    told.set('', flows)
    const failures = news.filter(({ kind }) => kind === 'error' || kind === 'dead')
    for (const { at, queue, what, why } of failures.slice(0, 5).reverse()) {
      out.data(`${clock(at)} ${queue} ${what}: ${why}`)
    }
    if (failures.length > 5) out.data(`${clock(snapshot.at)} … and ${failures.length - 5} more failures`)
  }
  const flush = (): void => {
    const snapshot = board.snapshot()
    const news = snapshot.events.filter(({ at }) => at > lastEvent)
    lastEvent = snapshot.at
    write(snapshot, news)
  }

  return {
    update() {
      const { status, trouble } = board.snapshot()
      const text = status === 'running' ? (trouble ?? '') : `${status}: ${trouble}`
      if (text !== lastStatus && trouble !== null) out.complain(`${clock(Date.now())} ${text}`)
      lastStatus = text
      if (Date.now() < next) return
      next = Date.now() + PERIOD_MS
      flush()
    },
    say: (text) => out.note(`${clock(Date.now())} ${text}`),
    facts(facts) {
      if (out.json || out.quiet) return
      for (const [name, text] of facts) out.data(`  ${out.paint('dim', name.padEnd(9))}  ${clean(text)}`)
    },
    close: flush,
  }
}

function rowLine({ name, states, rate: perSecond, oldestMs }: QueueRow): string {
  const shown = Object.entries(states).filter(
    ([state, jobs]) => jobs > 0 || ['delayed', 'ready', 'running', 'done', 'dead'].includes(state),
  )
  const counts = shown.map(([state, jobs]) => `${state} ${count(jobs)}`).join('  ')
  const oldest = oldestMs === null ? '' : `  oldest ${span(oldestMs)}`
  return `${clean(name)}  ${counts}  ${rate(perSecond)}/s${oldest}`
}

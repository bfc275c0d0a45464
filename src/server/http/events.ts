/**
 * The stream of events: says what to look at again, as SSE.
 *
 * One desk per space looks at the store for all who listen, however many they are: soon after a hint, and every two seconds besides,
 * because hints may be lost. While nobody listens it does nothing. Each listener keeps only what it has not been sent yet, merged:
 * the newest counts, and what has changed since. So a slow one costs no memory, and gets the newest when it is ready.
 */
import type { Hint, Runtime, Skep } from '../../index.ts'
import { sees } from '../../operations/authorize/authorize-output.ts'
import type { Caller } from '../../operations/operation.ts'
import type { QueueSummary, ServerEvent } from '../../operations/schema/wire-types.ts'

export type Area = Extract<ServerEvent, { kind: 'changed' }>['what'][number]

const AREAS: readonly Area[] = ['jobs', 'holds', 'schedules', 'workers', 'bulk', 'runs']

/** At most four events of a kind each second, and counts once a second at most: they ask more of the store. */
const APART_MS = 250
const COUNTS_APART_MS = 1_000
/** Looks at least so often, whether or not there was a hint. */
const LOOK_MS = 2_000
/** With more queues than this, counts are not sent along: whoever shows them asks. */
const MOST_QUEUES = 200

export interface DeskEnv {
  readonly runtime: Runtime
  skepFor(space: string): Skep
  /** All queues of a space. */
  summaries(skep: Skep): Promise<readonly QueueSummary[]>
  report(error: unknown): void
}

/** What a listener has not been sent yet. */
export interface Pending {
  readonly changed: ReadonlySet<Area>
  readonly counts: readonly QueueSummary[] | null
}

/** Somebody who listens to a space. */
export class Listener {
  readonly #caller: Caller
  #changed = new Set<Area>()
  #counts: readonly QueueSummary[] | null = null
  #wake: (() => void) | null = null

  constructor(caller: Caller) {
    this.#caller = caller
  }

  tell(changed: Iterable<Area>, counts: readonly QueueSummary[] | null): void {
    for (const area of changed) this.#changed.add(area)
    if (counts !== null) this.#counts = counts.filter(({ queue }) => sees(this.#caller, queue))
    if (this.#changed.size > 0 || this.#counts !== null) this.#wake?.()
  }

  /** What there is to send now, which is then taken to be sent. */
  take(): Pending {
    const pending = { changed: this.#changed, counts: this.#counts }
    this.#changed = new Set()
    this.#counts = null
    return pending
  }

  /** Calls back when there is something; at once if there is already. */
  onNews(wake: (() => void) | null): void {
    this.#wake = wake
    if (wake !== null && (this.#changed.size > 0 || this.#counts !== null)) wake()
  }
}

/** Looks at one space for all who listen to it. */
export class SpaceDesk {
  readonly #env: DeskEnv
  readonly #skep: Skep
  readonly #listeners = new Set<Listener>()
  readonly #dirty = new Set<Area>()
  #endHints: (() => void) | null = null
  #cancelTimer: (() => void) | null = null
  #sentAt = -Infinity
  #countedAt = -Infinity
  #lookedAt = -Infinity
  #isLooking = false
  /** The store did not answer when it was last looked at. */
  #isAway = false
  /** What was seen last, as text, to tell whether it is another now. */
  readonly #seen = new Map<'counts' | 'holds' | 'workers' | 'bulk', string>()

  constructor(space: string, env: DeskEnv) {
    this.#env = env
    this.#skep = env.skepFor(space)
  }

  get isIdle(): boolean {
    return this.#listeners.size === 0
  }

  join(listener: Listener): () => void {
    if (this.isIdle) this.#start()
    this.#listeners.add(listener)
    return () => {
      this.#listeners.delete(listener)
      if (this.isIdle) this.stop()
    }
  }

  /** Something was changed through this very server. */
  touch(areas: readonly Area[]): void {
    if (this.isIdle) return
    for (const area of areas) this.#dirty.add(area)
    this.#plan()
  }

  stop(): void {
    this.#endHints?.()
    this.#cancelTimer?.()
    this.#endHints = null
    this.#cancelTimer = null
  }

  #start(): void {
    this.#seen.clear()
    this.#lookedAt = -Infinity
    this.#endHints = this.#skep.notifier.onHint((hints) => {
      for (const hint of hints) for (const area of areasOf(hint)) this.#dirty.add(area)
      this.#plan()
    })
    this.#plan()
  }

  /** Looks again when it is time: soon if something has changed, otherwise after a while. */
  #plan(): void {
    if (this.isIdle && this.#endHints === null) return
    this.#cancelTimer?.()
    const { runtime } = this.#env
    const due = this.#dirty.size > 0 ? this.#sentAt + APART_MS : this.#lookedAt + LOOK_MS
    const wait = Math.max(0, due - runtime.mono())
    this.#cancelTimer = runtime.timer(Number.isFinite(wait) ? wait : 0, () => void this.#look(), {
      background: true,
    })
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    const { runtime } = this.#env
    const changed = new Set(this.#dirty)
    this.#dirty.clear()
    let counts: readonly QueueSummary[] | null = null
    try {
      const now = runtime.mono()
      const isSlowLook = now - this.#lookedAt >= LOOK_MS
      if (isSlowLook || (changed.has('jobs') && now - this.#countedAt >= COUNTS_APART_MS)) {
        counts = await this.#count(changed)
        this.#countedAt = runtime.mono()
      }
      if (isSlowLook) {
        await this.#lookAround(changed)
        this.#lookedAt = runtime.mono()
      }
      if (this.#isAway && isSlowLook) {
        this.#isAway = false
        for (const area of AREAS) changed.add(area)
      }
    } catch (error) {
      // The store does not answer: the next look may be luckier. Whoever listens is told once, asks, and sees it by himself; and
      // once again when it is back.
      this.#lookedAt = runtime.mono()
      if (!this.#isAway) changed.add('jobs')
      this.#isAway = true
      this.#env.report(error)
    }
    this.#isLooking = false
    if (changed.size > 0 || counts !== null) {
      this.#sentAt = runtime.mono()
      for (const listener of this.#listeners) listener.tell(changed, counts)
    }
    if (!this.isIdle) this.#plan()
  }

  /** The counts, if they are others than before and few enough to be sent. */
  async #count(changed: Set<Area>): Promise<readonly QueueSummary[] | null> {
    const summaries = await this.#env.summaries(this.#skep)
    const holds = JSON.stringify(summaries.map((queue) => queue.holds))
    if (this.#isNew('holds', holds)) changed.add('holds')
    // How long the oldest waits grows all the time, and is no news by itself.
    const text = JSON.stringify(summaries.map(({ oldestMs: _oldestMs, ...rest }) => rest))
    if (!this.#isNew('counts', text)) return null
    if (this.#seen.has('counts')) changed.add('jobs')
    return summaries.length <= MOST_QUEUES ? summaries : null
  }

  async #lookAround(changed: Set<Area>): Promise<void> {
    const [workers, bulks] = await Promise.all([this.#skep.workers.list(), this.#skep.bulk.list()])
    const shown = workers.map(({ id, life, running, command, paused, version }) => [
      id,
      life,
      running,
      command,
      paused,
      version,
    ])
    if (this.#isNew('workers', JSON.stringify(shown))) changed.add('workers')
    if (this.#isNew('bulk', JSON.stringify(bulks))) changed.add('bulk')
  }

  /** The first look is no news: whoever has just come asks for everything anyway. */
  #isNew(what: 'counts' | 'holds' | 'workers' | 'bulk', text: string): boolean {
    const before = this.#seen.get(what)
    this.#seen.set(what, text)
    return what === 'counts' ? before !== text : before !== undefined && before !== text
  }
}

function areasOf(hint: Hint): readonly Area[] {
  switch (hint.kind) {
    case 'work':
    case 'settled':
    case 'cancel':
      return ['jobs', 'runs']
    case 'schedules':
      return ['schedules']
    case 'commands':
      return ['workers']
    case 'sync':
      return AREAS
    default:
      return []
  }
}

/** What an operation of this server may have changed. */
export function areasOfOperation(name: string): readonly Area[] {
  const [area = ''] = name.split('.')
  switch (area) {
    case 'jobs':
    case 'queues':
      return ['jobs', 'runs']
    case 'holds':
    case 'schedules':
    case 'workers':
    case 'bulk':
      return [area]
    case 'receivers':
      return ['workers']
    case 'runs':
      return ['runs', 'jobs']
    case 'errors':
      return ['bulk']
    default:
      return []
  }
}

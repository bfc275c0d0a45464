import { SkepError } from '../../core/errors.ts'
import { show } from '../../core/names.ts'
import type { DeadNotice, DeadNoticePage } from '../../notifier/notices.ts'
import type { Runtime } from '../../runtime/runtime.ts'
import type { JetStream } from './jetstream.ts'
import { readDead, writeDead } from './message.ts'
import type { Line } from './stream.ts'
import type { Streams } from './streams.ts'
import type { Subjects } from './subjects.ts'

const MOST_A_PAGE = 1_000
const LONGEST_REASON = 2_000

export interface GraveyardOptions {
  readonly runtime: Runtime
  readonly line: Line
  readonly jetStream: JetStream
  readonly streams: Streams
  readonly subjects: Subjects
}

/** Dead letters: notices in a stream of their own, with limits, from which nothing is consumed. */
export class Graveyard {
  readonly #options: GraveyardOptions
  /** In progress. */
  readonly #burials = new Set<Promise<void>>()

  constructor(options: GraveyardOptions) {
    this.#options = options
  }

  /**
   * Copies a notice here, and only then terminates the original. After a failure in between it is redelivered
   * and buried again, perhaps as a duplicate.
   */
  bury(notice: Omit<DeadNotice, 'reason' | 'buriedAt'>, reason: string, reply: string): void {
    const burial = this.#bury({
      ...notice,
      reason: reason.slice(0, LONGEST_REASON),
      buriedAt: this.#options.runtime.now(),
    })
      .then(() => this.#options.line.send(reply, '+TERM'))
      .catch(() => this.#options.streams.doubt())
      .finally(() => this.#burials.delete(burial))
    this.#burials.add(burial)
  }

  /** Resolves when all burials in progress have ended. */
  async settle(): Promise<void> {
    await Promise.all(this.#burials)
  }

  async read({
    limit,
    cursor = null,
  }: {
    readonly limit: number
    readonly cursor?: string | null
  }): Promise<DeadNoticePage> {
    if (!(Number.isInteger(limit) && limit >= 1)) {
      throw new SkepError('OPTION_INVALID', `limit is ${show(limit)}; use 1 or more.`)
    }
    if (cursor !== null && !/^\d{1,15}$/.test(cursor)) {
      throw new SkepError(
        'OPTION_INVALID',
        `${show(cursor)} is not a cursor. Use the one from the previous page.`,
      )
    }
    const { jetStream, subjects } = this.#options
    const bounds = await jetStream.bounds(subjects.deadStream)
    if (bounds === null) return { notices: [], cursor: null }
    const most = Math.min(limit, MOST_A_PAGE)
    const notices: DeadNotice[] = []
    let at = Math.max(1, bounds.first, Number(cursor ?? 0))
    while (notices.length < most && at <= bounds.last) {
      const count = Math.min(most - notices.length, bounds.last - at + 1)
      const found = await Promise.all(
        Array.from({ length: count }, (_, n) => jetStream.message(subjects.deadStream, at + n)),
      )
      for (const message of found) if (message) notices.push(readDead(message.text))
      at += count
      if (found.every((message) => message === null)) {
        // Many were removed: continue with the next existing one.
        at = (await jetStream.message(subjects.deadStream, at, subjects.dead))?.sequence ?? bounds.last + 1
      }
    }
    return { notices, cursor: at <= bounds.last ? String(at) : null }
  }

  async #bury(notice: DeadNotice): Promise<void> {
    const { jetStream, streams, subjects } = this.#options
    await streams.ready()
    await jetStream.add(subjects.dead, writeDead(notice))
  }
}

import { messageOf } from '../../core/errors.ts'
import type { NoticeSource } from '../../notifier/notices.ts'
import type { JetStream } from './jetstream.ts'
import type { Subjects } from './subjects.ts'

/** The streams and consumers of notices: created on demand, and again if they were removed. */
export class Streams {
  readonly #jetStream: JetStream
  readonly #subjects: Subjects
  /** Current problems, by reporter. */
  readonly #problems = new Map<string, string>()
  #ready: Promise<void> | null = null
  #remark: string | undefined

  constructor(jetStream: JetStream, subjects: Subjects) {
    this.#jetStream = jetStream
    this.#subjects = subjects
  }

  /** Why notices are not delivered; undefined if there is no known problem. */
  get problem(): string | undefined {
    return this.#problems.values().next().value
  }

  /** What differs from the options, although it works. */
  get remark(): string | undefined {
    return this.#remark
  }

  /** Ensures that both streams exist. Fails if they cannot be created. */
  ready(): Promise<void> {
    if (this.#ready !== null) return this.#ready
    const ready = this.#make()
    this.#ready = ready
    ready.catch(() => {
      if (this.#ready === ready) this.#ready = null
    })
    return ready
  }

  async readyFor(source: NoticeSource): Promise<void> {
    await this.ready()
    await this.#jetStream.keepConsumer({
      stream: this.#subjects.noticeStream,
      name: this.#subjects.consumerOf(source),
      subject: this.#subjects.noticesOf(source),
    })
  }

  /** Makes the next caller check again whether the streams exist. */
  doubt(): void {
    this.#ready = null
  }

  /** Records a problem of a reporter, until {@link trust} clears it. */
  blame(who: string, error: unknown): void {
    this.doubt()
    this.#problems.set(who, messageOf(error))
  }

  /** Clears the problem of a reporter. */
  trust(who: string): void {
    this.#problems.delete(who)
  }

  async #make(): Promise<void> {
    const { noticeStream, notices, deadStream, dead } = this.#subjects
    const [remark] = await Promise.all([
      this.#jetStream.keepNotices(noticeStream, notices),
      this.#jetStream.keepDead(deadStream, dead),
    ])
    this.#remark = remark
  }
}

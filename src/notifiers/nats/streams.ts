import { messageOf } from '../../core/errors.ts'
import type { NoticeSource } from '../../notifier/notices.ts'
import type { JetStream } from './jetstream.ts'
import type { Subjects } from './subjects.ts'

/** The streams and consumers of notices: made when they are first needed, and again when they are gone. */
export class Streams {
  readonly #jetStream: JetStream
  readonly #subjects: Subjects
  /** What is wrong, by who found it out. */
  readonly #problems = new Map<string, string>()
  #ready: Promise<void> | null = null
  #remark: string | undefined

  constructor(jetStream: JetStream, subjects: Subjects) {
    this.#jetStream = jetStream
    this.#subjects = subjects
  }

  /** Why notices do not flow; undefined when they do, as far as is known. */
  get problem(): string | undefined {
    return this.#problems.values().next().value
  }

  /** What is not as the options say, though it works. */
  get remark(): string | undefined {
    return this.#remark
  }

  /** Both streams are there, as far as is known. Fails when they cannot be had. */
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

  /** Something went wrong, so whoever needs the streams next looks whether they are still there. */
  doubt(): void {
    this.#ready = null
  }

  /** Somebody cannot go on. It tells when it can. */
  blame(who: string, error: unknown): void {
    this.doubt()
    this.#problems.set(who, messageOf(error))
  }

  /** It works again. */
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

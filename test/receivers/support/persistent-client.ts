import { setTimeout as sleep } from 'node:timers/promises'
import { post, receive, type WireAcked, type WireJob } from './client.ts'

/**
 * A receiver as it should be written: it connects again when its stream ends, to whichever server answers, and says how a
 * job ended until somebody has an answer to that.
 */
export class PersistentClient {
  /** How often each job came. */
  readonly seen = new Map<string, number>()
  readonly words = new Map<string, number>()
  readonly #urls: readonly string[]
  readonly #stop = new AbortController()
  readonly #acking = new Set<Promise<void>>()
  readonly #reading: Promise<void>
  #turn = 0

  constructor(urls: readonly string[], first: number) {
    this.#urls = urls
    this.#turn = first
    this.#reading = this.#read()
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#reading
    await Promise.all(this.#acking)
  }

  #next(): string {
    return this.#urls[this.#turn++ % this.#urls.length] as string
  }

  async #read(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      try {
        for await (const { jobs } of receive(this.#next(), { queues: ['*'], credits: 40 }, signal)) {
          if (!jobs) continue
          const acking = this.#run(jobs)
          this.#acking.add(acking)
          void acking.finally(() => this.#acking.delete(acking))
        }
      } catch {
        await sleep(20)
      }
    }
  }

  async #run(jobs: readonly WireJob[]): Promise<void> {
    for (const { id } of jobs) this.seen.set(id, (this.seen.get(id) ?? 0) + 1)
    await sleep(5)
    let acks = jobs.map(({ id, token, payload }) => ({ id, token, done: payload }))
    while (acks.length > 0 && !this.#stop.signal.aborted) {
      try {
        const { saved, results } = await post<WireAcked>(`${this.#next()}/settle`, { acks })
        this.words.set('ok', (this.words.get('ok') ?? 0) + saved)
        for (const { status } of results) this.words.set(status, (this.words.get(status) ?? 0) + 1)
        const unknown = new Set(results.flatMap(({ id, status }) => (status === 'unknown' ? [id] : [])))
        acks = acks.filter(({ id }) => unknown.has(id))
      } catch {
        await sleep(50)
      }
    }
  }
}

import type { Handler, Skep, Worker, WorkerOptions } from '../../index.ts'
import type { AnyFlow } from '../connect/config-file.ts'

/** What workers are to do. */
export interface Work {
  readonly handlers: readonly Handler[]
  readonly flows: readonly AnyFlow[]
  readonly options: WorkerOptions
}

/** The workers of this process. When the code changes new ones begin, and those before finish what they have. */
export class Crew {
  /** All workers, including those that are draining. A live array. */
  readonly workers: Worker[] = []
  readonly #skep: Skep
  readonly #size: number
  readonly #onGone: () => void
  #present: readonly Worker[] = []
  #isOver = false

  /** `onGone` is called when an operator stops a worker. */
  constructor(skep: Skep, { size, onGone }: { readonly size: number; readonly onGone: () => void }) {
    this.#skep = skep
    this.#size = size
    this.#onGone = onGone
  }

  /** Jobs that run now. */
  get running(): number {
    return this.workers.reduce((sum, worker) => sum + worker.health().running, 0)
  }

  /** Starts this work, and stops the previous one once the new workers are claiming. Rejects if they cannot. */
  async begin({ handlers, flows, options }: Work): Promise<void> {
    const before = this.#present
    const begun = Array.from({ length: this.#size }, () =>
      this.#skep.worker([...handlers, ...flows], options),
    )
    this.#present = begun
    this.workers.push(...begun)
    try {
      await Promise.all(begun.map((worker) => worker.ready))
    } catch (error) {
      this.#present = before
      for (const worker of begun) this.#end(worker)
      throw error
    }
    for (const worker of before) this.#end(worker)
    for (const worker of begun) {
      void worker.stopped.then(() => {
        if (!this.#isOver && this.#present.includes(worker)) this.#onGone()
      })
    }
  }

  /** Ends all; with `drain: 0` the signals of their handlers abort at once. */
  async stop(options: { readonly drain?: 0 } = {}): Promise<void> {
    this.#isOver = true
    await Promise.all(this.workers.map((worker) => worker.stop(options)))
  }

  #end(worker: Worker): void {
    const forget = (): void => {
      this.workers.splice(this.workers.indexOf(worker), 1)
    }
    worker.stop().then(forget, forget)
  }
}

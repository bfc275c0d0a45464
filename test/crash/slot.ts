/** A place for a process: whatever ends the one in it, another can be started there as the next incarnation. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

export interface SlotOptions {
  readonly name: string
  readonly script: string
  /** What the program of this incarnation is told. */
  readonly config: (proc: string, incarnation: number) => object
  readonly onMessage?: (message: Record<string, unknown>) => void
  /** A process ended although nobody ended it. */
  readonly onSurprise: (what: string) => void
}

export class Slot {
  readonly name: string
  readonly #options: SlotOptions
  #child: ChildProcess | null = null
  #ended: Promise<unknown> = Promise.resolve()
  #isReady: Promise<void> = Promise.resolve()
  #incarnation = 0
  #isExpected = false
  /** Stopped with SIGSTOP. */
  isStopped = false
  /** Something is being done to it that another fault must not disturb. */
  isBusy = false

  constructor(options: SlotOptions) {
    this.name = options.name
    this.#options = options
  }

  /** Of the present incarnation, or the latest. */
  get proc(): string {
    return `${this.name}#${this.#incarnation}`
  }

  get pid(): number {
    return this.#child?.pid ?? -1
  }

  get isAlive(): boolean {
    return this.#child !== null
  }

  /** Resolves when the process said that it is ready. */
  get ready(): Promise<void> {
    return this.#isReady
  }

  start(): void {
    if (this.#child) throw new Error(`${this.proc} is still there.`)
    this.#incarnation++
    this.#isExpected = false
    this.isStopped = false
    const { script, config, onMessage, onSurprise } = this.#options
    const child = spawn(process.execPath, [script, JSON.stringify(config(this.proc, this.#incarnation))], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      env: { PATH: process.env.PATH, TZ: process.env.TZ },
    })
    this.#child = child
    this.#ended = once(child, 'exit').then(([code, signal]) => {
      this.#child = null
      if (!this.#isExpected) onSurprise(`${this.proc} ended by itself (code ${code}, signal ${signal}).`)
      else if (code !== null && code !== 0) onSurprise(`${this.proc} did not stop cleanly (code ${code}).`)
    })
    this.#isReady = new Promise((resolve) => {
      child.on('message', (message: Record<string, unknown>) => {
        if (message.ready) resolve()
        else onMessage?.(message)
      })
      child.once('exit', () => resolve())
    })
  }

  /** Says something to its program. */
  tell(message: object): void {
    this.#child?.send(message, () => {})
  }

  /** Ends it as a loss of power would. */
  async kill(): Promise<void> {
    this.#isExpected = true
    this.#child?.kill('SIGKILL')
    await this.#ended
  }

  /** Freezes it. It does not notice. */
  freeze(): void {
    this.isStopped = true
    this.#child?.kill('SIGSTOP')
  }

  thaw(): void {
    this.isStopped = false
    this.#child?.kill('SIGCONT')
  }

  /** Asks it to stop. Kills it if it has not within this time, and tells whether that was needed. */
  async stop(withinMs: number): Promise<'stopped' | 'killed'> {
    const child = this.#child
    if (!child) return 'stopped'
    this.#isExpected = true
    if (this.isStopped) this.thaw()
    child.kill('SIGTERM')
    let how: 'stopped' | 'killed' = 'stopped'
    const timer = setTimeout(() => {
      how = 'killed'
      child.kill('SIGKILL')
    }, withinMs)
    await this.#ended
    clearTimeout(timer)
    return how
  }
}

import { type ChildProcess, fork } from 'node:child_process'
import type { Commands } from './commands.ts'

export interface Order {
  readonly id: number
  readonly name: keyof Commands
  readonly args: readonly unknown[]
}

export type Answer =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: string }

export interface PlayerProgram {
  /** The bundled program. */
  readonly file: string
  /** The Node that runs it. */
  readonly node: string
  /** The repository, with the packages that Skep is tested with. */
  readonly root: string
  /** The built package, if it is not the repository's. */
  readonly built?: string
}

/** A player, seen from the process that started it. */
export class Player {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  #last = 0
  /** What it printed lately: when it dies, that is what tells why. */
  #said = ''
  readonly #ended: Promise<void>

  constructor({ file, node, root, built = root }: PlayerProgram) {
    this.#child = fork(file, [], {
      execPath: node,
      execArgv: [],
      env: {
        ...process.env,
        NODE_OPTIONS: '',
        NODE_ENV: 'production',
        SKEP_BENCH_ROOT: root,
        SKEP_BENCH_PACKAGE: built,
      },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.#child.stderr?.on('data', (chunk) => {
      this.#said = `${this.#said}${chunk}`.slice(-2_000)
    })
    this.#child.on('message', (message) => this.#hear(message as Answer))
    this.#child.on('error', (error) => this.#fail(error))
    this.#ended = new Promise((resolve) => {
      this.#child.once('exit', (code, signal) => {
        this.#fail(new Error(`The player ended with ${signal ?? `code ${code}`}.\n${this.#said}`))
        resolve()
      })
    })
  }

  /** Gives up after a time, and then the player is of no use any more. */
  call<Name extends keyof Commands>(
    name: Name,
    args: Parameters<Commands[Name]>,
    limitMs = 120_000,
  ): Promise<Awaited<ReturnType<Commands[Name]>>> {
    const id = ++this.#last
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(id)
        reject(new Error(`The player did not answer "${name}" within ${limitMs / 1_000} s.\n${this.#said}`))
      }, limitMs)
      this.#waiting.set(id, {
        resolve: (value) => {
          clearTimeout(timer)
          resolve(value as Awaited<ReturnType<Commands[Name]>>)
        },
        reject: (error) => {
          clearTimeout(timer)
          reject(error)
        },
      })
      const order: Order = { id, name, args }
      if (this.#child.connected) this.#child.send(order)
      else this.#fail(new Error(`The player is gone.\n${this.#said}`))
    })
  }

  /** As a power cut would: it saves nothing. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.#ended
  }

  /** Closes the line before. A library that does not end is not waited for. */
  async end(): Promise<void> {
    if (this.#child.connected) await this.call('close', [], 5_000).catch(() => {})
    await this.kill()
  }

  #hear(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    if ('error' in answer) waiting?.reject(new Error(answer.error))
    else waiting?.resolve(answer.value)
  }

  #fail(error: Error): void {
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}

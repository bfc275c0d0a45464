import { Samples } from '../player/samples.ts'

/** One call of a handler, on the clock of `now()`. */
export interface Run {
  /** The number of its job. */
  readonly n: number
  readonly begin: number
  readonly end: number
}

/** Calls of handlers, kept without an object for each while it is measured, and sent as text. */
export class RunLog {
  readonly #values = new Samples()

  add({ n, begin, end }: Run): void {
    this.#values.add(n)
    this.#values.add(begin)
    this.#values.add(end)
  }

  toText(): string {
    return Buffer.from(this.#values.toArray().buffer).toString('base64')
  }

  static read(text: string): Run[] {
    const bytes = new Uint8Array(Buffer.from(text, 'base64'))
    const values = new Float64Array(bytes.buffer)
    return Array.from({ length: values.length / 3 }, (_, i) => ({
      n: values[3 * i] as number,
      begin: values[3 * i + 1] as number,
      end: values[3 * i + 2] as number,
    }))
  }
}

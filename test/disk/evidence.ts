/**
 * What a victim was told, written outside of its fault domain: one line for each promise, with a plain write that the
 * system has taken before anything else happens. SIGKILL cannot take it back.
 */
import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs'

/**
 * invoked: about to be enqueued. enqueued, cancelled: the call resolved. started: a handler has it. within: a handler
 * enqueued a child, which is to exist if the parent succeeds. finished, dead: a listener was told. refused: a call
 * failed, with this code.
 */
export type Sign =
  | 'invoked'
  | 'enqueued'
  | 'cancelled'
  | 'started'
  | 'within'
  | 'finished'
  | 'dead'
  | 'refused'

export interface Line {
  readonly sign: Sign
  /** The job's name, made by the test and unique; it is in the payload. */
  readonly key: string
  /** invoked: the queue. enqueued: the job's id. within: the child's key and id. refused: the code of the error. */
  readonly more: string
}

export interface Pen {
  note(sign: Sign, key: string, more?: string): void
  close(): void
}

export function openPen(file: string): Pen {
  const handle = openSync(file, 'a')
  return {
    note(sign, key, more = '') {
      writeSync(handle, `${sign} ${key} ${more}\n`)
    },
    close: () => closeSync(handle),
  }
}

/** All lines, in the order in which they were written. */
export function readEvidence(file: string): Line[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n')
  // What follows the last line break is empty, or was being written when the end came.
  return lines.slice(0, -1).map((line) => {
    const [sign, key, more] = line.split(' ') as [Sign, string, string]
    return { sign, key, more }
  })
}

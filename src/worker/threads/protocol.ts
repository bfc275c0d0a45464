import { SkepError } from '../../core/errors.ts'
import type { NewGroup } from '../../core/flows/groups.ts'
import { failureOf, reasonFailure } from '../../core/jobs/failure.ts'
import type { ClaimedJob, Failure, NewJob } from '../../core/jobs/job.ts'
import { type Instruction, instruction, isInstruction } from '../handler.ts'

// What a worker and its threads say to each other. All of it is plain data, because it is copied on its way:
// classes, symbols and the `code` of an error would not arrive.

/** The key under which a thread finds what its worker gave it. A text: the package may be loaded twice. */
export const THREAD_KEY = 'skep.thread'

/** What a thread is started with. */
export interface ThreadData {
  readonly space: string
  /** The queue whose handler it shall be. */
  readonly queue: string
  readonly payloadBytes: number
}

/** From the worker to a thread. `run` numbers the runs of the thread, so that nothing late is taken for the next one's. */
export type ToThread =
  | {
      readonly said: 'run'
      readonly run: number
      readonly job: ClaimedJob
      readonly deadline: number | null
    }
  | {
      readonly said: 'stop'
      readonly run: number
      readonly kind: 'timeout' | 'cancel' | 'lost' | 'stop'
      readonly message: string
    }
  /** What came of a question. */
  | { readonly said: 'reply'; readonly run: number; readonly question: number; readonly answer: ThreadAnswer }

/** Methods of the context that only the worker can carry out. */
export type ThreadCall = 'progress' | 'line'

/** The same with an answer, as JSON. */
export type ThreadQuestion = 'results'

/** From a thread to its worker. */
export type FromThread =
  /** It has the handler and waits for jobs. */
  | { readonly said: 'ready' }
  /** Its module has a handler, but of this other queue. */
  | { readonly said: 'other'; readonly queue: string }
  /** The job has arrived and its handler is called next. Without this word it was never called. */
  | { readonly said: 'begun'; readonly run: number }
  /** The handler called a method of its context that only the worker can carry out. */
  | {
      readonly said: 'call'
      readonly run: number
      readonly method: ThreadCall
      readonly values: readonly unknown[]
    }
  /** The same, and it waits for the reply. */
  | {
      readonly said: 'ask'
      readonly run: number
      readonly question: number
      readonly method: ThreadQuestion
      readonly values: readonly unknown[]
    }
  | {
      readonly said: 'answer'
      readonly run: number
      readonly answer: ThreadAnswer
      readonly enqueued: readonly NewJob[]
      readonly groups: readonly NewGroup[]
    }

/** How a handler ended in its thread. */
export type ThreadAnswer =
  /** JSON text: it is checked and written where the value is. */
  | { readonly kind: 'result'; readonly result: string | null }
  | {
      readonly kind: 'instruction'
      readonly instruction: Pick<Instruction, 'kind' | 'delayMs' | 'until' | 'reason'>
    }
  | { readonly kind: 'thrown'; readonly failure: Failure; readonly poison: boolean }

/** What a handler returned, for the way. Throws if it cannot be stored. */
export function packAnswer(value: unknown, encodeResult: (value: unknown) => string | null): ThreadAnswer {
  if (!isInstruction(value)) return { kind: 'result', result: encodeResult(value) }
  const { kind, delayMs, until, reason } = value
  return { kind: 'instruction', instruction: { kind, delayMs, until, reason } }
}

/** What a handler threw, for the way: as much as would be stored of it. */
export function packThrown(thrown: unknown): ThreadAnswer {
  try {
    const poison = thrown instanceof SkepError && thrown.facts['poison'] === true
    return { kind: 'thrown', failure: failureOf('error', thrown), poison }
  } catch {
    // Anything can be thrown, also things that throw when they are looked at. The thread must live on.
    const failure = reasonFailure('error', 'The handler threw something that cannot be read.')
    return { kind: 'thrown', failure, poison: false }
  }
}

/** What the handler returned, or thrown again what it threw: the same failure comes of it as without a thread. */
export function unpackAnswer(answer: ThreadAnswer): unknown {
  switch (answer.kind) {
    case 'result':
      return answer.result
    case 'instruction': {
      const { kind, delayMs, until, reason } = answer.instruction
      return instruction(kind, delayMs, reason, until)
    }
    case 'thrown':
      throw thrownAgain(answer.failure, answer.poison)
  }
}

function thrownAgain({ message, name, code, stack, causes = [] }: Failure, poison: boolean): unknown {
  // Only an error has a name: anything else was thrown as it is.
  if (name === undefined && stack === undefined) return message
  const cause = causes.reduceRight<Error | undefined>(
    (inner, outer) => named(new Error(outer.message, inner && { cause: inner }), { name: outer.name }),
    undefined,
  )
  const error = poison
    ? new SkepError('PAYLOAD_UNREADABLE', message, { cause, facts: { poison: true } })
    : new Error(message, { cause })
  return named(error, { name: name ?? 'Error', code, stack })
}

function named<E extends Error>(error: E, own: { readonly [key: string]: string | undefined }): E {
  for (const [key, value] of Object.entries(own)) {
    Object.defineProperty(error, key, { value, configurable: true, writable: true })
  }
  return error
}

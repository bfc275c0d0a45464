import { type Duration, type EnqueueOptions, type JobEvent, type Queue, SkepError } from '../../index.ts'
import type { Wire } from '../../operations/schema/serialize.ts'
import type { InputOf, OperationName, OutputOf } from '../../operations/table.ts'

/** What commands work on: the operations, run in this process on a store or called on a server. */
export interface Backend {
  readonly space: string
  /** Rejects if the store or the server is not available. */
  ready(): Promise<void>
  call<Name extends OperationName>(name: Name, input: InputOf<Name>): Promise<OutputOf<Name>>
  /** The events of a job until it has ended. */
  watch(id: string, options?: { readonly signal?: AbortSignal }): AsyncGenerator<Wire<JobEvent>, void, void>
  /** Enqueues a job of a queue as the config declares it: with its schema, its defaults and its unique key. */
  enqueue(queue: Queue<unknown>, payload: unknown, options: EnqueueOptions): Promise<Sent>
  /** Works on bulk actions in this process, where a process is needed for it. */
  serveBulk(): { stop(): Promise<void> }
}

/** A job that was enqueued. */
export interface Sent {
  readonly id: string
  readonly duplicate: boolean
  result(options: { readonly timeout?: Duration }): Promise<unknown>
}

/** The output of an operation; null if what it names does not exist. */
export async function callOrNull<Name extends OperationName>(
  backend: Backend,
  name: Name,
  input: InputOf<Name>,
): Promise<OutputOf<Name> | null> {
  try {
    return await backend.call(name, input)
  } catch (error) {
    if (error instanceof SkepError && MISSING.has(error.code)) return null
    throw error
  }
}

const MISSING: ReadonlySet<string> = new Set(['NOT_FOUND', 'JOB_NOT_FOUND', 'SCHEDULE_NOT_FOUND'])

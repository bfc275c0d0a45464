import { workerData } from 'node:worker_threads'
import { THREAD_KEY, type ThreadData } from './protocol.ts'

/** What the worker that started this thread gave it; null if this is not such a thread. */
export function threadData(): ThreadData | null {
  return (workerData as Readonly<Record<string, ThreadData>> | null)?.[THREAD_KEY] ?? null
}

/**
 * True in a thread that a worker started for a handler. For programs in one file, which such a thread runs from the
 * beginning: start nothing there.
 */
export function inThread(): boolean {
  return threadData() !== null
}

import type { RelayedJob, Runtime } from '../../index.ts'
import type { Caller } from '../../operations/operation.ts'
import type { Delivery } from './in-flight-job.ts'
import type { ConnectOptions, Receiver } from './receiver.ts'

export interface PollOptions {
  readonly caller: Caller
  readonly name?: string
  readonly queues: readonly string[]
  readonly keys?: string
  /** At most so many jobs. */
  readonly max: number
  /** How long to wait for the first of them. */
  readonly waitMs: number
  /** How long they are leased, until they are settled or extended. */
  readonly leaseMs: number
  /** Whoever asked is gone: take nothing. */
  readonly signal?: AbortSignal
}

/** Those who serve receivers. */
export interface PollServer {
  connect(options: ConnectOptions): Promise<Receiver>
  /** Gives it nothing more; what it has it keeps until that is settled. */
  retire(receiver: Receiver): void
}

/** A receiver that lives until the first jobs have come, or the time is up. */
export async function waitForJobs(
  server: PollServer,
  options: PollOptions,
  runtime: Runtime,
): Promise<readonly RelayedJob<Delivery>[]> {
  const { caller, name, queues, keys, max, waitMs, leaseMs, signal } = options
  let answer: (jobs: readonly RelayedJob<Delivery>[]) => void = () => {}
  const jobs = new Promise<readonly RelayedJob<Delivery>[]>((resolve) => {
    answer = resolve
  })
  const receiver = await server.connect({
    caller,
    ...(name === undefined ? {} : { name }),
    queues,
    ...(keys === undefined ? {} : { keys }),
    credits: max,
    protocol: 'poll',
    send: (given) => {
      const until = runtime.mono() + leaseMs
      for (const { holder } of given) if (holder) holder.until = until
      server.retire(receiver)
      answer(given)
      return false
    },
    stop: () => {},
    end: () => answer([]),
  })
  const giveUp = (): void => {
    // What has been sent is on its way.
    if (receiver.isRetired) return
    receiver.close('done')
    answer([])
  }
  const stopTimer = runtime.timer(waitMs, giveUp)
  signal?.addEventListener('abort', giveUp, { once: true })
  if (signal?.aborted) giveUp()
  try {
    return await jobs
  } finally {
    stopTimer()
    signal?.removeEventListener('abort', giveUp)
  }
}

import type { Duration, Logger, Policy, Runtime, Skep, WorkerOptions } from '../../index.ts'

/** What a server lets its receivers have. */
export interface ReceiverOptions {
  /** Receivers at once, in all and of one caller; a poll that waits is one. @default 1000 and 200 */
  readonly receivers?: number
  readonly receiversPerCaller?: number
  /** Jobs that one receiver may hold. @default 10000 */
  readonly credits?: number
  /** Bytes of jobs that one receiver may hold, and all together. @default 16 MiB and 256 MiB */
  readonly receiverBytes?: number
  readonly totalBytes?: number
  /** A receiver whose connection takes nothing for so long is ended. @default '30s' */
  readonly slowAfter?: Duration
  /** An ack on which the store has not had its word by then is answered with `unknown`. @default '10s' */
  readonly ackGrace?: Duration
  /** How often patterns of queues are compared with the queues that there are. @default '2s' */
  readonly lookForQueues?: Duration
  /** Queues as they are declared in code, where no worker tells the store of them: jobs are judged by their policies. */
  readonly queues?: readonly { readonly name: string; readonly policy: Policy }[]
  /** Of the worker behind the receivers. */
  readonly worker?: Pick<WorkerOptions, 'lease' | 'drain' | 'grace' | 'poll' | 'rescueGrace' | 'prune'>
}

export interface HubOptions extends ReceiverOptions {
  /** The Skep of a space. The hub does not close it. */
  readonly skepOf: (space: string) => Skep | Promise<Skep>
  /** How many jobs the receivers of a space may hold. @default any number */
  readonly inFlight?: (space: string) => number
  /** Throws if a space that has so many receivers may have no more. */
  readonly assertReceiver?: (space: string, connected: number) => void
  readonly runtime: Runtime
  readonly logger: Logger
}

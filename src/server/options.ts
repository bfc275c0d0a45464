import { type Logger, type Runtime, SkepError } from '../index.ts'
import type { Guard } from './access/guard-contract.ts'
import type { AccessOptions } from './access/options.ts'
import type { ReceiverList } from './services.ts'

/** What a server can be told. Everything has a safe default. */
export interface ServerOptions extends AccessOptions {
  /** Decides about access in the place of all that the other options say. */
  readonly guard?: Guard
  /** A word such as "production", shown beside the name in the dashboard. */
  readonly environment?: string
  /** Where traces are, such as `https://tempo.example/trace/{trace}`. */
  readonly traceUrl?: string
  /** Where the jobs are, in words and without a password, for the page about the system. */
  readonly place?: string
  /** The largest body of a request, up to 4 MiB. @default 262144 */
  readonly bodyBytes?: number
  /** @default warnings and errors on the console */
  readonly logger?: Logger
  /** Time and chance, for tests. @default the system's */
  readonly runtime?: Runtime
  readonly receivers?: ReceiverList
}

/** The largest body that a server can be told to take. */
export const MOST_BODY_BYTES = 4_194_304

export interface ResolvedServerOptions {
  readonly environment: string | null
  readonly traceUrl: string | null
  readonly place: string | null
  readonly bodyBytes: number
}

export function resolveServerOptions(options: ServerOptions): ResolvedServerOptions {
  const { environment = null, traceUrl = null, place = null, bodyBytes = 262_144 } = options
  if (!Number.isInteger(bodyBytes) || bodyBytes < 1 || bodyBytes > MOST_BODY_BYTES) {
    throw new SkepError('OPTION_INVALID', `bodyBytes must be a whole number from 1 to ${MOST_BODY_BYTES}.`)
  }
  return { environment, traceUrl, place, bodyBytes }
}

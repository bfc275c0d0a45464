import { join } from 'node:path'
import { type Logger, type Runtime, SkepError } from '../index.ts'
import type { Guard } from '../operations/authorize/guard.ts'
import type { AccessOptions } from './access/options.ts'
import type { AlertHook } from './alerts/options.ts'
import { packageFolder } from './package-folder.ts'
import type { ReceiverOptions } from './receivers/options.ts'

/** What a server can be told. Everything has a safe default. */
export interface ServerOptions extends AccessOptions {
  /** Decides about access in the place of all that the other options say. */
  readonly guard?: Guard
  /** What receivers may have. */
  readonly receivers?: ReceiverOptions
  /** A word such as "production", shown beside the name in the dashboard. */
  readonly environment?: string
  /** Where traces are, such as `https://tempo.example/trace/{trace}`. */
  readonly traceUrl?: string
  /** Where the jobs are, in words and without a password, for the page about the system. */
  readonly place?: string
  /** The folder of the built dashboard; false: none is served. @default the one of the package */
  readonly dashboard?: string | false
  /** The largest body of a request, up to 4 MiB. @default 262144 */
  readonly bodyBytes?: number
  /** Streams of events at once. @default 1000 */
  readonly streams?: number
  /** Where to tell of what needs attention. @default nowhere */
  readonly alerts?: readonly AlertHook[]
  /** Works bulk actions off in this process, as workers do. @default true */
  readonly bulk?: boolean
  /** @default warnings and errors on the console */
  readonly logger?: Logger
  /** Time and chance, for tests. @default the system's */
  readonly runtime?: Runtime
}

/** The largest body that a server can be told to take. */
export const MOST_BODY_BYTES = 4_194_304

export interface ResolvedServerOptions {
  readonly environment: string | null
  readonly traceUrl: string | null
  readonly place: string | null
  /** Null: none. */
  readonly dashboard: string | null
  readonly bodyBytes: number
  readonly streams: number
  readonly bulk: boolean
}

export function resolveServerOptions(options: ServerOptions): ResolvedServerOptions {
  const {
    environment = null,
    traceUrl = null,
    place = null,
    bodyBytes = 262_144,
    streams = 1_000,
    bulk = true,
  } = options
  assertBetween('bodyBytes', bodyBytes, 1, MOST_BODY_BYTES)
  assertBetween('streams', streams, 0, 100_000)
  if (traceUrl !== null && !/^https?:\/\//.test(traceUrl)) {
    throw new SkepError('OPTION_INVALID', 'traceUrl must begin with https:// or http://.')
  }
  return { environment, traceUrl, place, dashboard: dashboardOf(options.dashboard), bodyBytes, streams, bulk }
}

function dashboardOf(dashboard: string | false | undefined): string | null {
  if (dashboard === false) return null
  // Where the package is not to be found the folder is not either, and the page says that it was not built.
  return dashboard ?? join(packageFolder() ?? '.', 'dist/dashboard')
}

export function assertBetween(name: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return
  throw new SkepError('OPTION_INVALID', `${name} must be a whole number from ${least} to ${most}.`)
}

/** What can be said about who may use a server. Without any of it, a server answers to its own machine alone. */
import { type Duration, SkepError, toMs } from '../../index.ts'
import type { RedactOptions } from '../../operations/redaction/redact.ts'
import type { Scope } from '../../operations/schema/wire-types.ts'
import type { Quotas } from '../quotas/quotas.ts'
import type { Rate } from '../quotas/rates.ts'
import type { GivenToken } from '../tokens/static-tokens.ts'
import type { AuditOptions } from './audit.ts'

/** Who asks, as your own `auth` says. */
export interface Grant {
  /** How it is called in the audit. */
  readonly name: string
  readonly scopes: readonly Scope[]
  /** @default the space of the server's Skep */
  readonly space?: string
  /** Spaces that it may name with the header `skep-space`; `'*'`: every one. @default only its own */
  readonly spaces?: readonly string[] | '*'
  /** Patterns of the queues that it may see and touch. @default ['*'] */
  readonly queues?: readonly string[]
  /** Whether payloads, results and logs are shown to it. @default only if it is an admin */
  readonly payloads?: boolean
}

export interface AccessOptions {
  /**
   * Your own login: looks at a request and says who it is; null: nobody. A `Response` is sent as it is, to send people to where they
   * log in. It is asked when the request brings no token of this server.
   */
  readonly auth?: (request: Request) => Grant | Response | null | Promise<Grant | Response | null>
  /** Tokens that are good while this server runs, besides those in the store and `SKEP_TOKEN` of the environment. */
  readonly tokens?: readonly GivenToken[]
  /** Names by which the server is asked for, such as `jobs.example.com` or `*.example.com`; `'*'`: any. @default its own */
  readonly hosts?: readonly string[] | '*'
  /**
   * Whether who asks from this machine without a credential may do everything. @default when the server listens on loopback, or is
   * mounted in a program in development, and there is neither `auth` nor any token
   */
  readonly open?: boolean
  /** Lets everybody do everything, from everywhere. Only where something else keeps strangers away. @default false */
  readonly insecure?: boolean
  /**
   * Takes tokens from other machines over plain http, where everybody on the way can read them. Only where something else encrypts
   * the way, such as a service mesh, or where the port is published on this machine alone. @default false: others need https
   */
  readonly plainHttp?: boolean
  /** Refuses every change, whoever asks. @default false */
  readonly readOnly?: boolean
  /**
   * How many proxies of yours are in front, so that their `x-forwarded-for` and `x-forwarded-proto` count. @default 0: they are ignored
   */
  readonly proxies?: number
  /** How long a login in the browser is good for. @default '12h' */
  readonly session?: Duration
  /** How often a caller may ask; null: as often as it likes. */
  readonly rates?: {
    /** What people and their pages ask. @default 100 a second, 500 at once */
    readonly views?: Rate | null
    /** Calls that enqueue or work. @default null */
    readonly programs?: Rate | null
    /** Wrong credentials of one address. @default 1 a second, 20 at once */
    readonly failures?: Rate
  }
  /** What each space may use up. */
  readonly quotas?: Quotas
  /** What is hidden besides the usual; false: nothing is. */
  readonly redact?: RedactOptions | false
  readonly audit?: AuditOptions
  /** For how long browsers must use https for this host, once they have. @default they are not told */
  readonly hsts?: Duration
}

export interface ResolvedAccess {
  readonly auth: AccessOptions['auth'] | null
  readonly hosts: readonly string[] | '*'
  readonly open: boolean | null
  readonly insecure: boolean
  readonly plainHttp: boolean
  readonly readOnly: boolean
  readonly proxies: number
  readonly sessionMs: number
  readonly views: Rate | null
  readonly programs: Rate | null
  readonly failures: Rate
  readonly hstsSeconds: number | null
}

const VIEWS: Rate = { perSecond: 100, burst: 500 }
const FAILURES: Rate = { perSecond: 1, burst: 20 }

export function resolveAccess(options: AccessOptions): ResolvedAccess {
  const { auth, hosts = [], proxies = 0, rates = {}, hsts } = options
  if (auth !== undefined && typeof auth !== 'function') throw invalid('auth must be a function.')
  if (hosts !== '*' && !hosts.every((host) => /^(?:\*\.)?[\w.:[\]-]+$/.test(host))) {
    throw invalid(
      `hosts takes names such as "jobs.example.com" or "*.example.com", without a scheme or a path.`,
    )
  }
  if (!Number.isInteger(proxies) || proxies < 0 || proxies > 10) throw invalid('proxies must be 0 to 10.')
  const sessionMs = toMs('session', options.session ?? '12h')
  if (sessionMs < 60_000) throw invalid('session must be at least a minute.')
  return {
    auth: auth ?? null,
    hosts,
    open: options.open ?? null,
    insecure: options.insecure === true,
    plainHttp: options.plainHttp === true,
    readOnly: options.readOnly === true,
    proxies,
    sessionMs,
    views: checkRate(rates.views === undefined ? VIEWS : rates.views),
    programs: checkRate(rates.programs ?? null),
    failures: checkRate(rates.failures ?? FAILURES) as Rate,
    hstsSeconds: hsts === undefined ? null : Math.round(toMs('hsts', hsts) / 1_000),
  }
}

function checkRate(rate: Rate | null): Rate | null {
  if (rate === null || (rate.perSecond > 0 && rate.burst >= 1)) return rate
  throw invalid('A rate needs perSecond above 0 and a burst of at least 1.')
}

function invalid(message: string): SkepError {
  return new SkepError('OPTION_INVALID', message)
}

import { type Duration, toMs } from '../../core/duration.ts'
import { SkepError } from '../../core/errors.ts'
import { assertOptions, optionKeys } from '../../core/options.ts'
import { NOTICE_HELD_MS } from '../../notifier/notices.ts'
import { type Runtime, systemRuntime } from '../../runtime/runtime.ts'
import type { NatsConnectionLike } from './connection.ts'

/** How to reach the servers: exactly one of the two. */
export interface NatsServers {
  /**
   * `nats://user:password@host:port` or `nats://token@host:port`, one or several of a cluster; `tls://` for
   * TLS. The notifier opens its own connection, with the package `@nats-io/transport-node`.
   */
  readonly servers?: string | readonly string[]
  /** An existing connection. Closing the notifier leaves it open. */
  readonly connection?: NatsConnectionLike
}

export interface NatsNotifierOptions extends NatsServers {
  /** The prefix of all subjects and streams. Processes with the same one exchange hints. @default 'skep' */
  readonly prefix?: string
  /** The number of cluster nodes that store each notice: 1, 3 or 5. @default 1 */
  readonly replicas?: number
  /** Where the servers store notices. @default 'file' */
  readonly storage?: 'file' | 'memory'
  /** The TTL of an unprocessed notice; afterwards the sweep of the store finds its jobs. @default '7d' */
  readonly maxAge?: Duration
  /** The JetStream domain, if the servers are leaf nodes of one. */
  readonly domain?: string
  /** Passed to the client's `connect` unchanged: `authenticator`, `tls`, `user`, `pass`, `token`, … */
  readonly client?: Readonly<Record<string, unknown>>
  /**
   * A notice that a worker neither answers nor reports as in progress is redelivered after this time.
   * @default '30s'
   */
  readonly held?: Duration
  readonly runtime?: Runtime
}

const KEYS = optionKeys<NatsNotifierOptions>('natsNotifier()', {
  servers: true,
  connection: true,
  prefix: true,
  replicas: true,
  storage: true,
  maxAge: true,
  domain: true,
  client: true,
  held: true,
  runtime: true,
})

export interface ResolvedOptions {
  readonly access: Access
  readonly connection: NatsConnectionLike | null
  readonly prefix: string
  readonly replicas: number
  readonly storage: 'file' | 'memory'
  readonly maxAgeMs: number
  readonly heldMs: number
  readonly domain: string | null
  readonly client: Readonly<Record<string, unknown>>
  readonly inboxPrefix: string
  readonly runtime: Runtime
}

export function resolveOptions(options: NatsNotifierOptions): ResolvedOptions {
  assertOptions(KEYS, options ?? null)
  const {
    servers,
    connection,
    prefix = 'skep',
    replicas = 1,
    storage = 'file',
    domain,
    client = {},
  } = options
  if ((servers === undefined) === (connection === undefined)) {
    throw new SkepError('OPTION_INVALID', 'The NATS notifier needs either servers or connection, not both.')
  }
  const list = servers === undefined ? [] : [servers].flat()
  if (
    servers !== undefined &&
    (list.length === 0 || !list.every((url) => typeof url === 'string' && url !== ''))
  ) {
    throw new SkepError(
      'OPTION_INVALID',
      'servers must be one or more URLs, such as "nats://127.0.0.1:4222".',
    )
  }
  // It is part of subjects and of stream names, which allow fewer characters.
  if (typeof prefix !== 'string' || !/^[A-Za-z0-9_-]{1,64}$/.test(prefix)) {
    throw new SkepError('OPTION_INVALID', 'The prefix must have 1 to 64 letters, digits, "_" or "-".')
  }
  if (!(Number.isInteger(replicas) && replicas >= 1 && replicas <= 5)) {
    throw new SkepError('OPTION_INVALID', `replicas is ${replicas}; use 1, 3 or 5.`)
  }
  if (storage !== 'file' && storage !== 'memory') {
    throw new SkepError('OPTION_INVALID', 'storage must be "file" or "memory".')
  }
  if (domain !== undefined && !/^[A-Za-z0-9_-]+$/.test(domain)) {
    throw new SkepError('OPTION_INVALID', 'A domain must consist of letters, digits, "_" or "-".')
  }
  const { inboxPrefix } = client
  return Object.freeze({
    access: readServers(list),
    connection: connection ?? null,
    prefix,
    replicas,
    storage,
    maxAgeMs: atLeast('maxAge', toMs('maxAge', options.maxAge ?? '7d'), 1_000),
    heldMs: atLeast('held', toMs('held', options.held ?? NOTICE_HELD_MS), 100),
    domain: domain ?? null,
    client,
    inboxPrefix: typeof inboxPrefix === 'string' ? inboxPrefix : '_INBOX',
    runtime: options.runtime ?? systemRuntime(),
  })
}

function atLeast(what: string, ms: number, least: number): number {
  if (ms >= least) return ms
  throw new SkepError('OPTION_INVALID', `${what} is ${ms} ms; use ${least} ms or more.`)
}

export interface Access {
  readonly servers: readonly string[]
  readonly user?: string
  readonly pass?: string
  readonly token?: string
  readonly tls?: object
}

/** Moves user and password, or the token, from the URLs to the options: the client ignores them in URLs. */
export function readServers(urls: readonly string[]): Access {
  let access: Omit<Access, 'servers'> = {}
  const servers = urls.map((given) => {
    const text = given.includes('://') ? given : `nats://${given}`
    const url = URL.canParse(text) ? new URL(text) : null
    if (url === null || !/^(nats|tls):$/.test(url.protocol) || !/^\/?$/.test(url.pathname)) {
      throw new SkepError(
        'OPTION_INVALID',
        'A NATS server is not a valid URL; use one such as "nats://127.0.0.1:4222".',
      )
    }
    const { protocol, username, password, host } = url
    if (username !== '') {
      const user = decodeURIComponent(username)
      access = password === '' ? { token: user } : { user, pass: decodeURIComponent(password) }
    }
    if (protocol === 'tls:') access = { ...access, tls: {} }
    return host
  })
  return { servers, ...access }
}

/** The names of all options of a server. Whatever is not among them is refused, with what was probably meant. */
import { assertFlags, assertOptions, type OptionKeys, optionKeys, SkepError } from '../index.ts'
import type { RedactOptions } from '../operations/redaction/redact.ts'
import type { AuditOptions } from './access/audit.ts'
import type { AccessOptions, Grant } from './access/options.ts'
import type { AlertHook } from './alerts/options.ts'
import type { HandlerOptions } from './handler.ts'
import type { ServerOptions } from './options.ts'
import type { Rate } from './quotas/rates.ts'
import type { ReceiverOptions } from './receivers/options.ts'
import type { ListenOptions, NodeServerOptions } from './skep-server.ts'
import type { GivenToken } from './tokens/static-tokens.ts'

const SERVER = {
  guard: true,
  receivers: true,
  environment: true,
  traceUrl: true,
  place: true,
  dashboard: true,
  bodyBytes: true,
  streams: true,
  alerts: true,
  bulk: true,
  logger: true,
  runtime: true,
  auth: true,
  tokens: true,
  hosts: true,
  open: true,
  insecure: true,
  plainHttp: true,
  readOnly: true,
  proxies: true,
  session: true,
  rates: true,
  quotas: true,
  redact: true,
  audit: true,
  hsts: true,
} as const satisfies Record<keyof ServerOptions, true>

export const HANDLER_KEYS: OptionKeys = optionKeys<HandlerOptions>('skepHandler()', {
  ...SERVER,
  basePath: true,
})
export const NODE_SERVER_KEYS: OptionKeys = optionKeys<NodeServerOptions>('createServer()', {
  ...SERVER,
  connections: true,
  headerBytes: true,
  headersTimeout: true,
  requestTimeout: true,
  idleTimeout: true,
  streamsPerConnection: true,
  closeTimeout: true,
  tls: true,
  grpc: true,
})
export const LISTEN_KEYS: OptionKeys = optionKeys<ListenOptions>('listen()', {
  host: true,
  port: true,
  tries: true,
})

const RATES = optionKeys<NonNullable<AccessOptions['rates']>>('rates', {
  views: true,
  programs: true,
  failures: true,
})
const RATE = optionKeys<Rate>('a rate of the server', { perSecond: true, burst: true })
const REDACT = optionKeys<RedactOptions>('redact', { keys: true, show: true, value: true })
const AUDIT = optionKeys<AuditOptions>('audit', { keep: true, programs: true, onAudit: true })
const TOKEN = optionKeys<GivenToken>('a token', {
  token: true,
  hash: true,
  name: true,
  scopes: true,
  space: true,
  queues: true,
  payloads: true,
  expires: true,
})
const GRANT = optionKeys<Grant>('a grant of auth', {
  name: true,
  scopes: true,
  space: true,
  spaces: true,
  queues: true,
  payloads: true,
})
const RECEIVER_WORKER = optionKeys<NonNullable<ReceiverOptions['worker']>>('receivers.worker', {
  lease: true,
  drain: true,
  grace: true,
  poll: true,
  rescueGrace: true,
  prune: true,
})
const RECEIVERS = optionKeys<ReceiverOptions>('receivers', {
  receivers: true,
  receiversPerCaller: true,
  credits: true,
  receiverBytes: true,
  totalBytes: true,
  slowAfter: true,
  ackGrace: true,
  lookForQueues: true,
  queues: true,
  worker: true,
})
const HOOK = optionKeys<AlertHook>('a hook of alerts', {
  url: true,
  secret: true,
  kinds: true,
  level: true,
  after: true,
  every: true,
  spaces: true,
  allow: true,
  ca: true,
})

/** Refuses unknown options of a server, and of what is inside of them. */
export function assertServerOptions(keys: OptionKeys, options: ServerOptions): void {
  assertOptions(keys, options)
  const { rates, redact, audit, tokens, receivers, alerts } = options
  const { bulk, open, insecure, plainHttp, readOnly } = options
  const { grpc } = options as NodeServerOptions
  assertFlags(keys.place, { bulk, open, insecure, plainHttp, readOnly, grpc })
  assertOptions(RATES, rates)
  for (const rate of Object.values(rates ?? {})) if (rate !== null) assertOptions(RATE, rate)
  if (redact !== false) assertOptions(REDACT, redact)
  assertOptions(AUDIT, audit)
  for (const token of tokens ?? []) assertOptions(TOKEN, token)
  assertOptions(RECEIVERS, receivers)
  assertOptions(RECEIVER_WORKER, receivers?.worker)
  for (const hook of alerts ?? []) assertOptions(HOOK, hook)
}

/**
 * Refuses what `auth` answered if any of it is unknown or undefined. A restriction that is misspelt, or that was looked up in vain,
 * would otherwise be none: without `queues` a grant is for all of them.
 */
export function assertGrant(grant: Grant): void {
  assertOptions(GRANT, grant)
  const missing = Object.entries(grant).find(([, value]) => value === undefined)
  if (missing === undefined) return
  throw new SkepError(
    'OPTION_INVALID',
    `A grant of auth has "${missing[0]}" and it is undefined. Leave it out if the default is meant.`,
  )
}

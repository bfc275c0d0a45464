/** `skep/server`: the server, and the handler to mount in yours. */

export type { Guard } from './operations/authorize/guard.ts'
export type { RedactOptions } from './operations/redaction/redact.ts'
export { revived } from './operations/schema/parse-dates.ts'
export * from './operations/schema/wire-types.ts'
export type { AuditOptions } from './server/access/audit.ts'
export type { AccessOptions, Grant } from './server/access/options.ts'
export { toFastify } from './server/adapters/fastify.ts'
export { toHono } from './server/adapters/hono.ts'
export { toKoa } from './server/adapters/koa.ts'
export { toNext } from './server/adapters/next.ts'
export { toNode } from './server/adapters/node.ts'
export {
  type AlertEvent,
  type AlertMessage,
  type ReceivedAlert,
  verifyAlert,
} from './server/alerts/message.ts'
export type { AlertHook } from './server/alerts/options.ts'
export { ServerClient, type ServerClientOptions } from './server/client.ts'
export { type HandlerOptions, type Mounted, type SkepHandler, skepHandler } from './server/handler.ts'
export { protoText } from './server/http/documents.ts'
export type { NodeHandler } from './server/http/node.ts'
export { type ConnectionOptions, DEFAULT_PORT } from './server/node-options.ts'
export { openApiOf } from './server/openapi.ts'
export type { ServerOptions } from './server/options.ts'
export type { Quota, Quotas } from './server/quotas/quotas.ts'
export type { Rate } from './server/quotas/rates.ts'
export type { ReceiverOptions } from './server/receivers/options.ts'
export {
  createServer,
  type Listening,
  type ListenOptions,
  type NodeServerOptions,
  SkepServer,
} from './server/skep-server.ts'
export type { GivenToken } from './server/tokens/static-tokens.ts'
export type { TokenFields } from './server/tokens/token-fields.ts'
export { accessTokens, Tokens } from './server/tokens/tokens.ts'

/** `skep/server`: the server, and the handler to mount in yours. */
export type { AuditOptions } from './server/access/audit.ts'
export type { GivenToken } from './server/access/given-tokens.ts'
export type { Guard } from './server/access/guard-contract.ts'
export type { AccessOptions, Grant } from './server/access/options.ts'
export type { Quota, Quotas } from './server/access/quotas.ts'
export type { Rate } from './server/access/rates.ts'
export type { RedactOptions } from './server/access/redact.ts'
export type { TokenFields } from './server/access/token-fields.ts'
export { accessTokens, Tokens } from './server/access/tokens.ts'
export {
  type AlertEvent,
  type AlertMessage,
  type ReceivedAlert,
  verifyAlert,
} from './server/alerts/message.ts'
export type { AlertHook } from './server/alerts/options.ts'
export * from './server/api.ts'
export { ServerClient, type ServerClientOptions } from './server/client.ts'
export { type HandlerOptions, type Mounted, type SkepHandler, skepHandler } from './server/handler.ts'
export { protoText } from './server/http/documents.ts'
export type { NodeHandler } from './server/http/node.ts'
export { toFastify } from './server/mounts/fastify.ts'
export { toHono } from './server/mounts/hono.ts'
export { toKoa } from './server/mounts/koa.ts'
export { toNext } from './server/mounts/next.ts'
export { toNode } from './server/mounts/node.ts'
export { type ConnectionOptions, DEFAULT_PORT } from './server/node-options.ts'
export {
  createServer,
  type Listening,
  type ListenOptions,
  type NodeServerOptions,
  SkepServer,
} from './server/node-server.ts'
export { openApiOf } from './server/openapi.ts'
export type { ServerOptions } from './server/options.ts'
export type { ReceiverOptions } from './server/receivers/options.ts'
export { revived } from './server/revive.ts'

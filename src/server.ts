/** `skep/server`: the server, and the handler to mount in yours. */
export type { Guard } from './server/access/guard-contract.ts'
export * from './server/api.ts'
export { createServer, type ListenOptions, SkepServer } from './server/node-server.ts'
export type { ServerOptions } from './server/options.ts'

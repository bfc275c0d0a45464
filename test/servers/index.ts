export { chromiumProgram } from './chromium.ts'
export { type FreshDatabase, freshDatabase } from './fresh-database.ts'
export { missingProgram, reasonToSkip } from './missing.ts'
export { type NatsNode, type NatsOptions, type NatsResult, type NatsServer, startNats } from './nats.ts'
export { type Nginx, type NginxOptions, type NginxResult, startNginx } from './nginx.ts'
export { type PgBouncer, type PgBouncerResult, startPgBouncer } from './pgbouncer.ts'
export { type PostgresServer, postgresUrlVariable, startPostgres } from './postgres.ts'
export {
  type RedisOptions,
  type RedisResult,
  type RedisServer,
  redisUrlVariable,
  startRedis,
} from './redis.ts'
export {
  CLUSTER_NODE_TIMEOUT_MS,
  DOWN_AFTER_MS,
  MASTER_NAME,
  type RedisCluster,
  type SentinelGroup,
  type SlotMove,
  startCluster,
  startSentinels,
} from './redis-groups.ts'

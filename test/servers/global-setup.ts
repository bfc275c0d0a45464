// Runs once before all test files: one PostgreSQL and one Redis for the whole run. The test processes inherit their addresses.

import { installMissing } from './install-missing.ts'
import { postgresUrlVariable, startPostgres } from './postgres.ts'
import { redisUrlVariable, startRedis } from './redis.ts'

export default async function setup(): Promise<() => Promise<void>> {
  installMissing()
  const [postgres, { redis, reason }] = await Promise.all([
    startPostgres(),
    startRedis({ appendfsync: 'everysec' }),
  ])
  if (!redis) throw new Error(`There is no Redis for the tests: ${reason}`)
  process.env[postgresUrlVariable] = postgres.url
  process.env[redisUrlVariable] = redis.url
  return async () => {
    delete process.env[postgresUrlVariable]
    delete process.env[redisUrlVariable]
    await Promise.all([postgres.stop(), redis.stop()])
  }
}

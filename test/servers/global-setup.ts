// Runs once before all test files: one PostgreSQL for the whole run. The test processes inherit its address.

import { postgresUrlVariable, startPostgres } from './postgres.ts'

export default async function setup(): Promise<() => Promise<void>> {
  const server = await startPostgres()
  process.env[postgresUrlVariable] = server.url
  return async () => {
    delete process.env[postgresUrlVariable]
    await server.stop()
  }
}

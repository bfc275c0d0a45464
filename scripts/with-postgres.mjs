// node scripts/with-postgres.mjs -- <command> [arguments]
// Runs a command with a temporary PostgreSQL, whose address is in SKEP_TEST_POSTGRES_URL, and stops it afterwards.

import { createJiti } from 'jiti'
import { run } from './run.mjs'

const command = process.argv.slice(process.argv[2] === '--' ? 3 : 2)
if (command[0] === undefined) {
  console.error('Usage: node scripts/with-postgres.mjs -- <command> [arguments]')
  process.exit(2)
}

/** @type {typeof import('../test/servers/postgres.ts')} */
const { postgresUrlVariable, startPostgres } = await createJiti(import.meta.url).import(
  '../test/servers/postgres.ts',
)

// The terminal sends Ctrl-C to the command as well; here we only have to live on until it has ended.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {})

const server = await startPostgres()
try {
  const env = { ...process.env, [postgresUrlVariable]: server.url }
  process.exitCode = await run(command[0], command.slice(1), { cwd: process.cwd(), env })
} finally {
  await server.stop()
}

// node scripts/with-postgres.mjs -- <command> [arguments]
// Runs a command with a temporary PostgreSQL, whose address is in SKEP_TEST_POSTGRES_URL, and stops it afterwards.

import { spawn } from 'node:child_process'
import { createJiti } from 'jiti'
import { forwardSignals } from './forward-signals.mjs'
import { exitCode } from './run.mjs'

const command = process.argv.slice(process.argv[2] === '--' ? 3 : 2)
if (command[0] === undefined) {
  console.error('Usage: node scripts/with-postgres.mjs -- <command> [arguments]')
  process.exit(2)
}

/** @type {typeof import('../test/servers/postgres.ts')} */
const { postgresUrlVariable, startPostgres } = await createJiti(import.meta.url).import(
  '../test/servers/postgres.ts',
)

const server = await startPostgres()
try {
  const env = { ...process.env, [postgresUrlVariable]: server.url }
  const child = spawn(command[0], command.slice(1), { env, stdio: 'inherit' })
  forwardSignals(child)
  process.exitCode = await exitCode(child)
} finally {
  await server.stop()
}
process.exit()

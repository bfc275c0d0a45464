// PgBouncer, by default in transaction mode: what many hosted databases put in front of PostgreSQL. LISTEN, session advisory
// locks and session settings do not survive it.

import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { installPackage } from './apt.ts'
import { pingPostgres } from './postgres.ts'
import { freePort, serverFolder, serverIdentity, startServer } from './server.ts'

export interface PgBouncer {
  /** The address of the same database through the pooler. */
  urlFor(databaseUrl: string): string
  stop(): Promise<void>
}

export interface PgBouncerOptions {
  /** The startup parameters that it ignores instead of refusing the login, with commas between them. */
  readonly ignored?: string
  readonly mode?: 'transaction' | 'session'
}

export type PgBouncerResult =
  | { readonly bouncer: PgBouncer; readonly reason?: undefined }
  | { readonly bouncer?: undefined; readonly reason: string }

/** Starts a pooler in front of the server of this address, or says why there is none: a test skips with it. */
export async function startPgBouncer(
  postgresUrl: string,
  {
    ignored = 'extra_float_digits,statement_timeout,application_name',
    mode = 'transaction',
  }: PgBouncerOptions = {},
): Promise<PgBouncerResult> {
  const binary = ['/usr/sbin/pgbouncer', '/usr/local/bin/pgbouncer', '/opt/homebrew/bin/pgbouncer']
  let command = binary.find((path) => existsSync(path))
  if (command === undefined) {
    const reason = installPackage('pgbouncer')
    if (reason !== undefined) return { reason: `PgBouncer is not installed, and ${reason}` }
    command = binary.find((path) => existsSync(path))
    if (command === undefined) return { reason: 'the package pgbouncer brought no program' }
  }

  const server = new URL(postgresUrl)
  const user = decodeURIComponent(server.username) || 'postgres'
  const password = decodeURIComponent(server.password)
  const identity = serverIdentity()
  const folder = serverFolder('pgbouncer', identity)
  const port = await freePort()
  writeFileSync(join(folder, 'users.txt'), `"${user}" "${password}"\n`)
  writeFileSync(
    join(folder, 'pgbouncer.ini'),
    [
      '[databases]',
      `* = host=${server.hostname} port=${server.port || 5432}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = trust',
      `auth_file = ${join(folder, 'users.txt')}`,
      `admin_users = ${user}`,
      `pool_mode = ${mode}`,
      'max_client_conn = 500',
      'default_pool_size = 20',
      `ignore_startup_parameters = ${ignored}`,
      '',
    ].join('\n'),
  )

  const through = (databaseUrl: string): string => {
    const url = new URL(databaseUrl)
    url.host = `127.0.0.1:${port}`
    return url.href
  }
  const running = await startServer({
    command,
    args: [join(folder, 'pgbouncer.ini')],
    identity,
    folder,
    // At once, without waiting for clients.
    stopSignal: 'SIGTERM',
    ping: () => pingPostgres(through(postgresUrl)),
  })
  return { bouncer: { urlFor: through, stop: running.stop } }
}

// Installs what tests use beside PostgreSQL and Redis, in one go and before the first test: two test files at once would wait for
// each other, and for longer than a test may take.

import { existsSync } from 'node:fs'
import { installPackage } from './apt.ts'
import { chromiumPaths } from './chromium.ts'
import { grpcPackages } from './grpc-tools.ts'
import { natsPaths } from './nats.ts'
import { nginxPaths } from './nginx.ts'

export function installMissing(): void {
  const needed: readonly (readonly [name: string, ...paths: string[]])[] = [
    ['nats-server', ...natsPaths],
    ['nginx-light', ...nginxPaths],
    ['pgbouncer', '/usr/sbin/pgbouncer', '/usr/local/bin/pgbouncer'],
    ...(process.env['SKEP_TEST_CHROMIUM'] ? [] : [['chromium', ...chromiumPaths] as const]),
    ...grpcPackages,
  ]
  const missing = needed
    .filter(([, ...paths]) => !paths.some((path) => existsSync(path)))
    .map(([name]) => name)
  if (missing.length === 0) return
  // Each test that needs one of them tries for itself, and tells why it cannot be had.
  const reason = installPackage(...missing)
  if (reason !== undefined) console.error(`Not everything that tests use is there: ${reason}`)
}

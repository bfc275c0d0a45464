// Installs a server from Debian's packages, without leaving a service running.

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { isRoot } from './server.ts'

const policy = '/usr/sbin/policy-rc.d'
const clusterSettings = '/etc/postgresql-common/createcluster.d'

/** Whether a package that is missing can be installed here: then a test that needs it fails, and is not skipped. */
export function canInstall(): boolean {
  return existsSync('/usr/bin/apt-get') && isRoot()
}

/** Undefined when the packages are installed now, otherwise the reason why not. */
export function installPackage(...names: readonly string[]): string | undefined {
  const name = names.join(' ')
  if (!existsSync('/usr/bin/apt-get')) return 'there is no apt-get on this machine'
  if (!isRoot()) return `installing needs root: sudo apt-get install ${name}`

  // dpkg asks policy-rc.d before it starts a service; 101 says no.
  const ownPolicy = writeIfMissing(policy, '#!/bin/sh\nexit 101\n', 0o755)
  const firstMade = mkdirSync(clusterSettings, { recursive: true })
  const ownSettings = writeIfMissing(
    `${clusterSettings}/skep-tests.conf`,
    'create_main_cluster = false\n',
    0o644,
  )
  try {
    console.error(`Installing ${name} with apt-get, once …`)
    aptGet('update')
    aptGet('install', '--yes', '--no-install-recommends', ...names)
    return undefined
  } catch (error) {
    return `apt-get install ${name} failed: ${error instanceof Error ? error.message : String(error)}`
  } finally {
    if (ownPolicy) rmSync(policy, { force: true })
    if (ownSettings) rmSync(`${clusterSettings}/skep-tests.conf`, { force: true })
    if (firstMade !== undefined) removeIfEmpty(clusterSettings)
  }
}

function aptGet(...args: string[]): void {
  // Two test files may come here at the same time; the second waits for the first.
  execFileSync('apt-get', ['-qq', '-o', 'DPkg::Lock::Timeout=300', ...args], {
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: 300_000,
  })
}

function writeIfMissing(path: string, text: string, mode: number): boolean {
  if (existsSync(path)) return false
  writeFileSync(path, text, { mode })
  return true
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch {
    // Somebody else's settings are in it now.
  }
}

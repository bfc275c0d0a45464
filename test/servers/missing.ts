// What this machine does not have. As root where Debian's packages can be installed a test that needs it fails: there a skip would
// hide that nothing of it was tested, for as long as nobody reads the list of skipped tests.

import { spawnSync } from 'node:child_process'
import { canInstall } from './apt.ts'

/** The reason why a test is skipped. Throws where what is missing could have been installed. */
export function reasonToSkip(reason: string, isInstallable: boolean = canInstall()): string {
  if (isInstallable) throw new Error(`This is missing, although it can be installed here: ${reason}`)
  return reason
}

/** Undefined if this program runs, otherwise the {@link reasonToSkip}. */
export function missingProgram(
  command: string,
  args: readonly string[] = ['--version'],
  isInstallable: boolean = canInstall(),
): string | undefined {
  const { status, error, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  if (status === 0) return undefined
  return reasonToSkip(`${command} does not run: ${error?.message ?? stderr.trim()}`, isInstallable)
}

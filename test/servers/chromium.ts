// A real Chromium for the tests of the dashboard: the one of the machine, or Debian's package.

import { existsSync } from 'node:fs'
import { installPackage } from './apt.ts'

export const chromiumPaths: readonly string[] = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** The program, installed if it is missing; or why there is none. `SKEP_TEST_CHROMIUM` names another. */
export function chromiumProgram():
  | { readonly command: string; readonly reason?: undefined }
  | { readonly command?: undefined; readonly reason: string } {
  const named = process.env['SKEP_TEST_CHROMIUM']
  if (named) return { command: named }
  const there = chromiumPaths.find((path) => existsSync(path))
  if (there !== undefined) return { command: there }
  const reason = installPackage('chromium')
  if (reason !== undefined) return { reason: `Chromium is not installed, and ${reason}` }
  const command = chromiumPaths.find((path) => existsSync(path))
  return command === undefined ? { reason: 'the package chromium brought no program' } : { command }
}

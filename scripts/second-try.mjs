// Which test files may be tried once more.
//
// Tests with real processes, servers and browsers wait for things that a busy machine may delay beyond any limit that is
// still a limit. A few of them that failed beside three others are run once more, one after the other with nothing
// beside them. Both runs are printed, so that nobody overlooks a test that often needs the second. What decides by itself
// has no second try: rules, simulations, suites of stores, mutants, documents.

import { relative } from 'node:path'

/** Folders whose tests wait for what is outside of their process. */
const WAITING = [
  'cli',
  'crash',
  'dashboard',
  'grpc',
  'nats',
  'postgres',
  'receivers',
  'redis',
  'servers',
  'threads',
]

/** When more fail, it is not for lack of time. */
export const AT_MOST = 3

/**
 * The files to run once more, or none if one of those that failed may not be.
 *
 * @param {string} root
 * @param {readonly { readonly name: string, readonly status: string }[]} results what vitest reports, file by file
 * @returns {string[]}
 */
export function secondTry(root, results) {
  const failed = results
    .filter(({ status }) => status === 'failed')
    .map(({ name }) => relative(root, name).replaceAll('\\', '/'))
  const isWaiting = (/** @type {string} */ path) =>
    WAITING.some((folder) => path.startsWith(`test/${folder}/`))
  return failed.length <= AT_MOST && failed.every(isWaiting) ? failed : []
}

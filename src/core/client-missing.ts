import { messageOf, SkepError } from './errors.ts'

/**
 * The error for a client library that could not be imported. Only an error that names the package itself means that it is
 * not installed; otherwise it, or what it imports, is broken, and installing it again would hide why.
 * @param advice What to do when it is not installed; ends the message.
 */
export function clientMissing(name: string, cause: unknown, advice: string): SkepError {
  const message = isNotFound(name, cause)
    ? advice
    : `The package "${name}" could not be loaded: ${briefly(cause)}. It is installed, so look at the cause and reinstall it.`
  return new SkepError('CLIENT_MISSING', message, { cause, facts: { package: name } })
}

function isNotFound(name: string, cause: unknown): boolean {
  const { code } = (cause ?? {}) as { code?: unknown }
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') return false
  // Node: Cannot find package 'pg' imported from …; require: Cannot find module 'pg'. Others use double quotes.
  return /Cannot find (?:package|module) ['"]([^'"]+)['"]/.exec(messageOf(cause))?.[1] === name
}

/** The first line: a failed require goes on with a list of files. */
function briefly(cause: unknown): string {
  return messageOf(cause).split('\n', 1)[0]!.replace(/\.$/, '')
}

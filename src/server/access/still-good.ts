import type { Caller } from '../operation.ts'
import type { Guard, Remote } from './guard-contract.ts'

/**
 * Asks again whether a request that is served for long would be let in now as it was then. A credential that has lost a scope, a
 * queue, its payloads or its space is another one: whoever holds it has to come again, and gets what it may have now.
 */
export function stillGood(
  guard: Guard,
  { request, remote }: { readonly request: Request; readonly remote: Remote },
  before: Caller,
): () => Promise<boolean> {
  const was = wordsOf(before)
  return async () => {
    try {
      const now = await guard.identify(request, remote)
      return !(now instanceof Response) && wordsOf(now) === was
    } catch {
      return false
    }
  }
}

function wordsOf({ name, scopes, space, spaces, queues, payloads }: Caller): string {
  return JSON.stringify([name, [...scopes].sort(), space, spaces, queues, payloads])
}

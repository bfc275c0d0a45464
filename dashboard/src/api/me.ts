import type { Me, Scope } from '../../../src/operations/schema/wire-types.ts'
import { useApi } from './query.ts'

export function useMe(): Me | undefined {
  return useApi('me.get', {}, { keeps: false }).data
}

/** Each scope includes the ones before it. */
const LADDER: readonly Scope[] = ['read', 'operate', 'admin']

/** Whether the caller has a scope. Used to show or hide buttons; the server enforces the scope. */
export function useCan(scope: Scope): boolean {
  const scopes = useMe()?.scopes ?? []
  return includes(scopes, scope)
}

export function includes(scopes: readonly Scope[], scope: Scope): boolean {
  if (scopes.includes(scope)) return true
  const at = LADDER.indexOf(scope)
  return at >= 0 && LADDER.slice(at).some((higher) => scopes.includes(higher))
}

/** Names of anonymous callers, on a server that allows local access or everyone. */
const ANONYMOUS = ['local', 'anyone']

/** Whether the caller authenticated with a token or a login. */
export function hasCredential({ name }: Me): boolean {
  return !ANONYMOUS.includes(name)
}

import type { Me, Scope } from '../../../src/operations/schema/wire-types.ts'
import { useApi } from './query.ts'

export function useMe(): Me | undefined {
  return useApi('me.get', {}, { keeps: false }).data
}

/** Each of these includes those before it. */
const LADDER: readonly Scope[] = ['read', 'operate', 'admin']

/**
 * Whether the caller may do this. It only decides which buttons are shown: the server decides what is done.
 */
export function useCan(scope: Scope): boolean {
  const scopes = useMe()?.scopes ?? []
  return includes(scopes, scope)
}

export function includes(scopes: readonly Scope[], scope: Scope): boolean {
  if (scopes.includes(scope)) return true
  const at = LADDER.indexOf(scope)
  return at >= 0 && LADDER.slice(at).some((higher) => scopes.includes(higher))
}

/** Names of callers who have shown nothing: the server lets them in because they are on its machine, or because it lets in all. */
const NOBODY = ['local', 'anyone']

/** Whether the caller came with a token or a login. */
export function hasCredential({ name }: Me): boolean {
  return !NOBODY.includes(name)
}

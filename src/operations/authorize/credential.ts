import type { Scope } from '../schema/inputs.ts'

/** What a credential lets somebody do, whatever kind it is: a token, a session, or what the user's own `auth` said. */
export interface Credential {
  /** How its holder is called in the audit. */
  readonly name: string
  readonly scopes: readonly Scope[]
  /** The space that it acts in unless it names another. */
  readonly space: string
  /** Spaces that it may name with the header `skep-space`; `'*'`: every one; null: only its own. */
  readonly spaces: readonly string[] | '*' | null
  /** Patterns of the queues that it may see and touch. */
  readonly queues: readonly string[]
  /** Whether payloads, results and logs are shown to it. */
  readonly payloads: boolean
}

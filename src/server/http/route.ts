import type { Caller } from '../../operations/operation.ts'
import type { JsonSchema } from '../../operations/schema/schema.ts'
import type { Scope } from '../../operations/schema/wire-types.ts'

/** An address below `/api/v1` that is no operation, such as a stream: it makes its own answer. */
export interface RawRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** The words after a colon come as `params`. */
  readonly path: string
  readonly summary: string
  readonly scope: Scope
  readonly request: JsonSchema
  readonly response: JsonSchema
  readonly contentTypes: readonly string[]
  /** Throws a `SkepError` if it refuses. */
  handle(request: Request, caller: Caller, params: Readonly<Record<string, string>>): Promise<Response>
}

import type { OperationName } from '../api.ts'
import type { Operation, OperationContext } from '../operation.ts'
import type { Services } from '../services.ts'

/** What the code of an operation gets beside its input. */
export type Context = OperationContext<Services>

/** An operation of this server. */
export type ServerOperation<Name extends OperationName = OperationName> = Operation<Name, Services>

/** Describes an operation. Its schemas must have exactly the types that `api.ts` says. */
export function operation<Name extends OperationName>(one: ServerOperation<Name>): ServerOperation<Name> {
  return one
}

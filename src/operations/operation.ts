import type { Skep } from '../index.ts'
import type { Schema } from './schema/schema.ts'
import type { InputOf, OperationName, OutputOf, Scope } from './schema/wire-types.ts'
import type { Services } from './services.ts'

/** Who asks, as its credential says. Nothing of this comes from the body of a request. */
export interface Caller {
  /** How it is called in the audit: the name of its token, or what the user's own `auth` said. */
  readonly name: string
  readonly scopes: ReadonlySet<Scope>
  readonly space: string
  /** Spaces that it may name instead. */
  readonly spaces: readonly string[] | '*' | null
  /** Patterns of the queues that it may see and touch, in which `*` stands for anything. */
  readonly queues: readonly string[]
  /** Whether payloads, results and logs are shown to it. */
  readonly payloads: boolean
  /** From where it asks; null inside of the process. */
  readonly address: string | null
  /** Asks again whether its credential is still good, for whoever serves it for long. Left out: it is. */
  readonly isStillGood?: () => Promise<boolean>
}

/** What an operation gets beside its input. */
export interface OperationContext<Services> {
  /** In the space of the caller. */
  readonly skep: Skep
  readonly caller: Caller
  /** What the server has beside its Skep: receivers, tokens, the audit. */
  readonly services: Services
  readonly signal: AbortSignal
}

/** One thing that can be asked. Written once, and called by HTTP, gRPC, the dashboard and the command line. */
export interface Operation<Name extends OperationName, Services> {
  readonly name: Name
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Below `/api/v1`, such as `/jobs/:id`; the words after a colon are fields of the input. */
  readonly path: string
  /** One sentence for the reference. */
  readonly summary: string
  readonly scope: Scope
  readonly input: Schema<InputOf<Name>>
  readonly output: Schema<OutputOf<Name>>
  /** The queues that it names, so that a caller who may not see one is refused. */
  readonly queuesOf?: (input: InputOf<Name>) => readonly string[]
  /** What it was done to, in words, for the audit. Every operation that changes something has it. */
  readonly target?: (input: InputOf<Name>) => string
  run(input: InputOf<Name>, context: OperationContext<Services>): Promise<OutputOf<Name>>
}

/** What the code of an operation gets beside its input. */
export type Context = OperationContext<Services>

/** An operation of this server. */
export type ServerOperation<Name extends OperationName = OperationName> = Operation<Name, Services>

/** Describes an operation. Its schemas must have exactly the types that `api.ts` says. */
export function operation<Name extends OperationName>(one: ServerOperation<Name>): ServerOperation<Name> {
  return one
}

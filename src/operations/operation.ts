import type { Skep } from '../index.ts'
import type { Scope } from './schema/inputs.ts'
import type { AnySchema, Schema } from './schema/schema.ts'
import type { Services } from './services.ts'

/** The caller, as its credential says. Nothing of this comes from the body of a request. */
export interface Caller {
  /** Its name in the audit log: the name of its token, or the one that a custom `auth` returned. */
  readonly name: string
  readonly scopes: ReadonlySet<Scope>
  readonly space: string
  /** Other spaces that it may select. */
  readonly spaces: readonly string[] | '*' | null
  /** Patterns of the queues that it may see and change; `*` matches any characters. */
  readonly queues: readonly string[]
  /** Whether it may see payloads, results and logs. */
  readonly payloads: boolean
  /** Its network address; null inside of the process. */
  readonly address: string | null
  /** Checks whether its credential is still valid, for long-lived streams. @default always valid */
  readonly isStillGood?: () => Promise<boolean>
}

/** What an operation gets beside its input. */
export interface Context {
  /** In the space of the caller. */
  readonly skep: Skep
  readonly caller: Caller
  /** What the server has beside its Skep: receivers, tokens, the audit log. */
  readonly services: Services
  readonly signal: AbortSignal
}

/** The declaration of an operation. */
interface Definition<Name extends string, Input, Output> {
  readonly name: Name
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Below `/api/v1`, such as `/jobs/:id`; `:id` is a field of the input. */
  readonly path: string
  /** One sentence for the reference. */
  readonly summary: string
  readonly scope: Scope
  readonly input: Schema<Input>
  readonly output: Schema<Output>
  /** The queues that a call names: a caller that may not see one of them is refused. */
  queuesOf?(input: NoInfer<Input>): readonly string[]
  /** What a call changes, for the audit log. Every operation that changes something has it. */
  target?(input: NoInfer<Input>): string
  run(input: NoInfer<Input>, context: Context): Promise<NoInfer<Output>>
}

/** An operation: declared once, and called by HTTP, gRPC, the dashboard and the command line. */
export interface Operation<Name extends string, Input, Output>
  extends Required<Definition<Name, Input, Output>> {
  readonly isChange: boolean
}

/** Any operation. Its functions expect an input that its own schema has read. */
export interface AnyOperation<Name extends string = string>
  extends Omit<Operation<Name, unknown, unknown>, 'input' | 'output'> {
  readonly input: AnySchema
  readonly output: AnySchema
}

/** Declares an operation. Its input and output types are those of its schemas. */
export function operation<const Name extends string, Input, Output>(
  definition: Definition<Name, Input, Output>,
): Operation<Name, Input, Output> {
  return {
    queuesOf: () => [],
    target: () => '',
    isChange: definition.method !== 'GET',
    ...definition,
  }
}

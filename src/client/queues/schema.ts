/**
 * The part of Standard Schema (v1) that Skep uses, so that zod, valibot, arktype and others can describe
 * a payload without being a dependency.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

export interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** What a schema accepts. */
export type InputOf<Schema> = Schema extends StandardSchema<infer Input, unknown> ? Input : never

/** What a schema gives after checking. */
export type OutputOf<Schema> = Schema extends
  | StandardSchema<never, infer Output>
  | StandardSchema<infer _, infer Output>
  ? Output
  : never

/** The issues in words: `to: Invalid email; month: Required`. */
export function describeIssues(issues: readonly SchemaIssue[]): string {
  return issues
    .slice(0, 5)
    .map(({ message, path }) => {
      const where = (path ?? []).map((part) => String(typeof part === 'object' ? part.key : part)).join('.')
      return where === '' ? message : `${where}: ${message}`
    })
    .join('; ')
}

/**
 * The JSON Schema of what a schema accepts, as those tell it that follow Standard JSON Schema (zod 4, arktype); null if it
 * cannot tell. Some throw for what JSON has no word for.
 */
export function jsonSchemaOf(schema: StandardSchema | undefined): unknown {
  const offered = (schema?.['~standard'] as { readonly jsonSchema?: unknown } | undefined)?.jsonSchema
  if (typeof offered !== 'object' || offered === null) return null
  const { input } = offered as { readonly input?: unknown }
  if (typeof input !== 'function') return null
  for (const target of ['draft-2020-12', 'draft-07']) {
    try {
      const told: unknown = input.call(offered, { target })
      if (typeof told === 'object' && told !== null) return told
    } catch {
      // Perhaps in the other dialect; if not, there is none.
    }
  }
  return null
}

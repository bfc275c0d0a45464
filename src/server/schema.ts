/** A JSON Schema, as it stands in the OpenAPI document. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** What an input or an output looks like: it checks a value, and it tells itself to the OpenAPI document. */
export interface Schema<T> {
  readonly json: JsonSchema
  /** The value as its type says, with texts of a query string turned into numbers and flags. Throws `OPTION_INVALID` with the path. */
  read(value: unknown, path: string): T
}

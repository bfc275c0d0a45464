/**
 * The one guard for operations that match stored texts. A caller who may not see payloads may not match them either: each answer, and be
 * it a count, would tell a part of them.
 *
 * The input of an operation says which of its fields match (`matches` in its schema), so no operation has to remember to ask.
 */
import { parseQuery, SkepError } from '../../index.ts'
import type { Caller } from '../operation.ts'
import type { AnySchema } from '../schema/schema.ts'

/** Fields of the query language that look into payloads and results. */
const CONTENT: ReadonlySet<string> = new Set(['payload', 'result', 'text'])

/** Throws `FORBIDDEN` if the input of an operation matches what the caller may not see. */
export function assertMayMatch(caller: Caller, schema: AnySchema, input: unknown): void {
  if (caller.payloads) return
  for (const [name, field] of Object.entries(schema.fields ?? {})) {
    const value = (input as Readonly<Record<string, unknown>>)[name]
    if (field.matches === undefined || typeof value !== 'string') continue
    if (field.matches === 'content') throw forbidden(`"${name}" looks`)
    const term = parseQuery(value).terms.find((one) => CONTENT.has(one.field))
    if (term) throw forbidden(term.field === 'text' ? 'Free text looks' : `"${term.field}" looks`)
  }
}

function forbidden(what: string): SkepError {
  return new SkepError('FORBIDDEN', `${what} into payloads and results, which this credential may not see.`)
}

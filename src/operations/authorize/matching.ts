/**
 * The one guard for operations that match stored texts. A caller without the payloads right may match neither payloads nor what it sees
 * redacted: every answer, even a count, reveals whether a guess is right, so secrets could be read character by character.
 *
 * The input of an operation says which of its fields match (`matches` in its schema), so no operation has to remember to ask.
 */
import { parseQuery, SkepError, type Term } from '../../index.ts'
import type { Caller } from '../operation.ts'
import type { Redactor } from '../redaction/redact.ts'
import type { AnySchema } from '../schema/schema.ts'

/** Fields of the query language that look into payloads and results. */
const CONTENT: ReadonlySet<string> = new Set(['payload', 'result', 'text'])

/** Throws `FORBIDDEN` if the input of an operation matches what the caller may not see, or sees only with its secrets hidden. */
export function assertMayMatch(caller: Caller, schema: AnySchema, input: unknown, redactor: Redactor): void {
  if (caller.payloads) return
  for (const [name, field] of Object.entries(schema.fields ?? {})) {
    const value = (input as Readonly<Record<string, unknown>>)[name]
    if (field.matches === undefined || typeof value !== 'string') continue
    if (field.matches === 'content') throw forbidden(`"${name}" looks`)
    const { terms } = parseQuery(value)
    const term = terms.find((one) => CONTENT.has(one.field))
    if (term) throw forbidden(term.field === 'text' ? 'Free text looks' : `"${term.field}" looks`)
    if (redactor.isOff !== true && terms.some(isRedacted)) {
      throw new SkepError(
        'FORBIDDEN',
        'This query matches headers or messages of errors as they are stored, and this credential sees them with their secrets ' +
          'hidden. Ask for error.name, error.code, error.kind or error.group, or use a credential that sees payloads.',
      )
    }
  }
}

/** Whether a term matches what answers show redacted. `error:` looks into the message as well. */
function isRedacted({ field, path: [part = 'message'] }: Term): boolean {
  return field === 'header' || (field === 'error' && part === 'message')
}

function forbidden(what: string): SkepError {
  return new SkepError('FORBIDDEN', `${what} into payloads and results, which this credential may not see.`)
}

/** A query while it is typed: its parts, the problem of each, and completions. */
import { SkepError } from '../errors.ts'
import { JOB_STATES } from '../jobs/job.ts'
import { ERROR_PARTS, fieldNamed, QUERY_FIELDS } from './fields.ts'
import { parseQuery } from './query.ts'

export interface QueryPart {
  readonly from: number
  readonly to: number
  readonly isNegated: boolean
  /** Its field; null for free text, or if not known yet. */
  readonly field: string | null
  readonly problem: string | null
  /** Possible replacements, each with one line of help. */
  readonly completions: readonly { readonly text: string; readonly help: string }[]
}

/** The parts of a text that may not be a valid query yet. It never throws. */
export function queryParts(text: string): readonly QueryPart[] {
  return pieces(text).map(([from, to]) => {
    const piece = text.slice(from, to)
    const isNegated = piece.startsWith('-')
    const term = isNegated ? piece.slice(1) : piece
    const colon = term.startsWith('"') ? -1 : term.indexOf(':')
    const head = colon < 0 ? '' : (term.slice(0, colon).split('.', 1)[0] as string).toLowerCase()
    const field = fieldNamed(head)?.name ?? null
    const sign = isNegated ? '-' : ''
    const completions = (colon < 0 ? fieldsLike(term) : valuesLike(term, colon, field)).map((one) => ({
      ...one,
      text: sign + one.text,
    }))
    return { from, to, isNegated, field, problem: problemOf(piece), completions }
  })
}

/** The ranges of the terms: blanks inside quotation marks do not separate. */
function pieces(text: string): [from: number, to: number][] {
  const found: [number, number][] = []
  let from = -1
  let isQuoted = false
  for (let at = 0; at <= text.length; at++) {
    const sign = text[at]
    if (isQuoted && sign === '\\') at++
    else if (sign === '"') isQuoted = !isQuoted
    const isBlank = sign === undefined || (!isQuoted && /\s/.test(sign))
    if (isBlank && from >= 0) {
      found.push([from, Math.min(at, text.length)])
      from = -1
    } else if (!isBlank && from < 0) from = at
  }
  if (from >= 0) found.push([from, text.length])
  return found
}

function problemOf(piece: string): string | null {
  try {
    parseQuery(piece)
    return null
  } catch (error) {
    if (error instanceof SkepError) return error.message
    throw error
  }
}

function fieldsLike(word: string): { text: string; help: string }[] {
  const lower = word.toLowerCase()
  if (lower.startsWith('error.')) {
    return ERROR_PARTS.map((part) => `error.${part}:`)
      .filter((text) => text.startsWith(lower))
      .map((text) => ({ text, help: `The ${text.slice('error.'.length, -1)} of its last error` }))
  }
  return QUERY_FIELDS.filter(({ name }) => name.startsWith(lower)).map(({ name, kind, help }) => ({
    text: kind === 'header' ? `${name}.` : `${name}:`,
    help,
  }))
}

function valuesLike(term: string, colon: number, field: string | null): { text: string; help: string }[] {
  if (field !== 'state') return []
  const last = Math.max(colon, term.lastIndexOf(','))
  const begun = term.slice(last + 1)
  return JOB_STATES.filter((state) => state.startsWith(begun) && state !== begun).map((state) => ({
    text: term.slice(0, last + 1) + state,
    help: `Jobs in state ${state}`,
  }))
}

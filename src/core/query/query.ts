/**
 * The query language: selects jobs in URLs, the API, the CLI and programs alike.
 *
 *   state:dead,failed queue:mail.* payload.user.id:42 error:~timeout -lane:acme since:1h "free text"
 *
 * Terms are separated by blanks and all must match; `-` before a term negates it; a comma inside a term means
 * "or"; quotation marks take a string literally. Everything is pure, bounded and linear: there are no
 * user-supplied regular expressions. `match.ts` tests a job, `plan.ts` finds the part a store can evaluate.
 */
import { SkepError } from '../errors.ts'
import { JOB_STATES, type JobState } from '../jobs/job.ts'
import { isJobId, show } from '../names.ts'
import { ERROR_PARTS, fieldNamed, OPERATORS, type Operator, QUERY_FIELDS, type QueryField } from './fields.ts'
import { isMoment } from './timestamp.ts'

export const QUERY_LIMITS = { characters: 1_000, terms: 30 } as const

export interface Query {
  readonly terms: readonly Term[]
}

export interface Term {
  readonly isNegated: boolean
  /** The name of a field, or `text` for free text. */
  readonly field: string
  /** The path after the field, such as `user` and `id` of `payload.user.id`. */
  readonly path: readonly string[]
  /** One of these must match. */
  readonly values: readonly Value[]
}

export interface Value {
  readonly operator: Operator
  readonly text: string
  /** Whether `*` in the text is a wildcard. */
  readonly isPattern: boolean
}

/** Parses a query, or throws `QUERY_INVALID` with position and reason. An empty query matches all jobs. */
export function parseQuery(text: string): Query {
  if (typeof text !== 'string') fail(0, 'A query is a string')
  if (text.length > QUERY_LIMITS.characters) {
    fail(
      QUERY_LIMITS.characters,
      `A query has at most ${QUERY_LIMITS.characters} characters; this one has ${text.length}`,
    )
  }
  const reader = new Reader(text)
  const terms: Term[] = []
  for (reader.skipBlanks(); !reader.isAtEnd; reader.skipBlanks()) {
    if (terms.length === QUERY_LIMITS.terms) {
      fail(reader.at, `A query has at most ${QUERY_LIMITS.terms} terms`)
    }
    terms.push(reader.term())
  }
  return { terms }
}

const BLANK = /\s/

class Reader {
  readonly #text: string
  at = 0

  constructor(text: string) {
    this.#text = text
  }

  get isAtEnd(): boolean {
    return this.at >= this.#text.length
  }

  skipBlanks(): void {
    while (!this.isAtEnd && BLANK.test(this.#next)) this.at++
  }

  term(): Term {
    const isNegated = this.#take('-')
    const from = this.at
    if (this.#isAtBreak) fail(from, 'A "-" must directly precede the term that it negates')
    if (this.#next === '"') return { isNegated, ...freeText(this.#quoted(), from) }
    const head = this.#word('.:"')
    if (this.isAtEnd || BLANK.test(this.#next)) return { isNegated, ...freeText(head, from) }
    if (this.#next === '.' && !isFieldHead(head)) {
      // A string with a dot in it, such as a file name; or an unknown field.
      const word = head + this.#word(':"')
      if (this.#isAtBreak) return { isNegated, ...freeText(word, from) }
      failUnknown(from, word)
    }
    return this.#fieldTerm(isNegated, head, from)
  }

  #fieldTerm(isNegated: boolean, head: string, from: number): Term {
    const field = fieldNamed(head.toLowerCase()) ?? failUnknown(from, head)
    const path: string[] = []
    while (this.#take('.')) {
      const start = this.at
      const segment = this.#next === '"' ? this.#quoted() : this.#word('.:"')
      if (segment === '') fail(start, `A name must follow the dot, such as ${field.example}`)
      path.push(segment)
    }
    if (!this.#take(':'))
      fail(this.at, `A ":" and a value must follow ${field.name}, such as ${field.example}`)
    assertPath(field, path, from)
    const values: Value[] = []
    do values.push(this.#value(field))
    while (this.#take(','))
    if (!this.#isAtBreak) fail(this.at, 'Terms must be separated by a blank')
    if (field.kind === 'bound' && values.length > 1) fail(from, `${field.name} takes one timestamp`)
    return { isNegated, field: field.name, path, values }
  }

  #value(field: QueryField): Value {
    const from = this.at
    const operator = this.#operator()
    if (!OPERATORS[field.kind].includes(operator)) {
      const possible = OPERATORS[field.kind]
        .map((one) => (one === '=' ? 'no operator' : show(one)))
        .join(', ')
      const shown = operator === '=' ? 'a comparison' : show(operator)
      fail(
        from,
        `${field.name} ${operator === '=' ? `needs ${shown}` : `cannot be compared with ${shown}`}; possible: ${possible}`,
      )
    }
    const start = this.at
    const isQuoted = !this.isAtEnd && this.#next === '"'
    const text = isQuoted ? this.#quoted() : this.#word(',"')
    if (!isQuoted && text === '') fail(start, `A value is missing, such as ${field.example}`)
    const isPattern = !isQuoted && operator === '=' && text.includes('*') && canBePattern(field)
    const value = { operator, text: field.kind === 'id' ? text.toLowerCase() : text, isPattern }
    assertValue(field, value, start)
    return value
  }

  #operator(): Operator {
    for (const one of ['~', '>=', '<=', '>', '<'] as const) {
      if (this.#text.startsWith(one, this.at)) {
        this.at += one.length
        return one
      }
    }
    return '='
  }

  /** A quoted string, in which `\"` and `\\` stand for a quotation mark and a backslash. */
  #quoted(): string {
    const from = this.at
    this.at++
    let text = ''
    for (; !this.isAtEnd; this.at++) {
      const sign = this.#next
      const following = this.#text[this.at + 1]
      if (sign === '"') {
        this.at++
        return text
      }
      if (sign === '\\' && (following === '"' || following === '\\')) {
        text += following
        this.at++
      } else text += sign
    }
    return fail(from, 'The quotation mark that begins here is not closed')
  }

  /** Everything up to a blank or one of these characters. */
  #word(signs: string): string {
    const from = this.at
    while (!this.isAtEnd && !BLANK.test(this.#next) && !signs.includes(this.#next)) this.at++
    if (!this.isAtEnd && this.#next === '"' && this.at > from) {
      fail(this.at, 'A quotation mark must be at the start of a value; inside one, write \\"')
    }
    return this.#text.slice(from, this.at)
  }

  #take(sign: string): boolean {
    if (this.isAtEnd || this.#next !== sign) return false
    this.at++
    return true
  }

  get #next(): string {
    return this.#text[this.at] as string
  }

  get #isAtBreak(): boolean {
    return this.isAtEnd || BLANK.test(this.#next)
  }
}

function freeText(text: string, from: number): Omit<Term, 'isNegated'> {
  if (text === '') fail(from, 'There is nothing between the quotation marks')
  return { field: 'text', path: [], values: [{ operator: '~', text, isPattern: false }] }
}

function isFieldHead(head: string): boolean {
  return fieldNamed(head.toLowerCase()) !== undefined
}

function canBePattern({ kind }: QueryField): boolean {
  return kind === 'queue' || kind === 'text' || kind === 'json' || kind === 'header' || kind === 'error'
}

function assertPath(field: QueryField, path: readonly string[], from: number): void {
  const isNested = field.kind === 'json' || field.kind === 'header' || field.kind === 'error'
  if (path.length > 0 && !isNested) fail(from, `${field.name} has no parts; write ${field.example}`)
  if (field.kind === 'header' && path.length === 0) fail(from, `Name a header, such as ${field.example}`)
  const [part] = path
  if (field.kind === 'error' && part !== undefined) {
    if (path.length === 1 && (ERROR_PARTS as readonly string[]).includes(part)) return
    fail(
      from,
      `error.${path.join('.')} is not known`,
      ERROR_PARTS.map((one) => `error.${one}`),
    )
  }
}

function assertValue(field: QueryField, { text, isPattern }: Value, at: number): void {
  switch (field.kind) {
    case 'state':
      if (!JOB_STATES.includes(text as JobState)) fail(at, `${show(text)} is not a state`, JOB_STATES)
      return
    case 'id':
      if (!isJobId(text)) fail(at, `${show(text)} is not the id of a job; ids are UUIDs`)
      return
    case 'number':
      if (!isNumber(text)) fail(at, `${show(text)} is not a number`)
      return
    case 'bound':
    case 'moment':
      if (!isMoment(text)) {
        fail(
          at,
          `${show(text)} is not a timestamp. Write 1h (that long ago), +1h (from now), 2026-11-01 or 2026-11-01T09:30Z`,
        )
      }
      return
    default:
      if (isPattern && text.split('*').length > 11) fail(at, 'A pattern has at most ten *')
  }
}

/** Also applied to stored strings: a row of digits can be split in only one way, so it takes linear time. */
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,3})?$/i

export function isNumber(text: string): boolean {
  return NUMBER.test(text)
}

function failUnknown(at: number, name: string): never {
  const names = QUERY_FIELDS.map((field) => field.name)
  return fail(at, `${show(name)} is not a field. To look for it as text, put it in quotation marks`, names)
}

function fail(position: number, problem: string, possible?: readonly string[]): never {
  const list = possible === undefined ? '' : ` Possible: ${possible.join(', ')}.`
  throw new SkepError('QUERY_INVALID', `At character ${position + 1} of the query: ${problem}.${list}`, {
    facts: { position, ...(possible === undefined ? {} : { possible }) },
  })
}

/** Prints a query. Parsing the result returns the same query. */
export function printQuery({ terms }: Query): string {
  return terms.map(printTerm).join(' ')
}

function printTerm({ isNegated, field, path, values }: Term): string {
  const sign = isNegated ? '-' : ''
  if (field === 'text') return sign + printFreeText((values[0] as Value).text)
  const name = [
    field,
    ...path.map((segment) => (/^[^\s:".]+$/.test(segment) ? segment : quote(segment))),
  ].join('.')
  return `${sign}${name}:${values.map(printValue).join(',')}`
}

function printFreeText(text: string): string {
  return /^[\p{L}\p{N}_][^\s":.]*$/u.test(text) ? text : quote(text)
}

function printValue({ operator, text, isPattern }: Value): string {
  const sign = operator === '=' ? '' : operator
  // A quoted star is a literal star, so patterns are printed without quotation marks.
  const isBare =
    isPattern || (/^[^\s",~<>=][^\s",]*$/.test(text) && (operator !== '=' || !text.includes('*')))
  return sign + (isBare ? text : quote(text))
}

function quote(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}

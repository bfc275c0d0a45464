/** Whether a job matches a query. Evaluated here, so it is the same on every store. */
import { fingerprintOf } from '../jobs/fingerprint.ts'
import { COPY_HEADER, type Failure, type Job } from '../jobs/job.ts'
import { shownPriority } from '../jobs/priority.ts'
import { timeOf } from '../jobs/transitions.ts'
import { matches as fitsPattern } from '../lanes/holds.ts'
import { DEFAULT_LANE } from '../lanes/lanes.ts'
import { SCHEDULE_HEADER } from '../schedules/schedule.ts'
import type { ErrorPart } from './fields.ts'
import { isNumber, type Query, type Term, type Value } from './query.ts'
import { momentOf } from './timestamp.ts'

export interface QueryEnv {
  /** The base of relative times such as `1h`. */
  readonly now: number
  readonly hostOf?: (workerId: string) => string | undefined
}

export type Predicate = (job: Job) => boolean

export function matches(query: Query, job: Job, env: QueryEnv): boolean {
  return predicateOf(query.terms, env)(job)
}

/** Compiles terms into one predicate, to be reused for many jobs. */
export function predicateOf(terms: readonly Term[], env: QueryEnv): Predicate {
  // Expensive tests come last.
  const tests = terms
    .toSorted((a, b) => cost(a) - cost(b))
    .map((term) => ({ isNegated: term.isNegated, holds: testOf(term, env) }))
  return (job) => {
    const reading = new Reading(job)
    return tests.every(({ isNegated, holds }) => holds(reading) !== isNegated)
  }
}

/** Fields inside small JSON documents, other than the payload. */
const IN_JSON: ReadonlySet<string> = new Set(['error', 'header', 'version'])

function cost({ field }: Term): number {
  if (field === 'text') return 3
  return field === 'payload' || field === 'result' ? 2 : IN_JSON.has(field) ? 1 : 0
}

type Test = (reading: Reading) => boolean

/** A job whose parts are parsed lazily and at most once. */
class Reading {
  readonly job: Job
  #payload: unknown
  #result: unknown
  #failure: Partial<Failure> | null | undefined
  #headers: Readonly<Record<string, unknown>> | undefined

  constructor(job: Job) {
    this.job = job
  }

  get payload(): unknown {
    this.#payload ??= read(this.job.payload)
    return this.#payload
  }

  get result(): unknown {
    this.#result ??= read(this.job.result)
    return this.#result
  }

  get failure(): Partial<Failure> | null {
    if (this.#failure === undefined) this.#failure = objectIn(this.job.failure)
    return this.#failure
  }

  get headers(): Readonly<Record<string, unknown>> {
    this.#headers ??= objectIn(this.job.headers) ?? {}
    return this.#headers
  }

  header(name: string): string | null {
    const value = Object.hasOwn(this.headers, name) ? this.headers[name] : null
    return typeof value === 'string' ? value : null
  }
}

function testOf(term: Term, env: QueryEnv): Test {
  const { field, path, values } = term
  switch (field) {
    case 'text':
      return anyOf(values, ({ text }) => freeTextTest(text))
    case 'since':
    case 'before':
      return boundTest(field, values[0] as Value, env)
    case 'enqueued':
    case 'due':
    case 'started':
    case 'finished':
      return anyOf(values, (value) => momentTest(field, value, env))
    case 'payload':
    case 'result':
      return path.length === 0
        ? anyOf(values, (value) => wholeTest(field, value))
        : jsonTest(field, path, values)
    case 'error':
      return anyOf(values, (value) => errorTest((path[0] as ErrorPart | undefined) ?? null, value))
    case 'worker':
      return anyOf(values, (value) => workerTest(value, env))
    case 'queue':
    case 'state':
    case 'id':
      return anyOf(
        values,
        (value) =>
          ({ job }) =>
            fitsText(job[field], value),
      )
    default: {
      const number = NUMBERS[field]
      if (number)
        return anyOf(
          values,
          (value) =>
            ({ job }) =>
              compare(number(job), value),
        )
      const textIn = textOf(field, path)
      return anyOf(values, (value) => (reading) => {
        const text = textIn(reading)
        return text !== null && (compares(value) ? compare(text, value) : fitsText(text, value))
      })
    }
  }
}

function anyOf(values: readonly Value[], make: (value: Value) => Test): Test {
  const tests = values.map(make)
  return (reading) => tests.some((test) => test(reading))
}

const NUMBERS: Readonly<Record<string, ((job: Job) => number) | undefined>> = {
  priority: (job) => shownPriority(job.priority),
  attempt: (job) => job.starts,
  errors: (job) => job.errors,
  timeouts: (job) => job.timeouts,
  lost: (job) => job.lost,
  snoozes: (job) => job.snoozes,
  generation: (job) => job.generation,
  cost: (job) => job.cost,
}

function textOf(field: string, path: readonly string[]): (reading: Reading) => string | null {
  switch (field) {
    case 'header':
      return (reading) => reading.header(path.join('.'))
    case 'schedule':
      return (reading) => reading.header(SCHEDULE_HEADER)
    case 'copy':
      return (reading) => reading.header(COPY_HEADER)
    case 'group':
      return ({ job }) => job.member?.group ?? null
    case 'version':
      return ({ failure }) => failure?.version ?? null
    case 'unique':
      return ({ job }) => job.uniqueKey
    case 'lane':
      return ({ job }) => job.lane ?? DEFAULT_LANE
    default:
      throw new TypeError(`No reader for the field ${field}.`)
  }
}

/** `since` and `before` compare the timestamp by which the state is listed. */
function boundTest(field: 'since' | 'before', { text }: Value, { now }: QueryEnv): Test {
  const moment = momentOf(text, now)
  return field === 'since' ? ({ job }) => timeOf(job) >= moment : ({ job }) => timeOf(job) < moment
}

function momentTest(
  field: 'enqueued' | 'due' | 'started' | 'finished',
  { operator, text }: Value,
  { now }: QueryEnv,
): Test {
  const moment = momentOf(text, now)
  return ({ job }) => {
    const at = job[`${field}At`]
    return at !== null && inOrder(at - moment, operator)
  }
}

function workerTest(value: Value, { hostOf }: QueryEnv): Test {
  return ({ job: { worker } }) => {
    if (worker === null) return false
    const host = hostOf?.(worker)
    return fitsText(worker, value) || (host !== undefined && fitsText(host, value))
  }
}

function errorTest(part: ErrorPart | null, value: Value): Test {
  return ({ job, failure }) => {
    if (failure === null) return false
    const { kind = '', name = '', code = '', message = '' } = failure
    if (part === 'group') {
      const group = { kind: kind as Failure['kind'], message, ...(name && { name }), ...(code && { code }) }
      return fitsText(fingerprintOf(job.queue, group), value)
    }
    if (part !== null) return fitsText({ kind, name, code, message }[part], value)
    return [name, code, kind, message].some((text) => text !== '' && fitsText(text, value))
  }
}

function jsonTest(field: 'payload' | 'result', path: readonly string[], values: readonly Value[]): Test {
  return (reading) => {
    const found = valuesAt(reading[field], path)
    return values.some((value) => found.some((one) => fitsJson(one, value)))
  }
}

/** The payload or result as a whole: a substring of its text, or equality if it is a primitive. */
function wholeTest(field: 'payload' | 'result', value: Value): Test {
  if (value.operator !== '~') return (reading) => fitsJson(reading[field], value)
  const contains = containing(value.text)
  return ({ job }) => contains(job[field])
}

/** Free text is searched in the content of a job, and in its id. */
function freeTextTest(text: string): Test {
  const contains = containing(text)
  const id = text.toLowerCase()
  return ({ job }) =>
    job.id === id ||
    contains(job.failure) ||
    contains(job.payload) ||
    contains(job.headers) ||
    contains(job.result) ||
    fitsText(job.lane ?? '', { operator: '~', text, isPattern: false }) ||
    fitsText(job.uniqueKey ?? '', { operator: '~', text, isPattern: false })
}

/** Whether JSON text contains a string, whose characters may be escaped there. */
function containing(text: string): (json: string | null) => boolean {
  const plain = text.toLowerCase()
  const escaped = JSON.stringify(text).slice(1, -1).toLowerCase()
  return (json) => {
    if (json === null) return false
    const lower = json.toLowerCase()
    return lower.includes(plain) || (escaped !== plain && lower.includes(escaped))
  }
}

/**
 * The values at a path. In a list, an index selects an element; any other name is looked up in all of them.
 */
function valuesAt(root: unknown, path: readonly string[]): unknown[] {
  let found = [root]
  for (const name of path) {
    found = found.flatMap((value) => {
      if (Array.isArray(value) && !/^\d{1,9}$/.test(name)) return value.flatMap((one) => at(one, name))
      return at(value, name)
    })
  }
  return found.flatMap((value) => (Array.isArray(value) ? [...value, value] : [value]))
}

function at(value: unknown, name: string): unknown[] {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return []
  return [(value as Readonly<Record<string, unknown>>)[name]]
}

function fitsJson(found: unknown, value: Value): boolean {
  if (typeof found === 'object' && found !== null) {
    // Lists and objects can only be tested for existence and for contained text.
    if (value.operator === '~') return containing(value.text)(JSON.stringify(found))
    return value.isPattern && value.text === '*'
  }
  if (found === undefined) return false
  if (compares(value)) return compare(found, value)
  if (typeof found === 'number' && !value.isPattern && value.operator === '=' && isNumber(value.text)) {
    return found === Number(value.text)
  }
  return fitsText(typeof found === 'string' ? found : JSON.stringify(found), value)
}

function fitsText(found: string, { operator, text, isPattern }: Value): boolean {
  if (operator === '~') return found.toLowerCase().includes(text.toLowerCase())
  return isPattern ? fitsPattern(text, found) : found === text
}

function compares({ operator }: Value): boolean {
  return operator !== '=' && operator !== '~'
}

/** Numbers compare with numbers, other strings with strings: ISO timestamps sort correctly that way. */
function compare(found: unknown, { operator, text }: Value): boolean {
  if (typeof found === 'number') return isNumber(text) && inOrder(found - Number(text), operator)
  if (typeof found !== 'string') return false
  if (isNumber(text)) return isNumber(found) && inOrder(Number(found) - Number(text), operator)
  return inOrder(found < text ? -1 : found > text ? 1 : 0, operator)
}

function inOrder(difference: number, operator: Value['operator']): boolean {
  switch (operator) {
    case '>':
      return difference > 0
    case '>=':
      return difference >= 0
    case '<':
      return difference < 0
    case '<=':
      return difference <= 0
    default:
      return difference === 0
  }
}

function read(text: string | null): unknown {
  if (text === null) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function objectIn(text: string | null): Readonly<Record<string, unknown>> | null {
  const value = read(text)
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : null
}

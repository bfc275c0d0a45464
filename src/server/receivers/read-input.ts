/**
 * Reads what receivers send over HTTP. By hand and not by a schema, because acks come by the thousand; the schemas of the routes
 * say the same.
 */
import { SkepError } from '../../index.ts'
import type { JsonBounds } from '../access/read-json.ts'
import { readJson } from '../http/body.ts'
import type { Ack, AckFailure, Held, Note, NoteLine } from './ack.ts'

type Fields = Readonly<Record<string, unknown>>

/** Up to 10,000 acks, each with its fields and a result that may have some of its own. It is parsed within a tenth of a second. */
const BOUNDS: JsonBounds = { depth: 72, members: 200_000 }

/** Reads the body of a request as a JSON object, of at most so many bytes. */
export async function readBody(request: Request, maxBytes: number): Promise<Fields> {
  return fieldsOf((await readJson(request, maxBytes, BOUNDS)) ?? {}, 'The body')
}

export function readAcks(value: unknown): readonly Ack[] {
  return readEach(value, 'acks', readAck)
}

function readAck(item: unknown): Ack {
  const fields = fieldsOf(item, '')
  const held = readHeld(fields)
  const { done, failed, snooze, bury, cancel, handBack } = fields
  if (failed !== undefined) return { ...held, failed: readFailure(failed) }
  if (snooze !== undefined) {
    const { delayMs, reason } = fieldsOf(snooze, 'snooze')
    return {
      ...held,
      snooze: {
        delayMs: numberOf(delayMs, 'snooze.delayMs'),
        ...(reason === undefined ? {} : { reason: textOf(reason, 'snooze.reason') }),
      },
    }
  }
  if (bury !== undefined) return { ...held, bury: textOf(bury, 'bury') }
  if (cancel !== undefined) return { ...held, cancel: textOf(cancel, 'cancel') }
  if (handBack === true) return { ...held, handBack }
  return done === undefined ? held : { ...held, done }
}

function readFailure(value: unknown): AckFailure {
  const { message, name, stack, retryInMs } = fieldsOf(value, 'failed')
  return {
    message: textOf(message, 'failed.message'),
    ...(name === undefined ? {} : { name: textOf(name, 'failed.name') }),
    ...(stack === undefined ? {} : { stack: textOf(stack, 'failed.stack') }),
    ...(retryInMs === undefined ? {} : { retryInMs: numberOf(retryInMs, 'failed.retryInMs') }),
  }
}

export function readHelds(value: unknown): readonly Held[] {
  return readEach(value, 'jobs', (item) => readHeld(fieldsOf(item, '')))
}

function readHeld({ id, token }: Fields): Held {
  return { id: textOf(id, 'id'), token: textOf(token, 'token') }
}

export function readNotes(value: unknown): readonly Note[] {
  if (value === undefined) return []
  return readEach(value, 'notes', (item) => {
    const fields = fieldsOf(item, '')
    const { progress, progressNote, lines } = fields
    return {
      ...readHeld(fields),
      ...(progress === undefined ? {} : { progress: finiteOf(progress, 'progress') }),
      ...(progressNote === undefined ? {} : { progressNote: textOf(progressNote, 'progressNote') }),
      ...(lines === undefined ? {} : { lines: readEach(lines, 'lines', readLine) }),
    }
  })
}

function readLine(value: unknown): NoteLine {
  const { level, message, fields } = fieldsOf(value, '')
  return {
    level: level === undefined ? 'info' : textOf(level, 'level'),
    message: textOf(message, 'message'),
    ...(fields === undefined ? {} : { fields }),
  }
}

export function readTexts(value: unknown, path: string): readonly string[] {
  return readEach(value, path, (item) => textOf(item, ''))
}

/** Reads a list item by item. Where it stands is put before the path of a mistake then, and not made up for each item. */
function readEach<T>(value: unknown, path: string, read: (item: unknown) => T): readonly T[] {
  const items = listOf(value, path)
  const all: T[] = []
  try {
    for (const item of items) all.push(read(item))
  } catch (error) {
    if (!(error instanceof Misread)) throw error
    const inner = error.path === '' || error.path.startsWith('[') ? error.path : `.${error.path}`
    throw new Misread(`${path}[${all.length}]${inner}`, error.must)
  }
  return all
}

/** A text that may be left out. */
export function readWord(value: unknown, path: string): string | undefined {
  return value === undefined || value === null || value === '' ? undefined : textOf(value, path)
}

/** A whole number within bounds; `otherwise` if it was left out. */
export function readWhole(
  value: unknown,
  path: string,
  bounds: { readonly least: number; readonly most: number; readonly otherwise: number },
): number {
  if (value === undefined || value === null) return bounds.otherwise
  if (Number.isInteger(value) && (value as number) >= bounds.least && (value as number) <= bounds.most)
    return value as number
  throw new Misread(path, `must be a whole number from ${bounds.least} to ${bounds.most}`)
}

function fieldsOf(value: unknown, path: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields
  throw new Misread(path, 'must be an object')
}

function listOf(value: unknown, path: string): readonly unknown[] {
  if (Array.isArray(value)) return value as unknown[]
  throw new Misread(path, 'must be a list')
}

function textOf(value: unknown, path: string): string {
  if (typeof value === 'string') return value
  throw new Misread(path, 'must be a text')
}

function finiteOf(value: unknown, path: string): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value
  throw new Misread(path, 'must be a number')
}

function numberOf(value: unknown, path: string): number {
  const number = finiteOf(value, path)
  if (number >= 0) return number
  throw new Misread(path, 'must not be negative')
}

class Misread extends SkepError {
  readonly path: string
  readonly must: string

  constructor(path: string, must: string) {
    super('OPTION_INVALID', `${path} ${must}.`, { facts: { path } })
    this.path = path
    this.must = must
  }
}

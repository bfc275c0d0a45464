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
  return listOf(value, 'acks').map((item, index) => readAck(item, `acks[${index}]`))
}

function readAck(value: unknown, path: string): Ack {
  const fields = fieldsOf(value, path)
  const held = readHeld(fields, path)
  const { done, failed, snooze, bury, cancel, handBack } = fields
  if (failed !== undefined) return { ...held, failed: readFailure(failed, `${path}.failed`) }
  if (snooze !== undefined) {
    const { delayMs, reason } = fieldsOf(snooze, `${path}.snooze`)
    return {
      ...held,
      snooze: {
        delayMs: numberOf(delayMs, `${path}.snooze.delayMs`),
        ...(reason === undefined ? {} : { reason: textOf(reason, `${path}.snooze.reason`) }),
      },
    }
  }
  if (bury !== undefined) return { ...held, bury: textOf(bury, `${path}.bury`) }
  if (cancel !== undefined) return { ...held, cancel: textOf(cancel, `${path}.cancel`) }
  if (handBack === true) return { ...held, handBack }
  return done === undefined ? held : { ...held, done }
}

function readFailure(value: unknown, path: string): AckFailure {
  const { message, name, stack, retryInMs } = fieldsOf(value, path)
  return {
    message: textOf(message, `${path}.message`),
    ...(name === undefined ? {} : { name: textOf(name, `${path}.name`) }),
    ...(stack === undefined ? {} : { stack: textOf(stack, `${path}.stack`) }),
    ...(retryInMs === undefined ? {} : { retryInMs: numberOf(retryInMs, `${path}.retryInMs`) }),
  }
}

export function readHelds(value: unknown): readonly Held[] {
  return listOf(value, 'jobs').map((item, index) =>
    readHeld(fieldsOf(item, `jobs[${index}]`), `jobs[${index}]`),
  )
}

function readHeld({ id, token }: Fields, path: string): Held {
  return { id: textOf(id, `${path}.id`), token: textOf(token, `${path}.token`) }
}

export function readNotes(value: unknown): readonly Note[] {
  if (value === undefined) return []
  return listOf(value, 'notes').map((item, index) => {
    const path = `notes[${index}]`
    const fields = fieldsOf(item, path)
    const { progress, progressNote, lines } = fields
    return {
      ...readHeld(fields, path),
      ...(progress === undefined ? {} : { progress: finiteOf(progress, `${path}.progress`) }),
      ...(progressNote === undefined ? {} : { progressNote: textOf(progressNote, `${path}.progressNote`) }),
      ...(lines === undefined
        ? {}
        : { lines: listOf(lines, `${path}.lines`).map((line) => readLine(line, path)) }),
    }
  })
}

function readLine(value: unknown, path: string): NoteLine {
  const { level, message, fields } = fieldsOf(value, `${path}.lines`)
  return {
    level: level === undefined ? 'info' : textOf(level, `${path}.lines.level`),
    message: textOf(message, `${path}.lines.message`),
    ...(fields === undefined ? {} : { fields }),
  }
}

export function readTexts(value: unknown, path: string): readonly string[] {
  return listOf(value, path).map((item, index) => textOf(item, `${path}[${index}]`))
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
  throw invalid(path, `must be a whole number from ${bounds.least} to ${bounds.most}`)
}

function fieldsOf(value: unknown, path: string): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields
  throw invalid(path, 'must be an object')
}

function listOf(value: unknown, path: string): readonly unknown[] {
  if (Array.isArray(value)) return value as unknown[]
  throw invalid(path, 'must be a list')
}

function textOf(value: unknown, path: string): string {
  if (typeof value === 'string') return value
  throw invalid(path, 'must be a text')
}

function finiteOf(value: unknown, path: string): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value
  throw invalid(path, 'must be a number')
}

function numberOf(value: unknown, path: string): number {
  const number = finiteOf(value, path)
  if (number >= 0) return number
  throw invalid(path, 'must not be negative')
}

function invalid(path: string, must: string): SkepError {
  return new SkepError('OPTION_INVALID', `${path} ${must}.`, { facts: { path } })
}

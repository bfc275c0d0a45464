import { SkepError } from '../core/errors.ts'
import { JOB_STATES, type JobState } from '../core/job.ts'

/** Where a list goes on. Texts from us to us; nobody else reads them. */
export type Cursor =
  /** Queue after queue of one state: behind this place of the store's own. With no queue, the beginning of that state. */
  | {
      readonly kind: 'walk'
      readonly queue: string
      readonly state: JobState
      readonly cursor: string | null
    }
  /** Many queues of one state merged by time: behind this job, and from where each queue has to be read for that. */
  | {
      readonly kind: 'merged'
      readonly state: JobState
      readonly place: Place
      readonly queues: Readonly<Record<string, string>>
    }
  /** So many of the ids have been looked at. */
  | { readonly kind: 'ids'; readonly at: number }

/** Where a job stands among those of several queues. */
export type Place = readonly [time: number, queue: string, id: string]

export function writeCursor(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(bare(cursor))).toString('base64url')
}

function bare(cursor: Cursor): readonly unknown[] {
  switch (cursor.kind) {
    case 'walk':
      return [cursor.queue, cursor.state, cursor.cursor]
    case 'merged':
      return ['*', cursor.place, cursor.queues, cursor.state]
    case 'ids':
      return ['#', cursor.at]
  }
}

export function readCursor(text: string): Cursor {
  try {
    const [first, second, third, fourth] = JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown[]
    if (first === '#' && Number.isInteger(second)) return { kind: 'ids', at: second as number }
    if (first === '*' && isPlace(second) && isTexts(third) && isState(fourth))
      return { kind: 'merged', place: second, queues: third, state: fourth }
    if (typeof first === 'string' && isState(second) && (third === null || typeof third === 'string')) {
      return { kind: 'walk', queue: first, state: second, cursor: third }
    }
  } catch (cause) {
    throw notOurs(cause)
  }
  throw notOurs(undefined)
}

function isState(value: unknown): value is JobState {
  return JOB_STATES.includes(value as JobState)
}

function isPlace(value: unknown): value is Place {
  if (!Array.isArray(value)) return false
  const [time, queue, id] = value as unknown[]
  return typeof time === 'number' && typeof queue === 'string' && typeof id === 'string'
}

function isTexts(value: unknown): value is Readonly<Record<string, string>> {
  return (
    typeof value === 'object' &&
    value !== null &&
    Object.values(value).every((one) => typeof one === 'string')
  )
}

function notOurs(cause: unknown): SkepError {
  return new SkepError(
    'OPTION_INVALID',
    'The cursor is not one of ours. Use the cursor of the page before, unchanged.',
    { cause },
  )
}

import { SkepError } from '../../core/errors.ts'
import { JOB_STATES, type JobState } from '../../core/jobs/job.ts'

/** Where a list goes on. Texts from us to us; nobody else reads them. */
export type Cursor =
  /** Queue after queue of one state: behind this place of the store's own. With no queue, the beginning of that state. */
  | {
      readonly kind: 'walk'
      readonly queue: string
      readonly state: JobState
      readonly cursor: string | null
    }
  /** Many queues of one state merged by time: behind this job, and from where its own queue has to be read for that. */
  | {
      readonly kind: 'merged'
      readonly state: JobState
      readonly place: Place
      readonly own: Stand
    }
  /** So many of the ids have been looked at. */
  | { readonly kind: 'ids'; readonly at: number }

/** Where a job stands among those of several queues. */
export type Place = readonly [time: number, queue: string, id: string]

/** A place of the store's own, and how many jobs behind it were shown. */
export interface Stand {
  readonly from: string | null
  readonly used: number
}

export function writeCursor(cursor: Cursor): string {
  return Buffer.from(JSON.stringify(bare(cursor))).toString('base64url')
}

function bare(cursor: Cursor): readonly unknown[] {
  switch (cursor.kind) {
    case 'walk':
      return [cursor.queue, cursor.state, cursor.cursor]
    case 'merged':
      return ['*', cursor.place, [cursor.own.from, cursor.own.used], cursor.state]
    case 'ids':
      return ['#', cursor.at]
  }
}

export function readCursor(text: string): Cursor {
  try {
    const [first, second, third, fourth] = JSON.parse(Buffer.from(text, 'base64url').toString()) as unknown[]
    if (first === '#' && Number.isInteger(second)) return { kind: 'ids', at: second as number }
    if (first === '*' && isPlace(second) && isStand(third) && isState(fourth)) {
      const [from, used] = third
      return { kind: 'merged', place: second, own: { from, used }, state: fourth }
    }
    if (typeof first === 'string' && isState(second) && isTextOrNull(third)) {
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

function isStand(value: unknown): value is readonly [from: string | null, used: number] {
  if (!Array.isArray(value)) return false
  const [from, used] = value as unknown[]
  return isTextOrNull(from) && Number.isInteger(used) && (used as number) >= 0
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string'
}

function notOurs(cause: unknown): SkepError {
  return new SkepError(
    'OPTION_INVALID',
    'The cursor is not one of ours. Use the cursor of the page before, unchanged.',
    { cause },
  )
}

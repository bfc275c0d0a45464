/**
 * Runs that ended badly leave a line in the notes of their job: so a person sees all of them, and not only the last, which is
 * the job's `failure`. The line is one like any other, with what is known of the run in its fields, under `skep`.
 */

import { LIMITS } from '../limits.ts'
import { type Failure, isFinal, type JobState } from './job.ts'
import { CUT_MARK, lineBytes, type NewLine, noteText } from './job-log.ts'

/** The ends of runs that leave a line. Snoozing is no failure, and a job may do it for weeks. */
const KINDS = ['error', 'timeout', 'lost', 'bury', 'cancel'] as const

export type AttemptKind = (typeof KINDS)[number]

/** So many are shown: the newest. */
export const ATTEMPTS_SHOWN = 20

/** What is said of a run, in the fields of its line. */
export interface AttemptFields {
  /** Which run of its generation it was, from 1. */
  readonly attempt: number
  readonly generation: number
  readonly kind: AttemptKind
  readonly name?: string
  readonly code?: string
  /** The state in which this attempt left its job, if it was the last of its generation. */
  readonly ended?: JobState
  /** When the job was due, in milliseconds: of the first attempt after a retry, because that is when the retry was. */
  readonly dueAt?: number
  /** When it began, in milliseconds. */
  readonly startedAt?: number
  readonly worker?: string
  /** Of the program of its worker, if it has one. */
  readonly version?: string
  /** Cut, so that the line keeps within its bounds. */
  readonly stack?: string
}

/** What its worker knows of a run besides how it ended. */
export type AttemptOrigin = Pick<AttemptFields, 'startedAt' | 'worker' | 'version'>

/** Of a line the text gets this much at most; a stack is worth more than the end of a long message. */
const TEXT_BYTES = 1_024

export function isAttemptKind(kind: string): kind is AttemptKind {
  return (KINDS as readonly string[]).includes(kind)
}

/** The line of a run that ended with this failure, and left its job in the state `to`; null if it is of a kind that leaves none. */
export function attemptLine(
  {
    starts,
    generation,
    dueAt,
  }: { readonly starts: number; readonly generation: number; readonly dueAt?: number },
  failure: Failure,
  to: JobState,
  origin: AttemptOrigin = {},
): Pick<NewLine, 'text' | 'fields'> | null {
  const { name, code, stack } = failure
  // A payload that cannot be read is an error like any other.
  const kind = failure.kind === 'poison' ? 'error' : failure.kind
  if (!isAttemptKind(kind)) return null
  const text = noteText(failure.message, TEXT_BYTES)
  const fields: AttemptFields = {
    attempt: starts,
    generation,
    kind,
    ...(name === undefined ? {} : { name }),
    ...(code === undefined ? {} : { code }),
    ...(isFinal(to) ? { ended: to } : {}),
    ...(starts === 1 && generation > 0 && dueAt !== undefined ? { dueAt } : {}),
    ...origin,
  }
  const bare = JSON.stringify({ skep: fields })
  if (stack === undefined) return { text, fields: bare }
  const cut = stackWithin(stack, LIMITS.noteLineBytes - lineBytes({ text, fields: bare }))
  return { text, fields: cut === null ? bare : JSON.stringify({ skep: { ...fields, stack: cut } }) }
}

const STACK_KEY_BYTES = Buffer.byteLength(',"stack":""')

/** As much of a stack, in whole lines, as takes so many bytes when it is written as JSON; null if that is nothing. */
function stackWithin(stack: string, room: number): string | null {
  let left = room - STACK_KEY_BYTES - Buffer.byteLength(CUT_MARK)
  const kept: string[] = []
  for (const line of stack.split('\n')) {
    // The quotation marks are not there, but the break of the line is, and takes as much.
    left -= Buffer.byteLength(JSON.stringify(line))
    if (left < 0) return kept.length === 0 ? null : kept.join('\n') + CUT_MARK
    kept.push(line)
  }
  return kept.join('\n')
}

/** What the fields of a line say of a run; null if it is a line of a handler. */
export function readAttempt(fields: string | null): AttemptFields | null {
  if (fields === null || !fields.startsWith('{"skep":{"attempt":')) return null
  try {
    const { skep } = JSON.parse(fields) as { readonly skep: AttemptFields }
    return Number.isInteger(skep.attempt) && isAttemptKind(skep.kind) ? skep : null
  } catch {
    return null // Somebody wrote to the table by hand.
  }
}

/**
 * Failed attempts leave a line in the log of their job, so that all of them are visible and not only the last
 * one (the job's `failure`). It is an ordinary line with the facts in its fields, under `skep`.
 */

import { LIMITS } from '../limits.ts'
import { type Failure, isFinal, type JobState } from './job.ts'
import { CUT_MARK, lineBytes, type NewLine, noteText } from './job-log.ts'

/** The outcomes that leave a line. A snooze is no failure, and a job may snooze for weeks. */
const KINDS = ['error', 'timeout', 'lost', 'bury', 'cancel'] as const

export type AttemptKind = (typeof KINDS)[number]

/** The number of attempts shown: the newest. */
export const ATTEMPTS_SHOWN = 20

/** The facts of an attempt, in the fields of its line. */
export interface AttemptFields {
  /** The number of the attempt within its generation, from 1. */
  readonly attempt: number
  readonly generation: number
  readonly kind: AttemptKind
  readonly name?: string
  readonly code?: string
  /** The state in which this attempt left its job, if it was the last of its generation. */
  readonly ended?: JobState
  /**
   * Only for the first attempt after a retry: the due time in milliseconds, which is the time of the retry.
   */
  readonly dueAt?: number
  /** When it started, in milliseconds. */
  readonly startedAt?: number
  readonly worker?: string
  /** The version of the worker's program, if known. */
  readonly version?: string
  /** Cut to fit the limit of a line. */
  readonly stack?: string
}

/** What the worker knows about an attempt besides its outcome. */
export type AttemptOrigin = Pick<AttemptFields, 'startedAt' | 'worker' | 'version'>

/** The limit of the text in a line; a stack is worth more than the end of a long message. */
const TEXT_BYTES = 1_024

export function isAttemptKind(kind: string): kind is AttemptKind {
  return (KINDS as readonly string[]).includes(kind)
}

/** The line of an attempt that failed and left its job in the state `to`; null if its kind leaves none. */
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
  // A payload that cannot be decoded is an error like any other.
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

/** The leading lines of a stack that fit into `room` bytes of JSON; null if none fits. */
function stackWithin(stack: string, room: number): string | null {
  let left = room - STACK_KEY_BYTES - Buffer.byteLength(CUT_MARK)
  const kept: string[] = []
  for (const line of stack.split('\n')) {
    // The two quotation marks that JSON adds stand in for the line break, which takes two bytes as `\n`.
    left -= Buffer.byteLength(JSON.stringify(line))
    if (left < 0) return kept.length === 0 ? null : kept.join('\n') + CUT_MARK
    kept.push(line)
  }
  return kept.join('\n')
}

/** The attempt that a line describes; null if a handler wrote the line. */
export function readAttempt(fields: string | null): AttemptFields | null {
  if (fields === null || !fields.startsWith('{"skep":{"attempt":')) return null
  try {
    const { skep } = JSON.parse(fields) as { readonly skep: AttemptFields }
    return Number.isInteger(skep.attempt) && isAttemptKind(skep.kind) ? skep : null
  } catch {
    return null // The table was edited by hand.
  }
}

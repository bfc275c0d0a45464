/** Between the messages of the proto and what the hub and the operations speak. Payloads and results pass as text. */
import { create } from '@bufbuild/protobuf'
import { type RelayedJob, type RelayedResult, SkepError } from '../../index.ts'
import type { EnqueueInput } from '../../operations/schema/wire-types.ts'
import { readJson as readBounded } from '../access/read-json.ts'
import type { Ack, AckAnswer, AckResult, Extended, Note, Stop } from '../receivers/ack.ts'
import {
  type Ack as AckMessage,
  type AckResponse,
  AckResponseSchema,
  type AckResult as AckResultMessage,
  AckResultSchema,
  type Extended as ExtendedMessage,
  ExtendedSchema,
  type Job,
  JobSchema,
  type NewJob,
  type Note as NoteMessage,
  type Settled,
  SettledSchema,
  type Stop as StopMessage,
  StopSchema,
} from './gen/skep/v1/skep_pb.ts'

export function jobMessage(job: RelayedJob): Job {
  const { id, queue, payload, attempt, token, lane, enqueuedAtMs, timeoutMs } = job
  // Whole as it stands: to `create` it would be one more copy of each field, of thousands of jobs in a second.
  return {
    $typeName: JobSchema.typeName,
    id,
    queue,
    payload,
    attempt,
    token,
    headers: job.hasHeaders ? job.headers : {},
    lane: lane ?? '',
    enqueuedAtMs: BigInt(enqueuedAtMs),
    timeoutMs: BigInt(timeoutMs ?? 0),
    results: job.results === null ? [] : job.results.map(settledMessage),
    resultsLeftOut: job.results === null,
  }
}

function settledMessage(one: RelayedResult): Settled {
  return create(SettledSchema, one)
}

export function stopMessage({ id, token, reason, detail }: Stop): StopMessage {
  return create(StopSchema, { id, token, reason, detail })
}

export function ackResponse({ saved, results }: AckAnswer): AckResponse {
  return create(AckResponseSchema, { saved, results: results.map(ackResultMessage) })
}

export function ackResultMessage({ id, status }: AckResult): AckResultMessage {
  return create(AckResultSchema, { id, status })
}

export function extendedMessage({ id, status, cancelReason }: Extended): ExtendedMessage {
  return create(ExtendedSchema, { id, status, cancelReason: cancelReason ?? '' })
}

/** An ack without an outcome is a success without a result. */
export function ackOf({ id, token, outcome }: AckMessage): Ack {
  switch (outcome.case) {
    case undefined:
      return { id, token }
    case 'done':
      return outcome.value === '' ? { id, token } : { id, token, doneText: outcome.value }
    case 'failed': {
      const { message, name, stack, retryInMs } = outcome.value
      const failed = {
        message,
        ...(name === '' ? {} : { name }),
        ...(stack === '' ? {} : { stack }),
        ...(retryInMs === undefined ? {} : { retryInMs: Number(retryInMs) }),
      }
      return { id, token, failed }
    }
    case 'snooze':
      return {
        id,
        token,
        snooze: { delayMs: Number(outcome.value.delayMs), reason: outcome.value.reason },
      }
    case 'bury':
      return { id, token, bury: outcome.value }
    case 'cancel':
      return { id, token, cancel: outcome.value }
    case 'handBack':
      return { id, token, handBack: true }
  }
}

export function noteOf({ id, token, progress, progressNote, lines }: NoteMessage): Note {
  return {
    id,
    token,
    ...(progress === undefined ? {} : { progress }),
    ...(progressNote === '' ? {} : { progressNote }),
    lines: lines.map(({ level, message, fields }) => ({
      level: level === '' ? 'info' : level,
      message,
      ...(fields === '' ? {} : { fields: readJson('fields', fields) }),
    })),
  }
}

/** A job to enqueue, as the operation takes it. What is empty was not said. */
export function enqueueInput(job: NewJob, index: number): EnqueueInput {
  const { queue, payload, id, delayMs, runAtMs, priority, lane, cost, unique, headers } = job
  return {
    queue,
    payload: payload === '' ? null : readJson(`jobs[${index}].payload`, payload),
    ...(id === '' ? {} : { id }),
    ...(delayMs === 0n ? {} : { delay: `${delayMs}ms` }),
    ...(runAtMs === 0n ? {} : { runAt: momentOf(runAtMs) }),
    ...(priority === 0 ? {} : { priority }),
    ...(lane === undefined ? {} : { lane }),
    ...(cost === 0 ? {} : { cost }),
    ...(unique === '' ? {} : { unique }),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
  }
}

/** JSON text from a stranger, with the bounds that a body of HTTP has. */
function readJson(what: string, text: string): unknown {
  try {
    return readBounded(text)
  } catch (cause) {
    if (!(cause instanceof SkepError) || cause.code !== 'REQUEST_INVALID') throw cause
    throw new SkepError('PAYLOAD_NOT_JSON', `${what} is not JSON text. Encode the value as JSON first.`, {
      cause,
    })
  }
}

/** A moment as an operation takes it. One that no calendar has is refused there. */
function momentOf(ms: bigint): string {
  const date = new Date(Number(ms))
  return Number.isNaN(date.getTime()) ? `${ms}` : date.toISOString()
}

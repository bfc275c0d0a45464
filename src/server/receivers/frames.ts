import type { RelayedJob, RelayedResult } from '../../index.ts'
import type { Ack } from './ack.ts'
import type { Delivery } from './in-flight-job.ts'

const UNREADABLE = 'The payload is not JSON. It is kept as it is; correct it and retry the job.'

/** The end of a job that has nothing of all this, as most have not. */
const PLAIN = ',"headers":{},"lane":null,"timeoutMs":null,"results":[]}'

/**
 * Jobs as a list in JSON text, with their payloads as they are stored. Those whose payload is not JSON are to be put among the dead,
 * as a worker would do.
 */
export function jobsText(jobs: readonly RelayedJob<Delivery>[]): {
  readonly text: string
  readonly unreadable: readonly Ack[]
} {
  const unreadable: Ack[] = []
  let text = ''
  // Jobs that go out together are mostly of one queue, and came together.
  let queue = ''
  let name = ''
  let enqueuedAtMs = -1
  let time = ''
  for (const job of jobs) {
    const payload = oneLine(job.payload)
    if (payload === null) {
      unreadable.push({ id: job.id, token: job.token, bury: UNREADABLE })
      continue
    }
    if (job.queue !== queue) {
      queue = job.queue
      name = `","queue":"${queue}","payload":`
    }
    if (job.enqueuedAtMs !== enqueuedAtMs) {
      enqueuedAtMs = job.enqueuedAtMs
      time = String(enqueuedAtMs)
    }
    // Ids, names of queues and tokens have no sign that would have to be written in another way. Few pieces, because all of them
    // are put together for each job.
    const comma = text === '' ? '' : ','
    text += `${comma}{"id":"${job.id}${name}${payload},"attempt":${job.attempt},"token":"${job.token}","enqueuedAtMs":${time}${restText(job)}`
  }
  return { text: `[${text}]`, unreadable }
}

function restText(job: RelayedJob<Delivery>): string {
  const { lane, timeoutMs, results, hasHeaders } = job
  if (!hasHeaders && lane === null && timeoutMs === null && results?.length === 0) return PLAIN
  return (
    `,"headers":${hasHeaders ? JSON.stringify(job.headers) : '{}'},"lane":${JSON.stringify(lane)},` +
    `"timeoutMs":${timeoutMs},"results":${resultsText(results)}}`
  )
}

function resultsText(results: readonly RelayedResult[] | null): string {
  if (results === null) return 'null'
  if (results.length === 0) return '[]'
  const texts = results.map((one) =>
    one.ok
      ? `{"ok":true,"result":${oneLine(one.result) ?? 'null'}}`
      : JSON.stringify({ ok: false, state: one.state, failure: { message: one.message } }),
  )
  return `[${texts.join(',')}]`
}

/** JSON text without line breaks, so that a line is a frame; null if it is not JSON. */
function oneLine(text: string): string | null {
  try {
    const value: unknown = JSON.parse(text)
    return /[\n\r\u2028\u2029]/.test(text) ? JSON.stringify(value) : text
  } catch {
    return null
  }
}

/** How frames are written: a word that says what it is, and JSON text. */
export interface Framing {
  readonly contentType: string
  frame(word: string, json: string): string
}

/** A line for each frame, with the word as its only key. */
export const NDJSON: Framing = {
  contentType: 'application/x-ndjson; charset=utf-8',
  frame: (word, json) => `{"${word}":${json}}\n`,
}

/** Server-sent events, for whoever has a client for those: the word is the name of the event. */
export const SSE: Framing = {
  contentType: 'text/event-stream; charset=utf-8',
  frame: (word, json) => `event: ${word}\ndata: ${json}\n\n`,
}

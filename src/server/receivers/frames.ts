import type { RelayedJob, RelayedResult } from '../../index.ts'
import type { Delivery } from './delivery.ts'

/** One job as JSON text, with its payload as it is stored; null if that is not JSON. */
export function jobText(job: RelayedJob<Delivery>): string | null {
  const payload = oneLine(job.payload)
  if (payload === null) return null
  const { id, queue, attempt, token, lane, enqueuedAtMs, timeoutMs } = job
  // Ids, names of queues and tokens have no sign that would have to be written in another way.
  return (
    `{"id":"${id}","queue":"${queue}","payload":${payload},"attempt":${attempt},"token":"${token}",` +
    `"headers":${job.hasHeaders ? JSON.stringify(job.headers) : '{}'},"lane":${lane === null ? 'null' : JSON.stringify(lane)},` +
    `"enqueuedAtMs":${enqueuedAtMs},"timeoutMs":${timeoutMs},"results":${resultsText(job.results)}}`
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

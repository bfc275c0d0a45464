import { SkepError } from '../../index.ts'
import { type JsonBounds, readJson as parseJson } from '../access/read-json.ts'

/** The JSON of a request's body; undefined if it has none. Reads no further than the limit. */
export async function readJson(request: Request, limitBytes: number, bounds: JsonBounds): Promise<unknown> {
  const said = Number(request.headers.get('content-length') ?? Number.NaN)
  if (said > limitBytes) throw tooLarge(limitBytes)
  if (request.body === null) return undefined
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? ''
  // A page of another site can send forms and texts without asking, but no JSON.
  if (type !== 'application/json') {
    throw new SkepError('REQUEST_INVALID', 'Send the input as JSON, with content-type: application/json.', {
      facts: { status: 415 },
    })
  }
  const encoding = request.headers.get('content-encoding')?.trim().toLowerCase() ?? 'identity'
  if (encoding !== '' && encoding !== 'identity') {
    throw new SkepError('REQUEST_INVALID', 'Send the body as it is: a content-encoding is not accepted.', {
      facts: { status: 415 },
    })
  }
  const text = await readText(request.body, limitBytes)
  if (text.trim() === '') return undefined
  return parseJson(text, bounds)
}

async function readText(body: ReadableStream<Uint8Array>, limitBytes: number): Promise<string> {
  const reader = body.getReader()
  const parts: Uint8Array[] = []
  let bytes = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    bytes += value.byteLength
    if (bytes > limitBytes) {
      // Not cancelled: the rest is discarded after the response, see unread.ts.
      reader.releaseLock()
      throw tooLarge(limitBytes)
    }
    parts.push(value)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(parts))
  } catch {
    throw new SkepError('REQUEST_INVALID', 'The body is not UTF-8.')
  }
}

function tooLarge(limitBytes: number): SkepError {
  return new SkepError(
    'REQUEST_TOO_LARGE',
    `The body is larger than ${limitBytes} bytes. Send less at once.`,
    {
      facts: { limitBytes },
    },
  )
}
